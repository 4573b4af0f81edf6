"""Who owns, administrates and moderates a site. Contract 4.6."""

from typing import Literal

from litestar.di import NamedDependency, Provide
from litestar.params import FromPath, JSONBody
from msgspec import Struct

from threadkit.clock import iso
from threadkit.errors import WrongShape
from threadkit.http.parameters import as_id
from threadkit.http.routing import Router, delete, get, post
from threadkit.ids import UserId, is_uuid
from threadkit.moderation.log import LogEntry
from threadkit.services import Services
from threadkit.sites.admin_access import provide_actor, provide_own_site, requires_admin_or_key, requires_owner
from threadkit.sites.model import Site
from threadkit.sites.roles import Role
from threadkit.staff.access import requires_recent_proof
from threadkit.users.model import User, UserPublic
from threadkit.users.routes import People


class Appointed(Struct):
    user_id: str


class StaffMember(Struct):
    """`since` is null when the moderation log does not say it any more."""

    user: UserPublic
    role: Literal["owner", "admin", "moderator"]
    since: str | None


class Staff(Struct):
    staff: list[StaffMember]


@get("/staff", guards=[requires_admin_or_key], summary="Everybody with a role on the site")
async def list_staff(own_site: NamedDependency[Site], services: NamedDependency[Services]) -> Staff:
    """The highest role first, and by name."""
    roles = dict(await services.roles.staff(own_site.id))
    users = await services.user_queries.by_ids(roles) if roles else []
    changes = await services.moderation_log.role_changes(own_site.id) if roles else {}
    users.sort(key=lambda user: (-roles[user.id], user.name.casefold()))
    return Staff([_member(user, roles[user.id], changes.get(user.id)) for user in users])


@get("/owners", guards=[requires_owner], summary="Who owns the site")
async def list_owners(own_site: NamedDependency[Site], services: NamedDependency[Services]) -> People:
    return await _people(services, own_site, Role.OWNER)


@post("/owners", status_code=200, guards=[requires_owner, requires_recent_proof], summary="Make somebody an owner")
async def add_owner(
    data: JSONBody[Appointed],
    own_site: NamedDependency[Site],
    actor: NamedDependency[UserId | None],
    services: NamedDependency[Services],
) -> None:
    await _give(services, own_site, data, Role.OWNER, actor)


@delete(
    "/owners/{user_id:str}",
    status_code=200,
    guards=[requires_owner, requires_recent_proof],
    summary="Take ownership from somebody",
)
async def remove_owner(
    user_id: FromPath[str],
    own_site: NamedDependency[Site],
    actor: NamedDependency[UserId | None],
    services: NamedDependency[Services],
) -> None:
    """The last owner stays."""
    await services.roles.take(own_site.id, as_id(UserId, user_id), Role.OWNER, by=actor)


@get("/admins", guards=[requires_owner], summary="Who administrates the site")
async def list_admins(own_site: NamedDependency[Site], services: NamedDependency[Services]) -> People:
    return await _people(services, own_site, Role.ADMIN)


@post("/admins", status_code=200, guards=[requires_owner, requires_recent_proof], summary="Make somebody an admin")
async def add_admin(
    data: JSONBody[Appointed],
    own_site: NamedDependency[Site],
    actor: NamedDependency[UserId | None],
    services: NamedDependency[Services],
) -> None:
    """A moderator who becomes an admin is a moderator no longer."""
    await _give(services, own_site, data, Role.ADMIN, actor)


@delete(
    "/admins/{user_id:str}",
    status_code=200,
    guards=[requires_owner, requires_recent_proof],
    summary="Take an admin's role",
)
async def remove_admin(
    user_id: FromPath[str],
    own_site: NamedDependency[Site],
    actor: NamedDependency[UserId | None],
    services: NamedDependency[Services],
) -> None:
    await services.roles.take(own_site.id, as_id(UserId, user_id), Role.ADMIN, by=actor)


@get("/moderators", guards=[requires_admin_or_key], summary="Who moderates the site")
async def list_moderators(own_site: NamedDependency[Site], services: NamedDependency[Services]) -> People:
    return await _people(services, own_site, Role.MODERATOR)


@post("/moderators", status_code=200, guards=[requires_admin_or_key], summary="Make somebody a moderator")
async def add_moderator(
    data: JSONBody[Appointed],
    own_site: NamedDependency[Site],
    actor: NamedDependency[UserId | None],
    services: NamedDependency[Services],
) -> None:
    """Refused for those who are more already."""
    await _give(services, own_site, data, Role.MODERATOR, actor)


@delete("/moderators/{user_id:str}", status_code=200, guards=[requires_admin_or_key], summary="Take a moderator's role")
async def remove_moderator(
    user_id: FromPath[str],
    own_site: NamedDependency[Site],
    actor: NamedDependency[UserId | None],
    services: NamedDependency[Services],
) -> None:
    await services.roles.take(own_site.id, as_id(UserId, user_id), Role.MODERATOR, by=actor)


def _member(user: User, role: Role, change: LogEntry | None) -> StaffMember:
    is_known = change is not None and change.after == role.label
    return StaffMember(UserPublic.of(user), role.label, iso(change.at_ms) if change and is_known else None)  # type: ignore[arg-type]


async def _people(services: Services, site: Site, role: Role) -> People:
    found = await services.user_queries.by_ids(await services.roles.holders(site.id, role))
    return People([UserPublic.of(user) for user in found])


async def _give(services: Services, site: Site, data: Appointed, role: Role, actor: UserId | None) -> None:
    if not is_uuid(data.user_id):
        raise WrongShape(field="user_id", why="must be a uuid")
    user = await services.users.existing(UserId(data.user_id))
    await services.roles.give(site.id, user.id, role, by=actor)


router = Router(
    "/admin/sites/{site_id:str}",
    route_handlers=[
        list_staff,
        list_owners,
        add_owner,
        remove_owner,
        list_admins,
        add_admin,
        remove_admin,
        list_moderators,
        add_moderator,
        remove_moderator,
    ],
    dependencies={"own_site": Provide(provide_own_site), "actor": Provide(provide_actor)},
    tags=["Administration"],
)
