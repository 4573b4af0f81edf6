"""The operator looks at the store."""

from litestar.di import NamedDependency

from threadkit.health.store import StoreReport
from threadkit.http.routing import Router, get
from threadkit.services import Services
from threadkit.sites.admin_access import requires_operator


@get("/store", guards=[requires_operator], summary="How the store fares")
async def store_report(services: NamedDependency[Services]) -> StoreReport:
    """Memory, persistence, clients, slow commands by name and what the keys are about, from a sample of ten thousand. Some
    seconds old at most. What a hosted store does not tell is null and named in `not_available`."""
    return await services.store_reports.newest()


router = Router("/admin/server", route_handlers=[store_report], tags=["Server"])
