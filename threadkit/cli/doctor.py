"""`threadkit doctor`."""

import functools

import click
from redis.exceptions import RedisError
from rich.markup import escape

from threadkit.cli.common import json_option, out, print_json, store_options, with_services
from threadkit.doctor.model import Check, Diagnosis, State
from threadkit.services import Services
from threadkit.sites.model import Site

_SIGNS = {
    State.OK: "[green]ok     [/]",
    State.WARNING: "[yellow]warning[/]",
    State.BAD: "[red]bad    [/]",
    State.UNKNOWN: "[dim]unknown[/]",
}


@click.command()
@json_option
@store_options
@functools.partial(with_services, on_any_store=True)
async def doctor(services: Services, as_json: bool) -> None:
    """Look whether everything is set up as it must be, and say how to mend what is not.

    Can run beside the server at any time. Exit code 1 when something is bad; warnings may stay as they are.
    """
    found = await services.doctor.examine(await _sites(services), whole_server=True)
    if as_json:
        print_json(found)
    else:
        _print(found)
    if not found.is_healthy:
        click.get_current_context().exit(1)


async def _sites(services: Services) -> list[Site]:
    try:
        return await services.site_queries.all()
    except (RedisError, OSError):
        return []  # that the store is away is told by the checks


def _print(found: Diagnosis) -> None:
    site_id = None
    for check in found.checks:
        if check.site_id != site_id:
            site_id = check.site_id
            out.print(f"\n[bold]{escape(check.site or '')}[/]")
        _print_check(check)
    counts = found.counts
    words = [f"{counts[state]} {state}" for state in State if counts[state]]
    out.print("\n" + ", ".join(words) + ".")


def _print_check(check: Check) -> None:
    out.print(f"{_SIGNS[check.state]} [bold]{escape(check.title)}[/]: {escape(check.found)}")
    if check.fix:
        out.print(f"        → {escape(check.fix)}")
