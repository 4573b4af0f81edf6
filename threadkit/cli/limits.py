"""`threadkit limits`: who has reached a limit now."""

import click

from threadkit.cli.common import json_option, print_json, print_table, store_options, with_services
from threadkit.clock import iso
from threadkit.services import Services


@click.command()
@json_option
@store_options
@with_services
async def limits(services: Services, as_json: bool) -> None:
    """Show who has to wait because of a limit, and until when. Addresses appear as keyed hashes."""
    sites = await services.site_queries.all()
    found = await services.limit_queries.limited({site.id: site.settings.rate_limits for site in sites})
    if as_json:
        print_json(
            [
                {
                    "what": one.what,
                    "who": one.who,
                    "site_id": one.site_id,
                    "used": one.used,
                    "limit": one.limit,
                    "until": iso(one.until_s * 1000),
                }
                for one in found
            ]
        )
        return
    names = {str(site.id): site.name for site in sites}
    print_table(
        ["what", "who", "site", "used", "limit", "until"],
        [
            [
                one.what,
                one.who,
                names.get(one.site_id or "", "–"),
                str(one.used),
                str(one.limit),
                iso(one.until_s * 1000),
            ]
            for one in found
        ],
        empty="Nobody is limited right now.",
    )
