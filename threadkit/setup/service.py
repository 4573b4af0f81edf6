"""Makes the first site and hands out the one-time link for its owner."""

import secrets

from threadkit.errors import ApiKeyTaken, SiteTaken
from threadkit.ids import digest
from threadkit.settings import Settings
from threadkit.sites.model import AuthSettings, Site, SiteSettings
from threadkit.sites.queries import SiteQueries
from threadkit.sites.roles import Role, RoleService
from threadkit.sites.service import SiteService
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys

LINK_S = 86_400


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
    ) -> None:
        self._redis = redis
        self._keys = keys
        self._settings = settings
        self._sites = sites
        self._site_queries = site_queries
        self._roles = roles

    async def first_site(self) -> tuple[Site, str | None]:
        """The oldest site, made from the settings if there is none; with its secret key when it was just made."""
        sites = await self._site_queries.all()
        if sites:
            return sites[0], None
        preset = self._settings.site
        # Guests may write on a fresh site: an owner who tries it out should see a comment, not a sign-in form.
        settings = SiteSettings(moderation_mode=preset.moderation_mode, auth=AuthSettings(anonymous=True))
        try:
            new = await self._sites.create(
                preset.name,
                preset.domain,
                settings=settings,
                site_id=preset.id,
                public_key=preset.public_key,
                secret_key=preset.secret_key,
            )
        except (SiteTaken, ApiKeyTaken):  # another server on the same store was quicker
            return (await self._site_queries.all())[0], None
        return new.site, None if preset.secret_key else new.secret_key

    async def has_owner(self, site: Site) -> bool:
        return any(role is Role.OWNER for _, role in await self._roles.staff(site.id))

    async def owner_link(self) -> str:
        """A fresh one-time link; the one before it stops working."""
        token = secrets.token_urlsafe(24)
        await self._redis.set(self._keys.shared.owner_link(), digest(token), ex=LINK_S)
        return f"{self._settings.base_url}/setup?token={token}"
