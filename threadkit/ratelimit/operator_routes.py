"""The operator sees who has to wait because of a limit."""

from litestar.di import NamedDependency
from msgspec import Struct

from threadkit.clock import iso
from threadkit.errors import Conflict
from threadkit.http.routing import Router, get
from threadkit.services import Services
from threadkit.sites.admin_access import requires_operator

MOST_KEYS = 200_000


class StoreTooLarge(Conflict):
    """The store has too many keys to look through them for a page. On the server itself: threadkit limits"""

    code = "store_too_large"


class LimitedView(Struct):
    """`who` is a keyed hash of an address, a user or a key."""

    what: str
    who: str
    site_id: str | None
    used: int
    limit: int
    until: str


class LimitedNow(Struct):
    limited: list[LimitedView]


@get("/limits", guards=[requires_operator], summary="Who has to wait because of a limit")
async def limited_now(services: NamedDependency[Services]) -> LimitedNow:
    """As `threadkit limits` shows it, a thousand at most. It looks through the keys of the store, so it is refused where
    there are more than 200,000."""
    report = await services.store_reports.newest()
    if report.keys > MOST_KEYS:
        raise StoreTooLarge
    sites = {site.id: site.settings.rate_limits for site in await services.site_queries.all()}
    found = await services.limit_queries.limited(sites)
    return LimitedNow(
        [LimitedView(one.what, one.who, one.site_id, one.used, one.limit, iso(one.until_s * 1000)) for one in found]
    )


router = Router("/admin/server", route_handlers=[limited_now], tags=["Server"])
