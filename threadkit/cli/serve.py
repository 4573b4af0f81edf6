"""`threadkit serve`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.text import Text

from threadkit.cli.common import out, settings_of, store_options

if TYPE_CHECKING:
    from threadkit.server.serve import Welcome


@click.command()
@click.option("--host", metavar="ADDRESS", help="Address to listen on (default: 127.0.0.1).")
@click.option("--port", type=int, help="Port to listen on (default: 8080).")
@click.option("--workers", type=int, help="Processes that answer requests (default: 1).")
@click.option("--log-level", type=click.Choice(["debug", "info", "warning", "error"]), help="How much is logged.")
@click.option("--no-rate-limit", is_flag=True, help="Count no requests, for load tests; sign-in stays limited.")
@click.option("--demo", is_flag=True, help="Show a demo blog under /demo, with sample comments on an empty store.")
@store_options
def serve(config: Path | None, no_rate_limit: bool, demo: bool, **flags: Any) -> None:
    """Start the server (the default command)."""
    flags["demo"] = demo or None
    flags["limits.enabled"] = False if no_rate_limit else None
    from threadkit.server.serve import serve as run_server  # slow to import, and only needed here

    run_server(settings_of({**flags, "config": config}), _greet)


def _greet(welcome: "Welcome") -> None:
    snippet = f'<script async src="{welcome.url}/embed.js" data-project="{welcome.site.api_key_public}"></script>'
    out.print(Text.assemble("\n", ("ThreadKit is ready:", "bold"), f" {welcome.url}\n"))
    for notice in welcome.notices:
        out.print(f"Note: {notice}")
    for risk in welcome.health.risks:
        out.print(f"Can be lost: {risk}")
    out.print(f'Put this where the comments of "{welcome.site.name}" shall appear:')
    out.print(f"  {snippet}\n")
    if welcome.secret_key:
        out.print(f"The site's secret key, shown only this once: {welcome.secret_key}")
        if not out.is_terminal:  # a journal, or the log of a container
            out.print("Whoever can read this output later has it too. A new one: threadkit key rotate SITE secret")
        out.print()
    if welcome.owner_link:
        out.print("Set it up with this link; it works once, within 24 hours:")
        out.print(f"  {welcome.owner_link}\n")
    if welcome.demo_url:
        out.print(f"See it on the pages of a small blog: {welcome.demo_url}\n")
    url = welcome.url
    out.print(f"Moderation: {url}/mod · Administration: {url}/admin · API: {url}/docs\nStop with Ctrl-C\n")
