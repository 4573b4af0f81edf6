"""Ways in and outside services that a site has switched on: can this server do them?"""

from collections.abc import Iterator

from threadkit.doctor.model import Check
from threadkit.doctor.surroundings import Surroundings
from threadkit.sites.model import Site
from threadkit.users.ways_in import Method, ways_in
from threadkit.words import Words


async def sign_in(here: Surroundings, site: Site) -> Check:
    about = here.about("sign_in")
    missing = dict(_ways_not_set_up(here, site))
    if missing:
        code = f"threadkit site set {site.id} auth.NAME=false"
        return about.bad("not_set_up", names=list(missing), steps=here.words.clauses(list(missing.values())), code=code)
    offered = ways_in(site, providers=here.providers, oidc_name=here.settings.oidc.name)
    if not offered:
        return about.bad("nobody", code=f"threadkit site set {site.id} auth.email=true")
    return about.ok("well", ways=[_name(here.words, method) for method in offered])


def _name(words: Words, method: Method) -> str:
    """What others are called, such as Google, is the same everywhere."""
    own = f"sign_in.way_{method.id}"
    return words(own) if own in words else method.name


def _ways_not_set_up(here: Surroundings, site: Site) -> Iterator[tuple[str, str]]:
    """Which ones, and what to do about each."""
    auth, settings, words = site.settings.auth, here.settings, here.words
    for name in ("google", "github", "discord"):
        if getattr(auth, name) and name not in here.providers:
            yield name, words("any.set", names=[f"{name}.client_id", f"{name}.client_secret"])
    if auth.oidc and "oidc" not in here.providers:
        yield "oidc", words("any.set", names=["oidc.issuer", "oidc.client_id", "oidc.client_secret"])
    if auth.phone and not settings.sms.account and not here.is_local:
        yield "phone", words("any.set", names=["sms.account", "sms.password", "sms.sender"])
    if auth.sso and site.sso_secret is None:
        yield "sso", words("sign_in.make_secret", code=f"threadkit key rotate {site.id} sso")
    for name in ("ethereum", "solana"):
        if getattr(auth, name):
            yield name, words("sign_in.leave_off", name=name)


async def outside_services(here: Surroundings, site: Site) -> Check:
    about = here.about("services")
    missing = dict(_services_not_set_up(here, site))
    if missing:
        return about.bad("not_set_up", names=list(missing), steps=here.words.clauses(list(missing.values())))
    return about.ok("well")


def _services_not_set_up(here: Surroundings, site: Site) -> Iterator[tuple[str, str]]:
    own, server, words = site.settings, here.settings, here.words
    if own.content_moderation.enabled and not server.moderation_service.enabled:
        names = [f"moderation_service.{name}" for name in ("enabled", "url", "key", "model")]
        yield "content_moderation", words("any.set", names=names)
    if own.turnstile.enabled and not (server.turnstile.secret and server.turnstile.site_key):
        yield "turnstile", words("any.set", names=["turnstile.secret", "turnstile.site_key"])
    if own.akismet.enabled and not own.akismet.key:
        yield "akismet", words("services.run", code=f"threadkit site set {site.id} akismet.key=…")
    if own.webhook.enabled and not own.webhook.url:
        yield "webhook", words("services.run", code=f"threadkit site set {site.id} webhook.url=https://…")
