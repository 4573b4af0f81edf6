"""The guard that counts every request of the API, before anything else is looked at."""

from typing import Any

from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler
from litestar.types import Guard
from redis.exceptions import RedisError

from threadkit.errors import ThreadKitError, Unauthenticated
from threadkit.http.client_address import ClientAddresses
from threadkit.ratelimit.model import Kind, RateLimited
from threadkit.ratelimit.requests import Caller, RequestLimits
from threadkit.sites.model import OpenedSite
from threadkit.users.sessions import SessionService
from threadkit.users.tokens import Claims

Connection = ASGIConnection[Any, Any, Any, Any]


def limited(open_site: Guard, *, limits: RequestLimits, addresses: ClientAddresses, sessions: SessionService) -> Guard:
    """`open_site`, and a count. Whose key is unknown is counted by address alone."""
    if not limits.is_on:
        return open_site

    async def count(connection: Connection, handler: BaseRouteHandler) -> None:
        state = connection.scope["state"]
        client = addresses.client_of(connection.scope, dict(connection.scope["headers"]))
        kind = _kind(connection)
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
            claims = _claims(connection, sessions)
            is_users = claims is not None and claims.site_id == opened.site.id
            caller = Caller(opened.site, client, claims.user_id if is_users and claims else None, opened.is_owner)
            if kind == "read":
                state["standing"] = limits.spend(caller, kind)
            elif claims and is_users:
                await _arrive(connection, caller, claims)
            else:
                state["standing"] = await limits.spend_write(caller)
        except RateLimited as refused:
            state["standing"] = refused.facts["standing"]
            raise

    async def _arrive(connection: Connection, caller: Caller, claims: Claims) -> None:
        """Count a user's write in the same round trip that tells who they are."""
        state, write = connection.scope["state"], limits.writing(caller)
        try:
            state["arrived"] = await sessions.viewer_of(claims, claims.site_id, company=write)
        except Unauthenticated as error:  # for the routes that want to know who asks
            state["arrived"] = error
        except (RedisError, OSError) as error:
            state["standing"] = limits.spend_without_store(caller, "write", error)
            raise
        state["standing"] = write.standing

    return count


def by_address(*, limits: RequestLimits, addresses: ClientAddresses) -> Guard:
    """For what belongs to no site."""

    async def count(connection: Connection, _handler: BaseRouteHandler) -> None:
        if not limits.is_on:
            return
        state = connection.scope["state"]
        client = addresses.client_of(connection.scope, dict(connection.scope["headers"]))
        try:
            state["standing"] = limits.spend(Caller(None, client), _kind(connection))
        except RateLimited as refused:
            state["standing"] = refused.facts["standing"]
            raise

    return count


def _kind(connection: Connection) -> Kind:
    return "read" if connection.scope.get("method") in ("GET", "HEAD") else "write"


def _claims(connection: Connection, sessions: SessionService) -> Claims | None:
    header = connection.headers.get("authorization", "")
    return sessions.claims_of(header.removeprefix("Bearer ")) if header.startswith("Bearer ") else None
