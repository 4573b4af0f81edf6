"""A page, and how it is told from others. No I/O here."""

import uuid
from typing import Annotated
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from msgspec import Meta, Struct

from threadkit.errors import Conflict, Forbidden, Invalid, NotFound
from threadkit.ids import PageId, SiteId, is_uuid

LONGEST_URL = 2000
PageName = Annotated[str, Meta(min_length=1, max_length=200)]

# Addresses differ in these without meaning another page; dropped where the site says so.
TRACKING = (
    "utm_source",
    "utm_medium",
    "utm_campaign",
    "utm_term",
    "utm_content",
    "fbclid",
    "gclid",
    "mc_cid",
    "mc_eid",
)


class PageNotFound(NotFound):
    """Page not found"""

    code = "page_not_found"


class PageLocked(Forbidden):
    """Posting is disabled on this page"""

    code = "page_locked"


class PageUnnamed(Invalid):
    """Say which page: page_url or page_id."""

    code = "page_unnamed"


class PageHasComments(Conflict):
    """There are comments on {url} already. Merge the pages instead."""

    code = "page_has_comments"


class PageElsewhere(Invalid):
    """{url} is not on this site's domain or one of its origins."""

    code = "page_elsewhere"


class PagesAreOne(Conflict):
    """Both addresses lead to the same thread already."""

    code = "pages_are_one"


class Page(Struct, frozen=True, kw_only=True):
    """A page as stored under `page:{id}`."""

    site_id: SiteId
    url: str
    title: str | None = None
    version: int = 0
    comments: int = 0
    updated_ms: int = 0
    locked: bool = False
    moved_to: PageId | None = None
    changes_from: int = 0  # the list of changes says nothing about versions before this one


class PageRef(Struct, frozen=True):
    """How a caller names a page: by its address, or by an id of the site's own that outlives addresses."""

    url: str | None
    name: str | None = None

    def __post_init__(self) -> None:
        if not self.url and not self.name:
            raise PageUnnamed

    @property
    def may_be_id(self) -> bool:
        """Whether the name could be the id that our answers carry."""
        return self.name is not None and is_uuid(self.name)

    def page_id(self, site_id: SiteId, *, drop_tracking: bool) -> PageId:
        if self.name is not None:
            return named_page_id(site_id, self.name)
        return page_id_of(site_id, normal_url(self.url or "", drop_tracking=drop_tracking))


def normal_url(url: str, *, drop_tracking: bool) -> str:
    """One form for one page: scheme and host folded, fragment dropped. What is no web address stays as it is."""
    text = url.strip()
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        return text
    if parts.scheme not in ("http", "https") or not host:
        return text
    default = {"http": 80, "https": 443}[parts.scheme]
    netloc = host.rstrip(".") if port in (None, default) else f"{host.rstrip('.')}:{port}"
    query = parts.query
    if drop_tracking and query:
        kept = [(name, value) for name, value in parse_qsl(query, keep_blank_values=True) if name not in TRACKING]
        query = urlencode(kept)
    # http and https of one address are one page: sites move from one to the other and keep their comments.
    return urlunsplit(("https", netloc, parts.path or "/", query, ""))


def is_followed(address: str) -> bool:
    """Whether a browser would go where this says. Other texts name a page and lead nowhere."""
    return address.lower().startswith(("http:", "https:"))


def page_id_of(site_id: SiteId, url: str) -> PageId:
    """The same for the same site and address, and for no other."""
    return PageId(str(uuid.uuid5(uuid.UUID(site_id), url)))


def named_page_id(site_id: SiteId, name: str) -> PageId:
    """In a space of its own, so that no address can be taken for a name."""
    return PageId(str(uuid.uuid5(uuid.uuid5(uuid.UUID(site_id), "named pages"), name)))
