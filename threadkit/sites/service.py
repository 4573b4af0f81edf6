"""What can be done with sites."""

from typing import Any

import msgspec
from msgspec.structs import replace

from threadkit.clock import Clock, iso
from threadkit.errors import ApiKeyTaken, InvalidParameter, SiteNotFound
from threadkit.ids import (
    PUBLIC_KEY_PREFIX,
    SiteId,
    digest,
    key_name,
    new_public_key,
    new_secret_key,
    new_uuid,
    random_text,
)
from threadkit.keyring import Keyring
from threadkit.sites.model import NewSite, Site, SiteSettings, changed_settings, normal_domain
from threadkit.sites.queries import SiteQueries
from threadkit.sites.scripts import SaveSite
from threadkit.storage.claims import Claim
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys

PUBLIC_KEY_GRACE_S = 86_400


class SiteService:
    def __init__(self, *, redis: Commands, keys: Keys, clock: Clock, queries: SiteQueries, keyring: Keyring) -> None:
        self._redis = redis
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
        )
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
        settings: dict[str, Any] | None = None,
    ) -> Site:
        """Change some of a site's fields; `settings` by dotted name, such as `display.default_sort`."""
        site = await self._existing(site_id)
        changed = replace(
            site,
            name=_checked_name(name) if name is not None else site.name,
            domain=_checked_domain(domain) if domain is not None else site.domain,
            settings=_checked_settings(site.settings, settings or {}),
        )
        return await self._save(changed)

    async def rotate_public_key(self, site_id: SiteId, *, grace_s: int = PUBLIC_KEY_GRACE_S) -> Site:
        """A new public key; the old one goes on working for a while, because it stands in people's pages."""
        site = await self._existing(site_id)
        rotated = replace(
            site,
            api_key_public=new_public_key(),
            previous_key_public=site.api_key_public,
            previous_key_until_ms=self._clock.now_ms() + grace_s * 1000,
        )
        await self._claim(rotated.api_key_public, site.id)
        saved = await self._save(rotated)
        if site.previous_key_public:
            await self._redis.unlink(self._keys.shared.api_key_site(site.previous_key_public))
        return saved

    async def rotate_secret_key(self, site_id: SiteId) -> NewSite:
        """A new secret key; the old one is dead at once."""
        site = await self._existing(site_id)
        secret = new_secret_key()
        await self._claim(secret, site.id)
        saved = await self._save(replace(site, api_key_secret=digest(secret)))
        await self._redis.unlink(self._keys.shared.api_key_site(_stored_secret_name(site)))
        return NewSite(saved, secret)

    async def rotate_sso_secret(self, site_id: SiteId) -> str:
        """A new secret with which the site's own server vouches for its users; the old one is dead at once."""
        site = await self._existing(site_id)
        secret = random_text(48)
        await self._save(replace(site, sso_secret=self._keyring.seal("sso", secret)))
        return secret

    async def _existing(self, site_id: SiteId) -> Site:
        site = await self._queries.by_id(site_id)
        if site is None:
            raise SiteNotFound(site=site_id)
        return site

    async def _save(self, site: Site) -> Site:
        saved = replace(site, version=site.version + 1)
        await self._save_site(saved, changed_from=site.version)
        await self._tell(saved)
        return saved

    async def _claim(self, api_key: str, site_id: SiteId) -> None:
        entry = self._keys.shared.api_key_site(key_name(api_key))
        holder = await self._take(entry, site_id)
        if holder != site_id and await self._queries.by_id(SiteId(holder)) is None:
            # Left behind by a creation that never finished.
            holder = await self._take(entry, site_id, instead_of=holder)
        if holder != site_id:
            raise ApiKeyTaken(key=api_key if api_key.startswith(PUBLIC_KEY_PREFIX) else "given as secret key")

    async def _tell(self, site: Site) -> None:
        names = {site.api_key_public, site.previous_key_public, _stored_secret_name(site)} - {None}
        await self._redis.unlink(*(self._keys.shared.api_key(str(name)) for name in names))
        self._queries.forget(site.id, site.version)
        await self._redis.publish(self._keys.shared.site_changes(), f"{site.id} {site.version}")


def _stored_secret_name(site: Site) -> str:
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


def _checked_settings(settings: SiteSettings, changes: dict[str, Any]) -> SiteSettings:
    try:
        return changed_settings(settings, changes)
    except KeyError as error:
        raise InvalidParameter(name=str(error.args[0]), why="there is no such setting of a site") from None
    except msgspec.ValidationError as error:
        raise InvalidParameter(name="settings", why=str(error)) from None
