"""What owners and administrators may know about the use of their site."""

from typing import Annotated

from litestar.di import NamedDependency
from litestar.params import FromPath, QueryParameter
from msgspec import UNSET, Struct, UnsetType

from threadkit.counters.model import MOST_DAYS, MOST_MONTHS, DayOfUse, DayOfViews, MonthOfUse
from threadkit.http.parameters import as_id
from threadkit.http.routing import Router, get
from threadkit.ids import PageId
from threadkit.pages.model import LONGEST_URL, PageNotFound, normal_url, page_id_of
from threadkit.services import Services
from threadkit.sites.model import Site
from threadkit.sites.routes import SiteMismatch
from threadkit.users.access import requires_admin


class SiteUsage(Struct):
    """`days` are there when they were asked for."""

    months: list[MonthOfUse]
    days: list[DayOfUse] | UnsetType = UNSET


class PageViews(Struct):
    page_id: PageId
    total: int
    days: list[DayOfViews]


@get("/sites/{site_id:str}/usage", summary="A site's usage by month and by day")
async def site_usage(
    site_id: FromPath[str],
    site: NamedDependency[Site],
    services: NamedDependency[Services],
    months: Annotated[int, QueryParameter(ge=1, le=MOST_MONTHS)] = 3,
    days: Annotated[int, QueryParameter(ge=0, le=MOST_DAYS)] = 0,
) -> SiteUsage:
    """Newest first, months and days of UTC; kept for 90 days. Visitors are estimated: those of days always, those of
    months unless the server counts them exactly. `websocket_connections` are how many were opened."""
    if site_id != site.id:
        raise SiteMismatch
    by_month = await services.counter_queries.usage(site.id, months=months)
    return SiteUsage(by_month, await services.counter_queries.usage_by_day(site.id, days=days) if days else UNSET)


@get("/pages/{page_id:str}/views", summary="How often a page was viewed")
async def page_views(
    page_id: FromPath[str],
    site: NamedDependency[Site],
    services: NamedDependency[Services],
    days: Annotated[int, QueryParameter(ge=1, le=MOST_DAYS)] = 30,
    page_url: Annotated[str | None, QueryParameter(min_length=1, max_length=LONGEST_URL)] = None,
) -> PageViews:
    """In all, and by day of UTC, newest first. A page that nobody wrote on yet is found only with its `page_url`,
    and has no days: only of so many pages a number is kept, since anybody can look at any address."""
    wanted = as_id(PageId, page_id)
    queries = services.counter_queries
    # On a single server the keys of pages do not say whose they are, so it has to be shown some other way.
    if not _is_address_of(site, wanted, page_url) and await services.page_queries.by_id(site.id, wanted) is None:
        raise PageNotFound
    total = await queries.views(site.id, wanted)
    return PageViews(wanted, total, await queries.views_by_day(site.id, wanted, days=days))


def _is_address_of(site: Site, page_id: PageId, page_url: str | None) -> bool:
    if page_url is None:
        return False
    return page_id_of(site.id, normal_url(page_url, drop_tracking=site.settings.drop_tracking_parameters)) == page_id


router = Router("/admin", route_handlers=[site_usage, page_views], guards=[requires_admin], tags=["Administration"])
