"""`/v1/turnstile`: what a client needs to show that its user is human. Contract 4.8."""

from typing import Annotated, Literal

from litestar import Response
from litestar.di import NamedDependency
from litestar.openapi import ResponseSpec
from litestar.params import JSONBody, QueryParameter
from msgspec import UNSET, Meta, Struct, UnsetType

from threadkit.http.client_address import ClientAddresses
from threadkit.http.request import Request
from threadkit.http.routing import Router, get, post
from threadkit.moderation.outside.challenge_page import challenge_page
from threadkit.moderation.outside.turnstile import LONGEST_TOKEN
from threadkit.services import Services
from threadkit.sites.model import Site
from threadkit.users.access import knows_user
from threadkit.users.viewer import Viewer

SiteKeyParameter = Annotated[str, QueryParameter(description="The public key of the widget, from Cloudflare")]


class TurnstileConfig(Struct):
    enabled: bool
    enforce_on: Literal["all", "anonymous", "unverified", "none"]
    server_configured: bool
    site_key: str | UnsetType = UNSET


class Token(Struct):
    token: Annotated[str, Meta(min_length=1, max_length=LONGEST_TOKEN)]


class Verified(Struct):
    success: bool
    error_codes: list[str] | UnsetType = UNSET


@get("/config", summary="Whether this site asks who is human, and whom")
async def config(site: NamedDependency[Site], services: NamedDependency[Services]) -> TurnstileConfig:
    settings, turnstile = site.settings.turnstile, services.outside.turnstile
    return TurnstileConfig(settings.enabled, settings.enforce_on, turnstile.is_configured, turnstile.site_key or UNSET)


@post("/verify", status_code=200, guards=[knows_user], summary="Show a token of the widget")
async def verify(
    data: JSONBody[Token],
    request: Request,
    site: NamedDependency[Site],
    maybe_viewer: NamedDependency[Viewer | None],
    services: NamedDependency[Services],
    addresses: NamedDependency[ClientAddresses],
) -> Verified:
    """A token is good once. Where the site remembers people, whoever passes here may then write without one."""
    address = addresses.of(request.scope)
    found = await services.outside.turnstile.verify(
        site, maybe_viewer, data.token, addresses.hashed(address), address=str(address)
    )
    return Verified(found.is_success, found.error_codes or UNSET)


@get(
    "/v1/turnstile/challenge",
    tags=["Turnstile"],
    summary="The page with the widget, for a popup",
    responses={200: ResponseSpec(str, description="HTML", media_type="text/html")},
)
async def challenge(site_key: SiteKeyParameter = "") -> Response[str]:
    """Asks for no key, because a popup can send none."""
    return challenge_page(site_key)


@get("/v1/v1/turnstile/challenge", include_in_schema=False)
async def challenge_alias(site_key: SiteKeyParameter = "") -> Response[str]:
    """Where the stock plugin looks when its address of the API ends with /v1."""
    return challenge_page(site_key)


router = Router("/turnstile", route_handlers=[config, verify], tags=["Turnstile"])
