"""`threadkit rebuild`."""

import click

from threadkit.cli.common import (
    find_site,
    json_option,
    out,
    print_json,
    progress_bar,
    store_options,
    with_services,
)
from threadkit.rebuild.model import Report
from threadkit.services import Services


@click.command()
@click.option("--site", "wanted", metavar="SITE", help="Only this site: its id, public key, domain or name.")
@click.option(
    "--check", "is_check", is_flag=True, help="Change nothing, only tell; exit code 1 when something differs."
)
@json_option
@store_options
@with_services
async def rebuild(services: Services, wanted: str | None, is_check: bool, as_json: bool) -> None:
    """Derive every index and counter again from the comments, pages and votes themselves.

    Can run beside the server at any time. Says what it changed; exit code 1 when something is damaged that cannot be
    derived.
    """
    site_id = (await find_site(services, wanted)).id if wanted else None
    with progress_bar(is_silent=as_json) as progress:
        task = progress.add_task("Checking" if is_check else "Rebuilding", total=None)

        def show(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)

        report = await services.rebuild.run(site_id=site_id, is_check=is_check, on_progress=show)
    if as_json:
        print_json({"is_clean": report.is_clean, **_builtins(report)})
    else:
        _print(report)
    if not report.is_clean:
        click.get_current_context().exit(1)


def _builtins(report: Report) -> dict[str, object]:
    return {name: getattr(report, name) for name in report.__struct_fields__}


def _print(report: Report) -> None:
    for tally in report.tallies:
        out.print(tally.sentence(is_check=report.is_check))
    if any(tally.kind.endswith("hot") and tally.what == "score" for tally in report.tallies):
        out.print("Hot scores go stale when a server is killed between a vote and its rank, or the formula changed.")
    looked_at = (
        f"{report.comments:,} comments, {report.pages:,} pages, {report.votes:,} votes, {report.indexes:,} indexes"
    )
    if report.is_clean and not report.tallies:
        out.print(f"Everything agrees: {looked_at}.")
    elif report.is_clean:
        out.print(f"Everything agrees now: {looked_at}, gone through {report.rounds} times.")
    elif report.is_check:
        out.print(f"Not everything agrees: {looked_at}. `threadkit rebuild` puts right what can be.")
    elif not report.is_settled:
        out.print(f"After {report.rounds} rounds there was still something to put right. Run it again.")
    else:
        out.print("What is damaged needs a backup: it cannot be derived from anything else.")
