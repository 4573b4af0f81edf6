"""What can be done with sites."""

import contextlib
import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from threadkit.clock import Clock, iso
from threadkit.counters.model import KeyKind
from threadkit.errors import ApiKeyTaken, Conflict, InvalidParameter, SiteChanged, SiteNotFound, WrongShape
from threadkit.http.outbound import Outbound, OutboundRefused
from threadkit.ids import (
    PUBLIC_KEY_PREFIX,
    SiteId,
    UserId,
    digest,
    is_uuid,
    key_name,
    new_public_key,
    new_secret_key,
    new_uuid,
    random_text,
    uuid_ms,
)
from threadkit.keyring import Keyring
from threadkit.sites.model import (
    NewSite,
    Site,
    SiteSettings,
    changed_settings,
    dotted,
    is_origin_pattern,
    normal_domain,
    without_secrets,
)
from threadkit.sites.queries import SiteQueries
from threadkit.sites.scripts import SaveSite
from threadkit.storage.claims import Claim
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys

PUBLIC_KEY_GRACE_S = 86_400
MOST_TRIES = 20
BEING_MADE_MS = 60_000
MOST_REPLACED_KEYS = 5
LONGEST_NOTED = 200


class SiteIsBeingDeleted(Conflict):
    """The site {site} is being deleted. `threadkit site delete {site}` waits for the end of it."""

    code = "site_is_being_deleted"


class TooManyKeysInGrace(Conflict):
    """{most} old public keys still work, and another would end one of them too soon. Wait until {until}."""

    code = "too_many_keys_in_grace"


