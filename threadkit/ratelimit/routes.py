"""`/api/config/usage`: how much of today's quota is used."""

from typing import Annotated

from litestar.di import NamedDependency
from litestar.params import QueryParameter
from msgspec import Struct

from threadkit.http.client_address import ClientAddresses
from threadkit.http.request import Request
from threadkit.http.routing import get
from threadkit.ratelimit.model import Action
from threadkit.services import Services


class Usage(Struct):
    action: Action
    daily_count: int
    daily_limit: int
    per_minute_limit: int


@get("/api/config/usage", summary="How much of a day's quota is used", tags=["Server"])
async def usage(
    request: Request,
    services: NamedDependency[Services],
    addresses: NamedDependency[ClientAddresses],
    action: Annotated[Action, QueryParameter(description="of which costly action")] = "comments",
) -> Usage:
    """Of whoever asks, by address and browser. Asking uses nothing up."""
    quotas = services.quotas
    client = quotas.client(addresses.hashed(addresses.of(request.scope)), request.headers.get("user-agent", ""))
    quota = quotas.quota(action)
    return Usage(action, await quotas.used_today(action, client), quota.per_day, quota.per_minute)
