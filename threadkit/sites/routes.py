"""What a site tells its visitors."""

from typing import Any, Literal

import msgspec
from litestar import Response
from litestar.di import NamedDependency
from litestar.openapi.datastructures import ResponseSpec
from msgspec import Struct

from threadkit.comments.fast_lane import is_known
from threadkit.errors import Forbidden
from threadkit.http.request import Request
from threadkit.http.routing import Router, get
from threadkit.ids import digest
from threadkit.services import Services
from threadkit.sites.access import KEY_IN_ADDRESS
from threadkit.sites.model import DisplaySettings, Site
from threadkit.users.ways_in import Method, ways_in


class SiteMismatch(Forbidden):
    """Site ID mismatch"""

    code = "site_mismatch"


class PublicTurnstile(Struct):
    """Whether people must show that they are human, and with which widget."""

    enabled: bool
    enforce_on: Literal["all", "anonymous", "unverified", "none"]
    site_key: str | None


class PublicSite(Struct):
    """What an embed needs to know before it shows anything."""

    id: str
    name: str
    display: DisplaySettings
    posting_disabled: bool
    methods: list[Method]
    staff: dict[str, Literal["owner", "admin", "moderator"]]
    voting: Literal["on", "up", "off"]
    max_comment_length: int
    edit_window_minutes: int
    moderation_mode: Literal["none", "pre", "post"]
    turnstile: PublicTurnstile


@get(
    "/site",
    opt=KEY_IN_ADDRESS,
    tags=["Sites"],
    summary="The site of this key",
    responses={200: ResponseSpec(PublicSite, description="The site")},
)
async def public_site(
    request: Request, site: NamedDependency[Site], services: NamedDependency[Services]
) -> Response[Any]:
    """All that an embed needs in one answer: the ways in as in `/v1/auth/methods`, who is staff (by user id, 200 at
    most, some seconds old), and what people may do. Carries an ETag; `If-None-Match` gets 304 while nothing changed.
    The public key may also stand in the address, as `key`."""
    settings, turnstile = site.settings, services.outside.turnstile
    public = PublicSite(
        id=site.id,
        name=site.name,
        display=settings.display,
        posting_disabled=settings.posting_disabled,
        methods=ways_in(site, providers=services.providers, oidc_name=services.settings.oidc.name),
        staff=await services.staff_badges.of(site.id),  # type: ignore[arg-type]
        voting=settings.voting,
        max_comment_length=services.settings.max_comment_length,
        edit_window_minutes=settings.edit_window_minutes,
        moderation_mode=settings.moderation_mode,
        turnstile=PublicTurnstile(settings.turnstile.enabled, settings.turnstile.enforce_on, turnstile.site_key),
    )
    body = msgspec.json.encode(public)
    etag = f'"{digest(body.decode())[:20]}"'
    # One address stands for many sites: whoever keeps the answer must look at the key.
    headers = {"ETag": etag, "Cache-Control": "private, no-cache", "Vary": "projectid, x-api-key, authorization"}
    if is_known(request.headers.get("if-none-match", "").encode() or None, etag.encode()):
        return Response(None, status_code=304, headers=headers)
    return Response(body, media_type="application/json", headers=headers)


router = Router("/", route_handlers=[public_site])