class SiteService:
    def __init__(
        self, *, redis: Commands, keys: Keys, clock: Clock, queries: SiteQueries, keyring: Keyring, outbound: Outbound
    ) -> None:
        self._redis = redis
        self._outbound = outbound
        self._keyring = keyring
        self._keys = keys
        self._clock = clock
        self._queries = queries
        self._save_site = SaveSite(redis, keys)
        self._take = Claim(redis)

    async def create(
        self,
        name: str,
        domain: str,
        *,
        settings: SiteSettings | None = None,
        site_id: str | None = None,
        public_key: str | None = None,
        secret_key: str | None = None,
    ) -> NewSite:
        secret = secret_key or new_secret_key()
        site = Site(
            id=SiteId(site_id or new_uuid()),
            name=_checked_name(name),
            domain=_checked_domain(domain),
            api_key_public=public_key or new_public_key(),
            api_key_secret=digest(secret),
            created_at=iso(self._clock.now_ms()),
            settings=settings or SiteSettings(),
            keys_made={"public": self._clock.now_ms(), "secret": self._clock.now_ms()},
        )
        if await self._redis.hexists(self._keys.shared.deleting(), site.id):
            raise SiteIsBeingDeleted(site=site.id)
        # Keys first: a key that leads to no site opens nothing, so a crash in between leaves nothing to misuse.
        await self._claim(site.api_key_public, site.id)
        await self._claim(secret, site.id)
        await self._save_site(site, changed_from=0)
        await self._redis.zadd(self._keys.shared.sites(), {site.id: self._clock.now_ms()})
        await self._tell(site)
        return NewSite(site, secret)

    async def change(
        self,
        site_id: SiteId,
        *,
        name: str | None = None,
        domain: str | None = None,
        settings: Mapping[str, Any] | None = None,
        strict: bool = False,
        only_version: int | None = None,
        by: UserId | None = None,
    ) -> Site:
        """Change some of a site's fields; `settings` by dotted name, such as `display.default_sort`.

        Two who change different fields at once both get their way. Whoever names the version they looked at changes
        that one or nothing."""
        for _ in range(MOST_TRIES):
            site = await self._existing(site_id)
            if only_version not in (None, site.version):
                break
            changed = replace(
                site,
                name=_checked_name(name) if name is not None else site.name,
                domain=_checked_domain(domain) if domain is not None else site.domain,
                settings=_checked_settings(site.settings, settings or {}, strict=strict),
            )
            if changed == site:
                return site
            if changed.settings.webhook.url != site.settings.webhook.url:
                await self._refuse_inside(changed.settings.webhook.url)
            with contextlib.suppress(SiteChanged):  # read again, and put these changes on top of the others'
                return await self._save(changed, self._entry("site_settings", by, site, changed))
        raise SiteChanged

    async def _refuse_inside(self, url: str) -> None:
        try:
            if url:
                await self._outbound.refuse_inside(url)
        except OutboundRefused as error:
            raise _wrong("webhook.url", f"this address is not called: {error.reason}") from None

    def checked(self, settings: SiteSettings, changes: Mapping[str, Any]) -> SiteSettings:
        """The settings with some of them changed, or an error that names the one that cannot be."""
        return _checked_settings(settings, changes, strict=True)

    async def rotate_public_key(
        self, site_id: SiteId, *, grace_s: int = PUBLIC_KEY_GRACE_S, by: UserId | None = None
    ) -> Site:
        """A new public key; the old one goes on working for a while, because it stands in people's pages. So do those
        from before, each for as long as it was told."""
        site = await self._existing(site_id)
        now_ms = self._clock.now_ms()
        older = {key: until_ms for key, until_ms in site.replaced_keys.items() if until_ms > now_ms}
        if len(older) >= MOST_REPLACED_KEYS:
            raise TooManyKeysInGrace(most=MOST_REPLACED_KEYS, until=iso(min(older.values())))
        rotated = replace(
            site,
            api_key_public=new_public_key(),
            previous_key_public=site.api_key_public,
            previous_key_until_ms=now_ms + grace_s * 1000,
            older_keys=older or None,
            keys_made=self._made_now(site, "public"),
        )
        await self._claim(rotated.api_key_public, site.id)
        entry = self._entry("rotate_public_key", by, site, rotated)
        saved = await self._save_with(rotated, rotated.api_key_public, entry)
        for key in site.replaced_keys.keys() - older.keys():
            await self._redis.unlink(self._keys.shared.api_key_site(key))
        return saved

    async def rotate_secret_key(self, site_id: SiteId, *, by: UserId | None = None) -> NewSite:
        """A new secret key; the old one is dead at once."""
        site = await self._existing(site_id)
        secret = new_secret_key()
        await self._claim(secret, site.id)
        entry = self._entry("rotate_secret_key", by, site, site)
        rotated = replace(site, api_key_secret=digest(secret), keys_made=self._made_now(site, "secret"))
        saved = await self._save_with(rotated, secret, entry)
        await self._redis.unlink(self._keys.shared.api_key_site(stored_secret_name(site)))
        return NewSite(saved, secret)

    async def rotate_sso_secret(self, site_id: SiteId, *, by: UserId | None = None) -> str:
        """A new secret with which the site's own server vouches for its users; the old one is dead at once."""
        site = await self._existing(site_id)
        secret = random_text(48)
        sealed = replace(site, sso_secret=self._keyring.seal("sso", secret), keys_made=self._made_now(site, "sso"))
        await self._save(sealed, self._entry("rotate_sso_secret", by, site, sealed))
        return secret

    def _made_now(self, site: Site, kind: KeyKind) -> dict[str, int]:
        return (site.keys_made or {}) | {kind: self._clock.now_ms()}

    async def _existing(self, site_id: SiteId) -> Site:
        site = await self._queries.by_id(site_id)
        if site is None:
            raise SiteNotFound(site=site_id)
        return site

    async def _save(self, site: Site, entry: dict[str, Any]) -> Site:
        saved = replace(site, version=site.version + 1)
        await self._save_site(saved, changed_from=site.version, entry=entry)
        await self._tell(saved)
        return saved

    async def _save_with(self, site: Site, api_key: str, entry: dict[str, Any]) -> Site:
        """Save a site with a key just claimed for it, or give the key up again."""
        try:
            return await self._save(site, entry)
        except SiteChanged:
            await self._redis.unlink(self._keys.shared.api_key_site(key_name(api_key)))
            raise

    def _entry(self, action: str, by: UserId | None, before: Site, after: Site) -> dict[str, Any]:
        """For the moderation log: what was changed, and never a secret."""
        was, now = _told(before), _told(after)
        names = [name for name in was.keys() | now.keys() if was.get(name) != now.get(name)]
        facts: dict[str, Any] = {"site_id": before.id, "action": action, "by": by, "at_ms": self._clock.now_ms()}
        if names:
            facts |= {"before": _as_text(was, names), "after": _as_text(now, names)}
        return facts

    async def _claim(self, api_key: str, site_id: SiteId) -> None:
        entry = self._keys.shared.api_key_site(key_name(api_key))
        holder = await self._take(entry, site_id)
        if holder != site_id and not _is_fresh(holder) and await self._queries.by_id(SiteId(holder)) is None:
            # Left behind by a creation that never finished.
            holder = await self._take(entry, site_id, instead_of=holder)
        if holder != site_id:
            raise ApiKeyTaken(key=api_key if api_key.startswith(PUBLIC_KEY_PREFIX) else "given as secret key")

    async def _tell(self, site: Site) -> None:
        names = {site.api_key_public, *site.replaced_keys, stored_secret_name(site)}
        await self._redis.unlink(*(self._keys.shared.api_key(name) for name in names))
        self._queries.forget(site.id, site.version)
        await self._redis.publish(self._keys.shared.site_changes(), f"{site.id} {site.version}")


