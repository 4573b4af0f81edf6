"""Ways in and outside services that a site has switched on: can this server do them?"""

from collections.abc import Iterator

from threadkit.doctor.model import Check
from threadkit.doctor.surroundings import About, Surroundings
from threadkit.sites.model import Site
from threadkit.users.ways_in import ways_in

_ways = About("sign_in", "Ways to sign in")
_services = About("services", "Outside services")


async def sign_in(here: Surroundings, site: Site) -> Check:
    missing = list(_ways_not_set_up(here, site))
    offered = ways_in(site, providers=here.providers, oidc_name=here.settings.oidc.name)
    if missing:
        return _ways.bad(
            "Switched on, but not set up: " + ", ".join(name for name, _ in missing) + ".",
            "; ".join(fix for _, fix in missing) + f"; or switch it off: threadkit site set {site.id} auth.NAME=false",
        )
    if not offered:
        return _ways.bad("Nobody can sign in.", f"Switch a way on: threadkit site set {site.id} auth.email=true")
    return _ways.ok(", ".join(method.name for method in offered) + ".")


def _ways_not_set_up(here: Surroundings, site: Site) -> Iterator[tuple[str, str]]:
    auth, settings = site.settings.auth, here.settings
    for name in ("google", "github", "discord"):
        if getattr(auth, name) and name not in here.providers:
            yield name, f"set {name}.client_id and {name}.client_secret"
    if auth.oidc and "oidc" not in here.providers:
        yield "oidc", "set oidc.issuer, oidc.client_id and oidc.client_secret"
    if auth.phone and not settings.sms.account and not here.is_local:
        yield "phone", "set sms.account, sms.password and sms.sender"
    if auth.sso and site.sso_secret is None:
        yield "sso", f"make its secret: threadkit key rotate {site.id} sso"
    for name in ("ethereum", "solana"):
        if getattr(auth, name):
            yield name, f"there is no sign-in with {name}: leave it off"


async def outside_services(here: Surroundings, site: Site) -> Check:
    settings, missing = site.settings, []
    if settings.content_moderation.enabled and not here.settings.moderation_service.enabled:
        missing.append(("content_moderation", "set moderation_service.enabled, .url, .key and .model"))
    if settings.turnstile.enabled and not (here.settings.turnstile.secret and here.settings.turnstile.site_key):
        missing.append(("turnstile", "set turnstile.secret and turnstile.site_key"))
    if settings.akismet.enabled and not settings.akismet.key:
        missing.append(("akismet", f"threadkit site set {site.id} akismet.key=…"))
    if settings.webhook.enabled and not settings.webhook.url:
        missing.append(("webhook", f"threadkit site set {site.id} webhook.url=https://…"))
    if missing:
        return _services.bad(
            "Switched on, but not set up: " + ", ".join(name for name, _ in missing) + ".",
            "; ".join(fix for _, fix in missing),
        )
    return _services.ok("What is switched on is set up.")
