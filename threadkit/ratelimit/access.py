"""The guard that counts every request of the API, before anything else is looked at."""

from typing import Any

from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler
from litestar.types import Guard
from redis.exceptions import RedisError

from threadkit.errors import ThreadKitError, Unauthenticated
from threadkit.ratelimit.model import Kind, RateLimited
from threadkit.ratelimit.requests import Caller
from threadkit.services import Services, services_of
from threadkit.sites.model import OpenedSite
from threadkit.users.tokens import Claims

Connection = ASGIConnection[Any, Any, Any, Any]


def limited(open_site: Guard) -> Guard:
    """`open_site`, and a count. Whose key is unknown is counted by address alone."""

    async def count(connection: Connection, handler: BaseRouteHandler) -> None:
        services, state = services_of(connection.scope), connection.scope["state"]
        limits = services.request_limits
        if not limits.is_on:
            await open_site(connection, handler)  # type: ignore[misc]
            return
        client, kind = _client(connection, services), _kind(connection)
        try:
            try:
                await open_site(connection, handler)  # type: ignore[misc]
            except ThreadKitError:
                state["standing"] = limits.spend(Caller(None, client), kind)
                raise
            except (RedisError, OSError) as error:
                state["standing"] = limits.spend_without_store(Caller(None, client), kind, error)
                raise
            opened: OpenedSite = state["opened"]
            claims = _claims(connection, services)
            is_users = claims is not None and claims.site_id == opened.site.id
            caller = Caller(opened.site, client, claims.user_id if is_users and claims else None, opened.is_owner)
            if kind == "read":
                state["standing"] = limits.spend(caller, kind)
            elif claims and is_users:
                await _arrive(connection, services, caller, claims)
            else:
                state["standing"] = await limits.spend_write(caller)
        except RateLimited as refused:
            state["standing"] = refused.facts["standing"]
            raise

    return count


async def _arrive(connection: Connection, services: Services, caller: Caller, claims: Claims) -> None:
    """Count a user's write in the same round trip that tells who they are."""
    limits, state = services.request_limits, connection.scope["state"]
    write = limits.writing(caller)
    try:
        state["arrived"] = await services.sessions.viewer_of(claims, claims.site_id, company=write)
    except Unauthenticated as error:  # for the routes that want to know who asks
        state["arrived"] = error
    except (RedisError, OSError) as error:
        state["standing"] = limits.spend_without_store(caller, "write", error)
        raise
    state["standing"] = write.standing


async def by_address(connection: Connection, _handler: BaseRouteHandler) -> None:
    """A guard for what belongs to no site."""
    services, state = services_of(connection.scope), connection.scope["state"]
    if not services.request_limits.is_on:
        return
    try:
        state["standing"] = services.request_limits.spend(
            Caller(None, _client(connection, services)), _kind(connection)
        )
    except RateLimited as refused:
        state["standing"] = refused.facts["standing"]
        raise


def _client(connection: Connection, services: Services) -> str:
    return services.addresses.client_of(connection.scope, dict(connection.scope["headers"]))


def _kind(connection: Connection) -> Kind:
    return "read" if connection.scope.get("method") in ("GET", "HEAD") else "write"


def _claims(connection: Connection, services: Services) -> Claims | None:
    header = connection.headers.get("authorization", "")
    return services.sessions.claims_of(header.removeprefix("Bearer ")) if header.startswith("Bearer ") else None
