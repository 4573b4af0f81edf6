"""Where the pages and feeds of a thread are, and which addresses may stand in a link."""

from collections.abc import Mapping
from urllib.parse import quote, urlencode, urlsplit

from msgspec import Struct

from threadkit.ids import CommentId
from threadkit.render.place import Place
from threadkit.sites.model import Site, origin_host, origin_is_allowed


class Addresses(Struct, frozen=True, kw_only=True):
    """Addresses that lead back to one thread. With an empty `front` they are relative to the page they stand on, so that
    they hold behind any proxy; what is read elsewhere needs the whole address."""

    key: str
    page_url: str | None = None
    page_id: str | None = None
    front: str = ""

    def thread(
        self,
        place: Place | None = None,
        *,
        reply: CommentId | None = None,
        posted: str | None = None,
        fragment: str = "",
    ) -> str:
        place = place or Place()
        more = {
            "sort": place.sort,
            "cursor": place.cursor,
            "around": place.around,
            "under": place.under,
            "reply": reply,
            "posted": posted,
        }
        return self._at("render", more) + (f"#{fragment}" if fragment else "")

    def feed(self, kind: str) -> str:
        return self._at(f"feed.{kind}", {})

    def _at(self, name: str, more: Mapping[str, str | None]) -> str:
        asked = {"key": self.key, "page_url": self.page_url, "page_id": self.page_id, **more}
        query = urlencode({part: value for part, value in asked.items() if value}, quote_via=quote)
        return f"{self.front}{name}?{query}"


def whole(base_url: str) -> str:
    """The front of addresses that are read elsewhere than on our own pages."""
    return f"{base_url}/v1/"


def anchor(comment_id: CommentId) -> str:
    return f"comment-{comment_id}"


def web_address(url: str | None) -> str | None:
    """The address, if it is one that a reader can follow without harm."""
    if not url or any(character <= " " or character == "\x7f" for character in url):
        return None
    try:
        parts = urlsplit(url)
        return url if parts.scheme in ("http", "https") and parts.hostname else None
    except ValueError:
        return None


def is_of_site(url: str, site: Site) -> bool:
    """Whether an address is on the site itself: others can be named by anybody who writes there first."""
    host = origin_host(url)
    return host is not None and origin_is_allowed(host, site, allow_localhost=False)
