"""`/v1/auth/…`: the ways in and out. Contract 4.1 and 4.9."""

from typing import Annotated

from litestar.di import NamedDependency
from litestar.params import JSONBody
from msgspec import Meta, Struct

from threadkit.http.routing import Router, get, post
from threadkit.services import Services
from threadkit.sites.model import Site
from threadkit.users.access import knows_user, requires_user
from threadkit.users.model import AuthResponse
from threadkit.users.sessions import Device
from threadkit.users.sign_in import Contact
from threadkit.users.viewer import Viewer
from threadkit.users.ways_in import Method, ways_in

Address = Annotated[str, Meta(max_length=320)]
Text = Annotated[str, Meta(max_length=1000)]
Token = Annotated[str, Meta(max_length=4096)]


class Methods(Struct):
    methods: list[Method]


class ContactBody(Struct, kw_only=True):
    """One of the two; an address wins when both are there."""

    email: Address | None = None
    phone: Address | None = None

    @property
    def contact(self) -> Contact:
        return Contact.of(self.email, self.phone)


class CodeBody(ContactBody, kw_only=True):
    code: Text


class CodeSignIn(CodeBody, kw_only=True):
    name: Text | None = None


class Registration(ContactBody, kw_only=True):
    name: Text
    password: Text


class PasswordSignIn(ContactBody, kw_only=True):
    password: Text
    code: Text | None = None
    """Sent when `code_required` was the answer, and the password right."""


class NewPassword(CodeBody, kw_only=True):
    new_password: Text


class GuestBody(Struct):
    name: Text | None = None


class RefreshBody(Struct):
    refresh_token: Token


class SsoBody(Struct):
    token: Token


@get("/methods", summary="Which ways in this site offers")
async def methods(site: NamedDependency[Site], services: NamedDependency[Services]) -> Methods:
    return Methods(ways_in(site, providers=services.providers, oidc_name=services.settings.oidc.name))


@post("/send-otp", status_code=200, summary="Send a code to an address or number")
async def send_otp(
    data: JSONBody[ContactBody],
    site: NamedDependency[Site],
    device: NamedDependency[Device],
    services: NamedDependency[Services],
) -> None:
    await services.sign_in.send_code(site, data.contact, device)


@post("/verify-otp", status_code=200, guards=[knows_user], summary="Sign in with a code")
async def verify_otp(
    data: JSONBody[CodeSignIn],
    site: NamedDependency[Site],
    device: NamedDependency[Device],
    maybe_viewer: NamedDependency[Viewer | None],
    services: NamedDependency[Services],
) -> AuthResponse:
    """New addresses need a `name`. With a guest's token, the guest becomes a member and keeps everything."""
    return await services.sign_in.by_code(site, data.contact, data.code, data.name, device, guest=_guest(maybe_viewer))


@post("/anonymous", status_code=200, summary="Come in as a guest")
async def anonymous(
    data: JSONBody[GuestBody],
    site: NamedDependency[Site],
    device: NamedDependency[Device],
    services: NamedDependency[Services],
) -> AuthResponse:
    return await services.sign_in.as_guest(site, data.name, device)


@post("/sso", status_code=200, summary="Come in as a user of the host site")
async def sso(
    data: JSONBody[SsoBody],
    site: NamedDependency[Site],
    device: NamedDependency[Device],
    services: NamedDependency[Services],
) -> AuthResponse:
    """The token is a JWT (HS256, the site's sign-in secret) with `sub`, `name`, `exp`, and optionally `email`,
    `email_verified`, `avatar`, `aud`."""
    signed_in = await services.sign_in.by_host_site(site, data.token, device)
    services.tally.key(site.id, "sso")
    return signed_in


@post("/refresh", status_code=200, summary="Exchange a refresh token for a new pair")
async def refresh(
    data: JSONBody[RefreshBody], site: NamedDependency[Site], services: NamedDependency[Services]
) -> AuthResponse:
    return await services.sessions.refresh(data.refresh_token, site.id)


@post("/logout", status_code=200, guards=[requires_user], summary="Sign out on this device")
async def logout(viewer: NamedDependency[Viewer], services: NamedDependency[Services]) -> None:
    await services.sessions.end(viewer.id, viewer.session.id)


@post("/register", status_code=200, guards=[knows_user], summary="Make an account with a password")
async def register(
    data: JSONBody[Registration],
    site: NamedDependency[Site],
    device: NamedDependency[Device],
    maybe_viewer: NamedDependency[Viewer | None],
    services: NamedDependency[Services],
) -> AuthResponse:
    return await services.sign_in.register(
        site, data.contact, data.name, data.password, device, guest=_guest(maybe_viewer)
    )


@post("/login", status_code=200, summary="Sign in with a password")
async def login(
    data: JSONBody[PasswordSignIn],
    site: NamedDependency[Site],
    device: NamedDependency[Device],
    services: NamedDependency[Services],
) -> AuthResponse:
    """While somebody guesses at the account, networks from which it was never signed in to get 429 `code_required`; when the
    password was right, a code is sent, to be given with it."""
    return await services.sign_in.by_password(site, data.contact, data.password, device, code=data.code)


@post("/verify", status_code=200, summary="Confirm an address or number with a code")
async def verify(
    data: JSONBody[CodeBody], device: NamedDependency[Device], services: NamedDependency[Services]
) -> None:
    await services.sign_in.confirm(data.contact, data.code, device)


@post("/forgot", status_code=200, summary="Send a code for a new password")
async def forgot(
    data: JSONBody[ContactBody],
    site: NamedDependency[Site],
    device: NamedDependency[Device],
    services: NamedDependency[Services],
) -> None:
    """The answer is the same whether or not anybody has this address."""
    await services.sign_in.forgot(site, data.contact, device)


@post("/reset", status_code=200, summary="Set a new password with a code")
async def reset(
    data: JSONBody[NewPassword],
    site: NamedDependency[Site],
    device: NamedDependency[Device],
    services: NamedDependency[Services],
) -> None:
    await services.sign_in.reset(site, data.contact, data.code, data.new_password, device)


def _guest(viewer: Viewer | None) -> Viewer | None:
    return viewer if viewer and viewer.user.is_guest else None


router = Router(
    "/auth",
    route_handlers=[
        methods,
        send_otp,
        verify_otp,
        anonymous,
        sso,
        refresh,
        logout,
        register,
        login,
        verify,
        forgot,
        reset,
    ],
    tags=["Signing in"],
)
