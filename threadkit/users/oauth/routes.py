"""`/auth/{provider}`, where a popup goes and comes back; and `/api/…` for clients that know only those names."""

from typing import Annotated, Any

import structlog
from litestar import Request, Response
from litestar.datastructures import Cookie
from litestar.di import NamedDependency
from litestar.params import FromPath, QueryParameter
from msgspec import UNSET, Struct, UnsetType
from redis.exceptions import RedisError

from threadkit import problems
from threadkit.errors import ThreadKitError, Unauthenticated
from threadkit.http.routing import Router, get, post
from threadkit.services import Services
from threadkit.users.access import bearer
from threadkit.users.oauth.model import STATE, Outcome, ProviderReply, ProviderTrouble, cookie_name
from threadkit.users.oauth.page import outcome_page
from threadkit.users.oauth.pending import LIFE_S
from threadkit.users.sessions import Device

log = structlog.get_logger()

AnyRequest = Request[Any, Any, Any]


class Who(Struct):
    """Field names as the clients of these routes have them."""

    loggedIn: bool  # noqa: N815
    name: str | UnsetType = UNSET
    avatar: str | UnsetType | None = UNSET


def _as_text(_request: AnyRequest, error: ThreadKitError) -> Response[bytes]:
    """These are read by people in a popup."""
    return problems.response(error, as_text=True)


@get("/auth/{provider:str}", include_in_schema=False, exception_handlers={ThreadKitError: _as_text})
async def start(
    request: AnyRequest,
    provider: FromPath[str],
    services: NamedDependency[Services],
    device: NamedDependency[Device],
    project_id: Annotated[str, QueryParameter()] = "",
) -> Response[Any]:
    pages = [request.headers.get(name, "") for name in ("origin", "referer")]
    try:
        departure = await services.oauth.start(provider, project_id, pages, device)
    except ProviderTrouble as trouble:
        return outcome_page(Outcome(error=trouble.sentence))
    cookie = _cookie(services, departure.cookie_name, departure.cookie, max_age=LIFE_S)
    headers = {"Location": departure.url, "Cache-Control": "no-store", "Cross-Origin-Opener-Policy": "unsafe-none"}
    return Response(None, status_code=307, headers=headers, cookies=[cookie])


@get("/auth/{provider:str}/callback", include_in_schema=False, exception_handlers={ThreadKitError: _as_text})
async def callback(
    request: AnyRequest,
    provider: FromPath[str],
    services: NamedDependency[Services],
    device: NamedDependency[Device],
    code: Annotated[str, QueryParameter()] = "",
    oauth_state: Annotated[str, QueryParameter(name="state")] = "",
    error: Annotated[str, QueryParameter()] = "",
    iss: Annotated[str, QueryParameter()] = "",
) -> Response[str]:
    reply = ProviderReply(state=oauth_state, code=code, error=error, issuer=iss, cookies=request.cookies)
    try:
        outcome = await services.oauth.finish(provider, reply, device)
    except RedisError as trouble:
        known = problems.as_known(trouble)
        if known is None:
            raise
        log.warning("oauth_failed", provider=provider, reason=known.code)
        outcome = Outcome(error=known.message)
    page = outcome_page(outcome)
    if STATE.match(oauth_state):
        page.set_cookie(_cookie(services, cookie_name(oauth_state, is_https=services.settings.is_https), "", max_age=0))
    return page


@get("/api/discord/me", tags=["Signing in"], summary="Is somebody signed in, and who?")
async def who(request: AnyRequest, services: NamedDependency[Services]) -> Who:
    try:
        token = bearer(request)
        claims = services.sessions.claims_of(token)
        if claims is None:
            return Who(False)
        viewer = await services.sessions.viewer(token, claims.site_id)
    except Unauthenticated:
        return Who(False)
    return Who(True, viewer.user.name, viewer.user.avatar_url)


@post("/api/auth/logout", status_code=200, tags=["Signing in"], summary="Sign out on this device")
async def logout(request: AnyRequest, services: NamedDependency[Services]) -> None:
    """Says yes to everybody: afterwards this token opens nothing, whatever it did before."""
    try:
        claims = services.sessions.claims_of(bearer(request))
    except Unauthenticated:
        return
    if claims is not None:
        await services.sessions.end(claims.user_id, claims.session_id)


def _cookie(services: Services, name: str, value: str, *, max_age: int) -> Cookie:
    return Cookie(
        key=name,
        value=value,
        path="/",
        max_age=max_age,
        httponly=True,
        samesite="lax",
        secure=services.settings.is_https,
    )


router = Router(
    "/",
    route_handlers=[start, callback, who, logout],
)
