"""`/setup`: where the one-time link leads, and where its owner goes on from."""

from collections.abc import Iterable, Mapping
from html import escape
from typing import Annotated, Any

from litestar import Response
from litestar.di import NamedDependency
from litestar.enums import RequestEncodingType
from litestar.params import Body, QueryParameter

from threadkit.errors import Invalid, ThreadKitError, Unauthenticated
from threadkit.http.language import language_headers, words_of
from threadkit.http.request import Request
from threadkit.http.routing import Router, get, post
from threadkit.services import Services
from threadkit.setup.page import MODES, Way, document, done_page, form_page
from threadkit.setup.service import FirstSite, LinkUsed
from threadkit.sites.model import Site
from threadkit.sites.roles import Role
from threadkit.staff.access import staff_cookie, staff_of
from threadkit.users.sessions import Device
from threadkit.web import assets
from threadkit.web.frame import embed_policy
from threadkit.words import Locales, Words

_LOCALES = Locales("threadkit.setup")
_FORM_POLICY = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'"
_OWN_WAYS = ("anonymous", "email", "password")
_TYPED = ("token", "name", "email", "password", "site_name", "domain", "moderation")


class NoWayChosen(Invalid):
    """Choose at least one way to write."""

    code = "no_way_chosen"


@get("/setup", include_in_schema=False)
async def form(
    request: Request, services: NamedDependency[Services], token: Annotated[str, QueryParameter()] = ""
) -> Response[str]:
    words = words_of(request, _LOCALES)
    if not await services.setup.link_is_good(token):
        return _used_up(words)
    site, _ = await services.setup.first_site()
    return _form(services, words, _as_it_is(services, site) | {"token": token})


@post("/setup", include_in_schema=False, opt={"form": True}, status_code=303)
async def set_up(
    request: Request,
    data: Annotated[dict[str, Any], Body(media_type=RequestEncodingType.URL_ENCODED)],
    device: NamedDependency[Device],
    services: NamedDependency[Services],
) -> Response[Any]:
    words = words_of(request, _LOCALES)
    ways = _ways(services, words)
    given = {name: str(data.get(name, ""))[:1000] for name in (*_TYPED, *(f"way_{way}" for way in ways))}
    try:
        user = await services.setup.make_owner(
            given["token"],
            name=given["name"],
            email=given["email"],
            password=given["password"],
            site=_chosen(given, ways),
        )
    except LinkUsed:
        return _used_up(words)
    except NoWayChosen as error:
        return _form(services, words, given, alert=words("ways_missing"), status=error.status)
    except ThreadKitError as error:
        return _form(services, words, given, alert=error.message, status=error.status)
    arrival = await services.staff.arrive(user, device)
    headers = {"Location": "/setup/done", "Cache-Control": "no-store"}
    return Response(None, status_code=303, headers=headers, cookies=[staff_cookie(services.settings, arrival.cookie)])


@get("/setup/done", include_in_schema=False)
async def done(request: Request, services: NamedDependency[Services]) -> Response[Any]:
    try:
        staff = await staff_of(request, services)
    except Unauthenticated:
        return Response(None, status_code=303, headers={"Location": "/admin", "Cache-Control": "no-store"})
    site, _ = await services.setup.first_site()
    if (await services.roles.roles_of(staff.id, [site.id])).get(site.id) is not Role.OWNER:
        return Response(None, status_code=303, headers={"Location": "/mod", "Cache-Control": "no-store"})
    words = words_of(request, _LOCALES)
    page = done_page(words, site, name=staff.user.name, base_url=services.settings.base_url, style=_style())
    return _page(words, page, f"{embed_policy(services.settings)}; frame-ancestors 'none'")


def _ways(services: Services, words: Words) -> dict[str, Way]:
    """What visitors can be offered on this server."""
    own = {name: Way(words(f"way_{name}")) for name in _OWN_WAYS}
    if not services.settings.mail.host:
        own["email"] = Way(words("way_email"), words("way_email_hint"))
    return own | {name: Way(words("way_provider", name=name.capitalize())) for name in services.providers}


def _as_it_is(services: Services, site: Site) -> dict[str, str]:
    """The form as it is filled in at first: with what the site has."""
    auth = site.settings.auth
    chosen = {f"way_{way}": "on" for way in (*_OWN_WAYS, *services.providers) if getattr(auth, way)}
    return {"site_name": site.name, "domain": site.domain, "moderation": site.settings.moderation_mode} | chosen


def _chosen(given: Mapping[str, str], ways: Iterable[str]) -> FirstSite:
    chosen = {f"auth.{way}": given[f"way_{way}"] == "on" for way in ways}
    if not any(chosen.values()):
        raise NoWayChosen
    mode = given["moderation"] if given["moderation"] in MODES else "none"
    return FirstSite(given["site_name"], given["domain"], {"moderation_mode": mode, **chosen})


def _form(
    services: Services, words: Words, given: Mapping[str, str], *, alert: str = "", status: int = 200
) -> Response[str]:
    page = form_page(
        words,
        given,
        ways=_ways(services, words),
        local=services.settings.allow_localhost_origin,
        alert=alert,
        style=_style(),
    )
    return _page(words, page, f"{_FORM_POLICY}; frame-ancestors 'none'", status=status)


def _used_up(words: Words) -> Response[str]:
    page = document(words, words("used_title"), f"<p>{escape(LinkUsed().message)}</p>", style=_style())
    return _page(words, page, f"{_FORM_POLICY}; frame-ancestors 'none'", status=404)


def _page(words: Words, html: str, policy: str, *, status: int = 200) -> Response[str]:
    headers = {"Content-Security-Policy": policy, "Cache-Control": "no-store", **language_headers(words)}
    return Response(html, media_type="text/html", status_code=status, headers=headers)


def _style() -> str:
    return assets.packaged_staff()["style.css"].path


router = Router("/", route_handlers=[form, set_up, done])
