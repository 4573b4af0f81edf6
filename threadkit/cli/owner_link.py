"""`threadkit owner-link`."""

import click

from threadkit.cli.common import json_option, out, print_json, store_options, with_services
from threadkit.services import Services


@click.command("owner-link")
@json_option
@store_options
@with_services
async def owner_link(services: Services, as_json: bool) -> None:
    """Make a fresh one-time link for an owner of the first site; the link before it stops working."""
    await services.setup.first_site()
    link = await services.setup.owner_link()
    if as_json:
        print_json({"link": link})
    else:
        out.print(link)
