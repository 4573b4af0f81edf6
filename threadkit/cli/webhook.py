"""`threadkit site webhook-secret`."""

import click

from threadkit.cli.common import find_site, json_option, out, print_json, store_options, with_services
from threadkit.services import Services


@click.command("webhook-secret")
@click.argument("wanted", metavar="SITE")
@json_option
@store_options
@with_services
async def webhook_secret(services: Services, wanted: str, as_json: bool) -> None:
    """Show the secret with which calls to the site's webhook are signed.

    \b
    X-ThreadKit-Signature: t=<seconds>,v1=<hex of HMAC-SHA256(secret, "<seconds>." + body)>
    """
    found = await find_site(services, wanted)
    secret = services.outside.webhook.secret_of(found)
    if as_json:
        print_json({"site_id": found.id, "webhook_secret": secret})
    else:
        out.print(secret)