def _told(site: Site) -> dict[str, object]:
    """What the log may tell of a site, by dotted name."""
    facts = {"name": site.name, "domain": site.domain, "api_key_public": site.api_key_public}
    return facts | dotted(msgspec.to_builtins(without_secrets(site.settings)))


def _as_text(told: Mapping[str, object], names: Iterable[str]) -> str:
    text = {name: msgspec.json.encode(told.get(name)).decode()[:LONGEST_NOTED] for name in sorted(names)}
    return ", ".join(f"{name}={value}" for name, value in text.items())


def _is_fresh(site_id: str) -> bool:
    """Whether a site may just be being made: its record comes after its keys."""
    return is_uuid(site_id) and 0 <= uuid_ms(new_uuid()) - uuid_ms(site_id) < BEING_MADE_MS


def stored_secret_name(site: Site) -> str:
    """The name under which the secret key of a stored site is found; the key itself is not known any more."""
    return "tk_sec_" + site.api_key_secret[:40]


def _checked_name(name: str) -> str:
    name = " ".join(name.split())
    if not 1 <= len(name) <= 100 or not name.isprintable():
        raise InvalidParameter(name="name", why="must have 1 to 100 printable characters")
    return name


def _checked_domain(domain: str) -> str:
    normal = normal_domain(domain)
    if normal is None or len(normal) > 253:
        raise InvalidParameter(name="domain", why=f"{domain!r} is not a host name such as blog.example.org")
    return normal


_AT = re.compile(r"^(?P<why>.*) - at `\$\.(?P<field>[^`]+)`$", re.DOTALL)


def _checked_settings(settings: SiteSettings, changes: Mapping[str, Any], *, strict: bool) -> SiteSettings:
    try:
        changed = changed_settings(settings, changes, strict=strict)
    except KeyError as error:
        raise _wrong(str(error.args[0]), "there is no such setting of a site") from None
    except msgspec.ValidationError as error:
        found = _AT.match(str(error))
        raise _wrong(found["field"] if found else "settings", found["why"] if found else str(error)) from None
    for entry in changed.allowed_origins if "allowed_origins" in changes else ():
        if not is_origin_pattern(entry):
            raise _wrong("allowed_origins", f"{entry!r} is not a host name such as www.example.org or *.example.org")
    return changed


def _wrong(field: str, why: str) -> WrongShape:
    return WrongShape(field=field[:100], why=why[:500])
