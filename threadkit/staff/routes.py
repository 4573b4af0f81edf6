"""`/v1/staff/…`: who sits before the pages for staff. Everything else those pages do is the public API."""

from typing import Annotated, Any

from litestar import Response
from litestar.di import NamedDependency, Provide
from litestar.params import JSONBody
from msgspec import Meta, Struct

from threadkit.clock import iso
from threadkit.errors import WrongShape
from threadkit.http.request import Request
from threadkit.http.routing import Router, delete, get, post
from threadkit.services import Services
from threadkit.staff import second_step_routes
from threadkit.staff.access import (
    from_our_pages,
    provide_passed_staff,
    provide_proved_staff,
    provide_staff,
    staff_cookie,
)
from threadkit.staff.model import Provider, StaffView, WaysIn
from threadkit.staff.service import Arrival, Proof
from threadkit.users.access import bearer
from threadkit.users.sessions import Device, InvalidToken
from threadkit.users.viewer import Viewer
from threadkit.users.ways_in import ways_in

Text = Annotated[str, Meta(max_length=1000)]


class StaffAddress(Struct):
    email: Annotated[str, Meta(max_length=320)]


class StaffSignIn(StaffAddress):
    """With a password, or with a code that was sent; with both when `code_required` was the answer to the password. Beside
    a password a one-time code of the second step will do too."""

    password: Text | None = None
    code: Text | None = None


class PasskeySignIn(Struct):
    credential: dict[str, Any]
    """What `navigator.credentials.get` gave, as JSON."""


class ProofBody(Struct, kw_only=True):
    """One of these."""

    password: Text | None = None
    code: Text | None = None
    """Sent to one's address."""
    totp: Text | None = None
    recovery_code: Text | None = None
    passkey: dict[str, Any] | None = None

    def proof(self) -> Proof:
        return Proof(
            password=self.password,
            code=self.code,
            totp=self.totp,
            recovery_code=self.recovery_code,
            passkey=self.passkey,
        )


class WhichSite(Struct):
    site_id: Text


class SiteToken(Struct):
    token: str


class ProvedUntil(Struct):
    proved_until: str


@get("/ways", summary="Which ways in the door offers beside passwords and codes")
async def ways(services: NamedDependency[Services]) -> WaysIn:
    """Accounts elsewhere are those of the oldest site that has any switched on."""
    for site in await services.site_queries.all():
        offered = ways_in(site, providers=services.providers, oidc_name=services.settings.oidc.name)
        if providers := [Provider(way.id, way.name) for way in offered if way.type == "oauth"]:
            break
    else:
        return WaysIn(passkeys=services.passkeys.are_possible, providers=[], project=None)
    return WaysIn(passkeys=services.passkeys.are_possible, providers=providers, project=site.api_key_public)


@post("/code", status_code=200, summary="Send a code to an address of staff")
async def send_code(
    data: JSONBody[StaffAddress], device: NamedDependency[Device], services: NamedDependency[Services]
) -> None:
    """The answer is the same whether or not anybody on the staff has this address."""
    await services.staff.send_code(data.email, device)


@post("/sign-in", status_code=200, summary="Sign in to the pages for staff")
async def sign_in(
    data: JSONBody[StaffSignIn], device: NamedDependency[Device], services: NamedDependency[Services]
) -> Response[StaffView]:
    """Whatever ways in a site offers its visitors: who runs it can always come in. Sets the cookie."""
    if data.password is not None:
        return _arrived(services, await services.staff.by_password(data.email, data.password, data.code, device))
    if data.code is not None:
        return _arrived(services, await services.staff.by_code(data.email, data.code, device))
    raise WrongShape(field="password", why="a password or a code is needed")


@post(
    "/sign-in/passkey/options",
    status_code=200,
    opt={"may_be_empty": True},
    summary="Begin to sign in with a passkey alone",
)
async def passkey_sign_in_options(services: NamedDependency[Services]) -> dict[str, Any]:
    """What `navigator.credentials.get` is called with; good for five minutes and one try."""
    return await services.passkeys.request_options(None)


@post("/sign-in/passkey", status_code=200, summary="Sign in to the pages for staff with a passkey alone")
async def passkey_sign_in(
    data: JSONBody[PasskeySignIn], device: NamedDependency[Device], services: NamedDependency[Services]
) -> Response[StaffView]:
    """The passkey must have asked for a finger, a face or a number, and so is both steps. Sets the cookie."""
    return _arrived(services, await services.staff.by_passkey(data.credential, device))


@post("/second-step", status_code=200, summary="Pass the second step of a sign-in")
async def pass_second_step(
    data: JSONBody[ProofBody], staff: NamedDependency[Viewer], services: NamedDependency[Services]
) -> StaffView:
    """With `totp`, `recovery_code` or `passkey`."""
    return await services.staff.pass_second_step(staff, data.proof())


@post("/session", status_code=200, opt={"may_be_empty": True}, summary="Use a session of a site for the pages")
async def adopt_session(request: Request, services: NamedDependency[Services]) -> Response[StaffView]:
    """For whoever has signed in on a site, say with an account elsewhere: the token becomes the cookie."""
    token = bearer(request)
    claims = services.sessions.claims_of(token)
    if claims is None:
        raise InvalidToken
    return _arrived(services, await services.staff.by_session(await services.sessions.viewer(token, claims.site_id)))


@get("/session", summary="Who is signed in to the pages, and for which sites")
async def session(staff: NamedDependency[Viewer], services: NamedDependency[Services]) -> StaffView:
    return await services.staff.view(staff)


@delete("/session", status_code=200, summary="Sign out of the pages")
async def sign_out(staff: NamedDependency[Viewer], services: NamedDependency[Services]) -> Response[None]:
    await services.staff.sign_out(staff)
    headers = {"Clear-Site-Data": '"cache", "storage"'}
    return Response(None, headers=headers, cookies=[staff_cookie(services.settings, "")])


@post("/token", status_code=200, summary="A token for one of the sites on whose staff one is")
async def site_token(
    data: JSONBody[WhichSite], staff: NamedDependency[Viewer], services: NamedDependency[Services]
) -> SiteToken:
    return SiteToken(await services.staff.token_for(staff, data.site_id))


@post("/confirm", status_code=200, summary="Show again that it is you")
async def confirm(
    data: JSONBody[ProofBody],
    staff: NamedDependency[Viewer],
    device: NamedDependency[Device],
    services: NamedDependency[Services],
) -> ProvedUntil:
    """Before what does harm in wrong hands: new keys, other owners, deleting a site. Counts for 15 minutes."""
    return ProvedUntil(iso(await services.staff.confirm(staff, device, data.proof())))


def _arrived(services: Services, arrival: Arrival) -> Response[StaffView]:
    return Response(arrival.view, cookies=[staff_cookie(services.settings, arrival.cookie)])


router = Router(
    "/v1/staff",
    route_handlers=[
        ways,
        send_code,
        sign_in,
        passkey_sign_in_options,
        passkey_sign_in,
        pass_second_step,
        adopt_session,
        session,
        sign_out,
        site_token,
        confirm,
        second_step_routes.router,
    ],
    guards=[from_our_pages],
    dependencies={
        "staff": Provide(provide_staff),
        "passed_staff": Provide(provide_passed_staff),
        "proved_staff": Provide(provide_proved_staff),
    },
    tags=["Pages for staff"],
)
