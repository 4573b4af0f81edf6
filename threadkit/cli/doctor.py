"""`threadkit doctor`."""

import functools
import os

import click
from redis.exceptions import RedisError
from rich.text import Text

from threadkit.cli.common import fail, json_option, out, print_json, progress_bar, store_options, with_services
from threadkit.doctor.deep.service import DeepReport
from threadkit.doctor.model import Check, Diagnosis, State
from threadkit.doctor.surroundings import LOCALES
from threadkit.services import Services
from threadkit.sites.model import Site
from threadkit.terminal import printable, printable_lines
from threadkit.words import Words

_SIGNS = {
    State.OK: ("ok     ", "green"),
    State.WARNING: ("warning", "yellow"),
    State.BAD: ("bad    ", "red"),
    State.UNKNOWN: ("unknown", "dim"),
}


@click.command()
@click.option("--deep", "is_deep", is_flag=True, help="Hold every key of the store against what it must agree with.")
@click.option("--repair", "is_repair", is_flag=True, help="With --deep: mend what follows from other records.")
@json_option
@store_options
@functools.partial(with_services, on_any_store=True)
async def doctor(services: Services, is_deep: bool, is_repair: bool, as_json: bool) -> None:
    """Look whether everything is set up as it must be, and say how to mend what is not.

    Can run beside the server at any time. Exit code 1 when something is bad; warnings may stay as they are. With --deep
    the data itself is looked at: exit code 0 clean, 1 can be repaired, 2 damaged.
    """
    if is_repair and not is_deep:
        fail("--repair goes with --deep.")
    if is_deep:
        await _look_deep(services, is_repair, as_json)
        return
    found = await services.doctor.examine(await _sites(services), whole_server=True, words=_words())
    if as_json:
        print_json(found)
    else:
        _print(found)
    if not found.is_healthy:
        click.get_current_context().exit(1)


def _words() -> Words:
    """In the language of the terminal, as POSIX names it: de_DE.UTF-8."""
    wanted = (os.environ.get(name) for name in ("LC_ALL", "LC_MESSAGES", "LANG"))
    return LOCALES.words_for(next((name for name in wanted if name), ""))


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
            out.print(Text(f"\n{printable(check.site or '')}", style="bold"))
        _print_check(check)
    counts = found.counts
    words = [f"{counts[state]} {state}" for state in State if counts[state]]
    out.print("\n" + ", ".join(words) + ".")


def _print_check(check: Check) -> None:
    found = printable_lines(check.found)
    out.print(Text.assemble(_SIGNS[check.state], " ", (printable(check.title), "bold"), f": {found}"))
    if check.fix:
        out.print(f"        → {check.fix}")


async def _look_deep(services: Services, is_repair: bool, as_json: bool) -> None:
    with progress_bar(is_silent=as_json) as progress:
        task = progress.add_task("Looking", total=None)

        def show(stage: str, done: int, total: int) -> None:
            progress.update(task, description=stage, completed=done, total=total)

        report = await services.deep_doctor.run(is_repair=is_repair, on_progress=show)
    if as_json:
        print_json({"exit_code": report.exit_code, **{name: getattr(report, name) for name in _FIELDS}})
    else:
        _print_deep(report)
    click.get_current_context().exit(report.exit_code)


_FIELDS = DeepReport.__struct_fields__


def _print_deep(report: DeepReport) -> None:
    for tally in report.found:
        out.print(tally.sentence(is_check=not report.is_repair))
    looked_at = f"{report.keys:,} keys, {report.comments:,} comments, {report.pages:,} pages, {report.votes:,} votes"
    if not report.found:
        out.print(f"Everything agrees: {looked_at}.")
    elif not report.left:
        out.print(f"Everything agrees now: {looked_at}.")
    elif report.is_repair:
        out.print("\nLeft over:")
        for tally in report.left:
            out.print(tally.sentence(is_check=True))
    if report.exit_code == 2:
        out.print("\nWhat cannot be put right needs somebody to look at it, or a backup. Unknown keys are left alone.")
    elif report.exit_code == 1 and not report.is_repair:
        out.print("\nAll of it can be put right: threadkit doctor --deep --repair")
