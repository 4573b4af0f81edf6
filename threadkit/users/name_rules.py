"""May somebody be called this here? What a name looks like by itself is said in `text/names.py`."""

from dataclasses import dataclass

from threadkit.sites.model import Site
from threadkit.sites.queries import SiteQueries
from threadkit.sites.roles import RoleService
from threadkit.text.names import why_unfit
from threadkit.users.model import InvalidUsername, ReservedUsername, check_not_reserved, check_username
from threadkit.users.queries import UserQueries


@dataclass(frozen=True, kw_only=True)
class NameRules:
    queries: UserQueries
    site_queries: SiteQueries
    roles: RoleService

    def check_member(self, name: str, site: Site | None) -> str:
        """Whether it is free is for the registry to say, which takes it in the same step."""
        check_username(name)
        return check_not_reserved(name, also=words_of(site))

    async def check_guest(self, name: str, site: Site) -> None:
        """Guests may be called as others are, whose badge they do not have; but not as anybody who runs a site."""
        if not name:
            return
        if why := why_unfit(name):
            raise InvalidUsername(why=why)
        check_not_reserved(name, also=words_of(site), for_guest=True)
        if (holder := await self.queries.by_looks(name)) is not None:
            sites = await self.site_queries.all()
            if await self.roles.roles_of(holder.id, [one.id for one in sites]):
                raise ReservedUsername


def words_of(site: Site | None) -> tuple[str, ...]:
    """What nobody on a site is called."""
    return (site.name, site.domain) if site else ()
