"""`threadkit role`."""

import click

from threadkit.cli.common import (
    find_site,
    find_user,
    json_option,
    out,
    print_json,
    print_table,
    store_options,
    with_services,
)
from threadkit.services import Services
from threadkit.sites.roles import STAFF, Role

_ROLES = click.Choice([role.label for role in STAFF])


@click.group()
def role() -> None:
    """Say who owns, administrates and moderates a site."""


@role.command()
@click.argument("wanted", metavar="SITE")
@click.argument("user")
@click.argument("name", metavar="ROLE", type=_ROLES)
@store_options
@with_services
async def grant(services: Services, wanted: str, user: str, name: str) -> None:
    """Give USER (an id, e-mail address or name) the role owner, admin or moderator on SITE."""
    site = await find_site(services, wanted)
    await services.roles.grant(site.id, (await find_user(services, user)).id, Role[name.upper()])
    out.print(f"{user} is now {name} of {site.name}.")


@role.command()
@click.argument("wanted", metavar="SITE")
@click.argument("user")
@store_options
@with_services
async def revoke(services: Services, wanted: str, user: str) -> None:
    """Take every role on SITE from USER."""
    site = await find_site(services, wanted)
    had_one = await services.roles.revoke(site.id, (await find_user(services, user)).id)
    out.print(f"{user} has no role on {site.name} {'any more' if had_one else 'and had none'}.")


@role.command("list")
@click.argument("wanted", metavar="SITE")
@json_option
@store_options
@with_services
async def list_roles(services: Services, wanted: str, as_json: bool) -> None:
    """List the staff of SITE."""
    site = await find_site(services, wanted)
    staff = await services.roles.staff(site.id)
    names = {user.id: user.name for user in await services.user_queries.by_ids([user_id for user_id, _ in staff])}
    if as_json:
        print_json([{"user_id": user_id, "name": names.get(user_id), "role": held.label} for user_id, held in staff])
        return
    rows = [[names.get(user_id, "–"), user_id, held.label] for user_id, held in staff]
    print_table(["Name", "User", "Role"], rows, empty=f"{site.name} has no staff yet.")
