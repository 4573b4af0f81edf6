"""Pages over HTTP: how many comments they have, which there are, and whether people may write there."""

import asyncio
from typing import Annotated

from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody, QueryParameter
from msgspec import Meta, Struct

from threadkit.errors import InvalidParameter
from threadkit.http.parameters import as_id
from threadkit.http.routing import Router, get, put
from threadkit.ids import PageId
from threadkit.pages.model import LONGEST_URL, Page, PageName, PageRef
from threadkit.services import Services
from threadkit.sites.model import Site
from threadkit.sites.routes import SiteMismatch
from threadkit.users.access import requires_admin, requires_moderator
from threadkit.users.viewer import Viewer

MOST_COUNTED = 100
PageUrl = Annotated[str, Meta(min_length=1, max_length=LONGEST_URL)]


class Counts(Struct):
    counts: dict[str, int]


class Posting(Struct):
    disabled: bool


class Address(Struct):
    url: PageUrl
    title: Annotated[str, Meta(max_length=500)] | None = None


class PageItem(Struct):
    page_id: PageId
    url: str
    title: str | None
    comments: int
    updated_ms: int
    locked: bool

    @classmethod
    def of(cls, page_id: PageId, page: Page) -> "PageItem":
        return cls(page_id, page.url, page.title, page.comments, page.updated_ms, page.locked)


class PageList(Struct):
    pages: list[PageItem]
    has_more: bool


@get("/counts", summary="How many comments pages have")
async def counts(
    site: NamedDependency[Site],
    services: NamedDependency[Services],
    url: Annotated[list[PageUrl] | None, QueryParameter(max_items=MOST_COUNTED)] = None,
    page_id: Annotated[
        list[PageName] | None,
        QueryParameter(max_items=MOST_COUNTED, description="As everywhere: the site's own id for a page, or ours."),
    ] = None,
) -> Counts:
    """Up to 100 pages at once: `?url=…&url=…`, `?page_id=…&page_id=…`, or both. Each number stands under what was sent."""
    asked = [(one, PageRef(one)) for one in url or ()] + [(one, PageRef(None, one)) for one in page_id or ()]
    if not asked:
        raise InvalidParameter(name="url", why="or page_id must be given")
    if len(asked) > MOST_COUNTED:
        raise InvalidParameter(name="url", why=f"and page_id may be given {MOST_COUNTED} times at most")
    page_ids = await asyncio.gather(*(services.page_queries.id_of(site, ref) for _, ref in asked))
    found = await services.page_queries.counts(site.id, page_ids)
    return Counts(dict(zip([name for name, _ in asked], found, strict=True)))


@get("/admin/sites/{site_id:str}/pages", guards=[requires_moderator], summary="The pages people wrote on")
async def list_pages(
    site_id: FromPath[str],
    site: NamedDependency[Site],
    services: NamedDependency[Services],
    offset: Annotated[int, QueryParameter(ge=0, le=1_000_000)] = 0,
    limit: Annotated[int, QueryParameter(ge=0)] = 50,
) -> PageList:
    """Where something was written last comes first."""
    if site_id != site.id:
        raise SiteMismatch
    limit = min(limit, 100)
    found = await services.page_queries.newest(site.id, offset=offset, limit=limit + 1)
    return PageList([PageItem.of(page_id, page) for page_id, page in found[:limit]], len(found) > limit)


@get("/admin/pages/{page_id:str}/posting", guards=[requires_admin], summary="Whether a page is locked")
async def page_posting(
    page_id: FromPath[str], site: NamedDependency[Site], services: NamedDependency[Services]
) -> Posting:
    found = await services.page_queries.existing(site.id, as_id(PageId, page_id))
    return Posting(found.page.locked)


@put("/admin/pages/{page_id:str}/posting", guards=[requires_admin], summary="Lock a page, or open it again")
async def set_page_posting(
    page_id: FromPath[str],
    data: JSONBody[Posting],
    site: NamedDependency[Site],
    viewer: NamedDependency[Viewer],
    services: NamedDependency[Services],
) -> Posting:
    await services.pages.lock(site, as_id(PageId, page_id), locked=data.disabled, by=viewer.id)
    return data


@put("/admin/pages/{page_id:str}/address", guards=[requires_admin], summary="Set where a page leads")
async def set_page_address(
    page_id: FromPath[str], data: JSONBody[Address], site: NamedDependency[Site], services: NamedDependency[Services]
) -> PageItem:
    """Notices, lists and feeds lead there. It must be on the site's domain or one of its origins. The page is found as
    before; to have it found at the new address too, move it."""
    wanted = as_id(PageId, page_id)
    return PageItem.of(wanted, await services.pages.set_address(site, wanted, data.url, title=data.title))


router = Router(
    "/", route_handlers=[counts, list_pages, page_posting, set_page_posting, set_page_address], tags=["Pages"]
)
