"""For the owner's page: a site's keys and when they were last used, and what each of its settings is for."""

from litestar import Response
from litestar.di import NamedDependency, Provide
from msgspec import Struct

from threadkit.clock import iso
from threadkit.counters.model import KEY_KINDS, MINUTE_MS, KeyKind
from threadkit.http.language import language_headers, words_of
from threadkit.http.request import Request
from threadkit.http.routing import Router, get
from threadkit.services import Services
from threadkit.sites.admin_access import provide_own_site, requires_owner
from threadkit.sites.model import Site
from threadkit.sites.settings_schema import LOCALES, SettingsSchema, settings_schema


class KeyView(Struct, kw_only=True):
    """`key` is null for what is never shown again, `made_at` where that was not written down, and `last_used`, which is
    known to the minute, for a key that nobody has used."""

    kind: KeyKind
    is_set: bool
    key: str | None
    made_at: str | None
    last_used: str | None


class ReplacedKey(Struct):
    """A public key of before, and until when it still works."""

    key: str
    until: str


class SiteKeyring(Struct):
    keys: list[KeyView]
    replaced: list[ReplacedKey]


@get("/keys", guards=[requires_owner], summary="The site's keys, and when they were last used")
async def list_keys(own_site: NamedDependency[Site], services: NamedDependency[Services]) -> SiteKeyring:
    """The use of a replaced public key that still works counts as that of the public key."""
    site = await services.site_queries.by_id(own_site.id) or own_site
    uses = await services.counter_queries.key_uses(site.id)
    made = site.keys_made or {}
    now_ms = services.clock.now_ms()
    keys = [
        KeyView(
            kind=kind,
            is_set=kind != "sso" or site.sso_secret is not None,
            key=site.api_key_public if kind == "public" else None,
            made_at=iso(made[kind]) if kind in made else None,
            last_used=_used(uses.get(kind), made.get(kind, 0) if kind != "public" else 0),
        )
        for kind in KEY_KINDS
    ]
    replaced = [ReplacedKey(key, iso(until)) for key, until in site.replaced_keys.items() if until > now_ms]
    return SiteKeyring(keys, replaced)


@get("/settings/schema", guards=[requires_owner], summary="What each setting of a site does")
async def describe_settings(request: Request, own_site: NamedDependency[Site]) -> Response[SettingsSchema]:
    """Type, limits, default and a sentence for each, in groups. The values are in `GET /v1/admin/sites/{site_id}`.
    Sentences and titles are in the language of `Accept-Language`: en, de, fr, es, pt, it, ja, zh, ar or ru, and English
    for any other."""
    words = words_of(request, LOCALES)
    return Response(settings_schema(words), headers=language_headers(words))


def _used(used_ms: int | None, made_ms: int) -> str | None:
    """When a key was last used, unless that was the one before it."""
    return iso(used_ms) if used_ms is not None and used_ms + MINUTE_MS > made_ms else None


router = Router(
    "/admin/sites/{site_id:str}",
    route_handlers=[list_keys, describe_settings],
    dependencies={"own_site": Provide(provide_own_site)},
    tags=["Administration"],
)
