"""Makes the first site and hands out the one-time link for its owner."""

import asyncio
import secrets
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from threadkit.clock import Clock, iso
from threadkit.errors import ApiKeyTaken, NotFound, SiteTaken
from threadkit.ids import SiteId, UserId, digest, new_uuid
from threadkit.settings import Settings
from threadkit.setup.scripts import AddOwnerLink, ClaimFirstSite, UseOwnerLink
from threadkit.sites.model import AuthSettings, Site, SiteSettings
from threadkit.sites.queries import SiteQueries
from threadkit.sites.roles import Role, RoleService
from threadkit.sites.service import SiteService
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.users.model import EmailTaken, User, check_username, normal_email
from threadkit.users.passwords import Passwords, check_password
from threadkit.users.queries import UserQueries
from threadkit.users.registry import UserRegistry

LINK_S = 86_400
# How long another server may take to make the site that it has claimed; one that died will not.
_MAKING_S = 5.0
_LOOK_EVERY_S = 0.05


class LinkUsed(NotFound):
    """This link was used already or is too old. Make a new one on the server: threadkit owner-link"""

    code = "owner_link_used"


class FirstSite(Struct, frozen=True):
    """The first site as its owner wants it; settings by dotted name."""

    name: str
    domain: str
    settings: Mapping[str, Any]


class SetupService:
    def __init__(
        self,
        *,
        redis: Commands,
        keys: Keys,
        settings: Settings,
        sites: SiteService,
        site_queries: SiteQueries,
        roles: RoleService,
        clock: Clock,
        registry: UserRegistry,
        user_queries: UserQueries,
        passwords: Passwords,
    ) -> None:
        self._redis = redis
        self._keys = keys
        self._settings = settings
        self._sites = sites
        self._site_queries = site_queries
        self._roles = roles
        self._clock = clock
        self._registry = registry
        self._user_queries = user_queries
        self._passwords = passwords
        self._claim = ClaimFirstSite(redis, keys)
        self._add_link = AddOwnerLink(redis, keys)
        self._use_link = UseOwnerLink(redis, keys)

    async def first_site(self) -> tuple[Site, str | None]:
        """The oldest site, made from the settings if there is none; with its secret key when it was just made."""
        if sites := await self._site_queries.all():
            return sites[0], None
        wanted = SiteId(self._settings.site.id or new_uuid())
        claimed = await self._claim(wanted, now_ms=self._clock.now_ms())
        if claimed != wanted and (made := await self._made_by_another()):
            return made, None
        return await self._make(claimed)

    async def _made_by_another(self) -> Site | None:
        for _ in range(int(_MAKING_S / _LOOK_EVERY_S)):
            if sites := await self._site_queries.all():
                return sites[0]
            await asyncio.sleep(_LOOK_EVERY_S)
        return None

    async def _make(self, site_id: SiteId) -> tuple[Site, str | None]:
        preset = self._settings.site
        # Guests may write on a fresh site: an owner who tries it out should see a comment, not a sign-in form.
        settings = SiteSettings(
            moderation_mode=preset.moderation_mode, auth=AuthSettings(anonymous=True, password=True)
        )
        try:
            new = await self._sites.create(
                preset.name,
                preset.domain,
                settings=settings,
                site_id=site_id,
                public_key=preset.public_key,
                secret_key=preset.secret_key,
            )
        except (SiteTaken, ApiKeyTaken):  # another server on the same store was quicker
            return (await self._site_queries.all())[0], None
        return new.site, None if preset.secret_key else new.secret_key

    async def has_owner(self, site: Site) -> bool:
        return any(role is Role.OWNER for _, role in await self._roles.staff(site.id))

    async def link_is_good(self, token: str) -> bool:
        stored = str(await self._redis.get(self._keys.shared.owner_link()) or "")
        good = dict(link.split("@") for link in stored.split() if "@" in link)
        return int(good.get(digest(token), 0)) > self._clock.now_ms()

    async def make_owner(self, token: str, *, name: str, email: str, password: str, site: FirstSite) -> User:
        """Use the link up and make its bearer the owner of the first site, set up as they want it.

        The account comes first and the role last, so that a crash in between costs nothing: whoever comes again with
        the same address and password, by this link or by a fresh one, goes on where it ended."""
        if not await self.link_is_good(token):
            raise LinkUsed
        check_username(name)
        address = normal_email(email)
        check_password(password, about=(name, address))
        first, _ = await self.first_site()
        await self._sites.change(first.id, name=site.name, domain=site.domain, settings=site.settings, strict=True)
        user = await self._account(name, address, password)
        if not await self._use_link(digest(token), now_ms=self._clock.now_ms()):
            raise LinkUsed
        await self._roles.grant(first.id, user.id, Role.OWNER)
        return user

    async def _account(self, name: str, address: str, password: str) -> User:
        known = await self._user_queries.by_email(address)
        if known is not None:
            stored = await self._user_queries.password_hash(known.id)
            if stored is None or not await self._passwords.verify(stored, password):
                raise EmailTaken
            return known
        hashed = await self._passwords.hash(password)
        user = User(
            id=UserId(new_uuid()),
            name=name,
            provider="email",
            created_at=iso(self._clock.now_ms()),
            email=address,
            # Whoever can read the server's console is believed about their own address.
            email_verified=True,
            username_set=True,
        )
        user = await self._registry.create(user)
        await self._redis.set(self._keys.user(user.id).password(), hashed)
        return user

    async def owner_link(self, *, beside_others: bool = False) -> str:
        """A fresh one-time link; those before it stop working, unless it is to be good beside them."""
        if not beside_others:
            await self._redis.unlink(self._keys.shared.owner_link())
        token = secrets.token_urlsafe(24)
        await self._add_link(digest(token), now_ms=self._clock.now_ms(), good_for_s=LINK_S)
        return f"{self._settings.base_url}/setup?token={token}"
