"""`threadkit site usage`."""

import click

from threadkit.cli.common import find_site, json_option, print_json, print_table, store_options, with_services
from threadkit.counters.model import MOST_MONTHS
from threadkit.services import Services


@click.command()
@click.argument("wanted", metavar="SITE")
@click.option(
    "--months",
    type=click.IntRange(1, MOST_MONTHS),
    default=3,
    show_default=True,
    help="How many months, this one included; usage is kept for 90 days.",
)
@json_option
@store_options
@with_services
async def usage(services: Services, wanted: str, months: int, as_json: bool) -> None:
    """Show how much SITE was used, by month."""
    site = await find_site(services, wanted)
    found = await services.counter_queries.usage(site.id, months=months)
    if as_json:
        print_json({"site_id": site.id, "months": found})
        return
    rows = [
        [
            each.month,
            *map(str, (each.pageviews, each.visitors, each.comments, each.api_requests, each.websocket_connections)),
        ]
        for each in found
    ]
    print_table(["Month", "Page views", "Visitors", "Comments", "API requests", "Live connections"], rows, empty="")
