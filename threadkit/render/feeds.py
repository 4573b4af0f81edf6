"""RSS 2.0 and Atom, from comments that were chosen already. No I/O here."""

import re
from datetime import UTC, datetime
from email.utils import format_datetime
from xml.etree import ElementTree

from msgspec import Struct

from threadkit.clock import from_iso
from threadkit.comments.model import Comment
from threadkit.ids import PageId
from threadkit.pages.model import Page
from threadkit.render.addresses import Addresses, anchor, web_address
from threadkit.render.place import Place
from threadkit.render.words import machine_time, name_of, one_line, title_of
from threadkit.sites.model import Site

ATOM = "http://www.w3.org/2005/Atom"
DUBLIN_CORE = "http://purl.org/dc/elements/1.1/"
# What XML cannot hold at all, not even escaped.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_BRACKETS = str.maketrans("<>", "\u2039\u203a")
_ENTITY = re.compile("&(?=#?\\w+;|lt|gt|amp|quot)", re.IGNORECASE)

ElementTree.register_namespace("atom", ATOM)
ElementTree.register_namespace("dc", DUBLIN_CORE)


class Feed(Struct, kw_only=True):
    """The newest comments of a site, or of one of its pages (then `page` is that page)."""

    site: Site
    page_id: PageId | None
    page: Page | None
    comments: list[Comment]
    pages: dict[PageId, Page]
    front: str

    @property
    def id(self) -> str:
        return f"urn:uuid:{self.page_id or self.site.id}"

    @property
    def title(self) -> str:
        about = title_of(self.page) if self.page else one_line(self.site.name) or self.site.domain
        return without_markup(f"Comments on {about}")

    @property
    def updated_ms(self) -> int:
        """When anything in it changed; a feed without comments is as old as its site."""
        return max((from_iso(comment.updated_at) for comment in self.comments), default=from_iso(self.site.created_at))

    @property
    def about(self) -> str:
        """The page that the feed belongs to."""
        if self.page is None:
            return f"https://{self.site.domain}/"
        return web_address(self.page.url) or self._addresses(self.page_id).thread()

    def self_link(self, kind: str) -> str:
        return self._addresses(self.page_id).feed(kind)

    def title_of(self, comment: Comment) -> str:
        return without_markup(
            f"{name_of(comment.author_name)} on {title_of(self.pages.get(comment.page_id) or self.page)}"
        )

    def link_of(self, comment: Comment) -> str:
        # Where the page is now, which may not be where the comment was written.
        page = self.pages.get(comment.page_id)
        address = web_address(page.url if page else "") or web_address(comment.page_url)
        address = address or self._addresses(comment.page_id).thread(Place(around=comment.id))
        return f"{address}#{anchor(comment.id)}"

    def _addresses(self, page_id: PageId | None) -> Addresses:
        return Addresses(key=self.site.api_key_public, page_id=page_id, front=self.front)


def rss(feed: Feed) -> bytes:
    root = ElementTree.Element("rss", version="2.0")
    channel = ElementTree.SubElement(root, "channel")
    _add(channel, "title", feed.title)
    _add(channel, "link", feed.about)
    _add(channel, "description", f"The newest comments. {feed.title}.")
    _add(channel, "lastBuildDate", http_date(feed.updated_ms))
    _add(channel, "generator", "ThreadKit")
    _add(channel, f"{{{ATOM}}}link", href=feed.self_link("rss"), rel="self", type="application/rss+xml")
    for comment in feed.comments:
        item = ElementTree.SubElement(channel, "item")
        _add(item, "title", feed.title_of(comment))
        _add(item, "link", feed.link_of(comment))
        _add(item, "guid", f"urn:uuid:{comment.id}", isPermaLink="false")
        _add(item, "pubDate", http_date(comment.created_ms))
        _add(item, f"{{{DUBLIN_CORE}}}creator", without_markup(name_of(comment.author_name)))
        _add(item, "description", comment.content_html)
    return _written(root)


def atom(feed: Feed) -> bytes:
    root = ElementTree.Element("feed", xmlns=ATOM)
    _add(root, "id", feed.id)
    _add(root, "title", feed.title)
    _add(root, "updated", machine_time(feed.updated_ms // 1000))
    _add(root, "link", href=feed.about, rel="alternate", type="text/html")
    _add(root, "link", href=feed.self_link("atom"), rel="self", type="application/atom+xml")
    _add(root, "generator", "ThreadKit")
    for comment in feed.comments:
        entry = ElementTree.SubElement(root, "entry")
        _add(entry, "id", f"urn:uuid:{comment.id}")
        _add(entry, "title", feed.title_of(comment))
        _add(entry, "updated", machine_time(from_iso(comment.updated_at) // 1000))
        _add(entry, "published", machine_time(comment.created_ms // 1000))
        _add(ElementTree.SubElement(entry, "author"), "name", without_markup(name_of(comment.author_name)))
        _add(entry, "link", href=feed.link_of(comment), rel="alternate", type="text/html")
        _add(entry, "content", comment.content_html, type="html")
    return _written(root)


def without_markup(text: str) -> str:
    """Text that is text even to a reader that takes titles for HTML, as many do."""
    return _ENTITY.sub("\uff06", text.translate(_BRACKETS))


def http_date(ms: int) -> str:
    """For `pubDate` and `Last-Modified` alike; whole seconds."""
    return format_datetime(datetime.fromtimestamp(ms // 1000, UTC), usegmt=True)


def _add(parent: ElementTree.Element, tag: str, text: str | None = None, **attributes: str) -> None:
    clean = {name: _NOT_XML.sub("", value) for name, value in attributes.items()}
    child = ElementTree.SubElement(parent, tag, clean)
    child.text = _NOT_XML.sub("", text) if text is not None else None


def _written(root: ElementTree.Element) -> bytes:
    body: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return body
