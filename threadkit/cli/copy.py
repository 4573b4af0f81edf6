"""`threadkit copy`."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import click

from threadkit.cli.common import json_option, out, print_json, progress_bar, settings_of, store_options
from threadkit.clock import SystemClock
from threadkit.copying.agreement import check_agreement
from threadkit.copying.model import CopyFailed, CopyReport
from threadkit.copying.service import CopyService, OnProgress
from threadkit.copying.side import open_side
from threadkit.rebuild.model import Report
from threadkit.settings import Settings
from threadkit.storage.bundled import server_is_running, shared_use
from threadkit.storage.checks import check_store
from threadkit.storage.client import Store, parse_url
from threadkit.storage.room import JOURNAL


@click.command()
@click.option("--from", "source", metavar="URL", help="The store to copy (default: the one of the settings).")
@click.option("--to", "target", metavar="URL", help="The empty store to copy into (default: the one of the settings).")
@click.option("--from-prefix", metavar="TEXT", help="What keys begin with there (default: the setting key_prefix).")
@click.option("--to-prefix", metavar="TEXT", help="What keys begin with there (default: the setting key_prefix).")
@json_option
@store_options
def copy(
    source: str | None,
    target: str | None,
    from_prefix: str | None,
    to_prefix: str | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """Copy everything into another store: single, Sentinel or cluster, in any direction.

    No server may run on either. Afterwards both are compared, value by value, and every index of the copy is checked. When
    it was interrupted, run it again: it goes on. Until it is done no server starts on the copy. The source is only read.
    """
    if source is None and target is None:
        raise click.UsageError("Say which store to copy into (--to URL), or which one to copy (--from URL).")
    sides = (_side_of(flags, source, from_prefix), _side_of(flags, target, to_prefix))
    with progress_bar(is_silent=as_json) as progress:
        task = progress.add_task("Copying", total=None)

        def show(stage: str, done: int, total: int) -> None:
            progress.update(task, description=stage, completed=done, total=total)

        report, agreement = asyncio.run(_copy(*sides, show))
    if as_json:
        print_json({**{name: getattr(report, name) for name in report.__struct_fields__}, "agreement": agreement})
    else:
        _print(report, agreement)


async def _copy(source: Settings, target: Settings, show: OnProgress) -> tuple[CopyReport, Report]:
    if (source.redis_url, source.key_prefix) == (target.redis_url, target.key_prefix):
        raise CopyFailed("Both are the same store.")
    if source.redis_url is None and not (source.data_folder / JOURNAL).exists():
        raise CopyFailed(
            f"There is no data of ThreadKit in {source.data_folder.absolute()}. Name its folder with --data."
        )
    clock = SystemClock()
    async with (
        _opened(source) as from_store,
        _opened(target) as to_store,
        open_side(from_store, source.key_prefix) as from_side,
        open_side(to_store, target.key_prefix) as to_side,
    ):
        await check_store(to_store, to_side.keys, target)
        service = CopyService(source=from_side, target=to_side, clock=clock)
        report = await service.fill(show)
        agreement = await check_agreement(from_side, to_side, clock=clock, on_progress=show)
        await service.finish()
    return report, agreement


def _side_of(flags: dict[str, Any], url: str | None, prefix: str | None) -> Settings:
    """The settings with which a server would use this store."""
    given = {"redis_url": url, "key_prefix": prefix}
    side = settings_of(flags | {name: value for name, value in given.items() if value is not None}).settings
    if side.redis_url is None and server_is_running(side.data_folder):
        raise CopyFailed(f"A server is running with the data folder {side.data_folder.resolve()}. Stop it first.")
    return side


@contextlib.asynccontextmanager
async def _opened(settings: Settings) -> AsyncIterator[Store]:
    with contextlib.ExitStack() as stack:
        address = parse_url(settings.redis_url) if settings.redis_url else stack.enter_context(shared_use(settings))
        store = Store(address, settings.store)
        try:
            yield store
        finally:
            await store.close()


def _print(report: CopyReport, agreement: Report) -> None:
    went_on = " It went on where it had stopped." if report.is_resumed else ""
    out.print(f"Everything is there, and the same: {report.keys:,} keys.{went_on}")
    if report.left_behind:
        out.print("Left behind, because nothing in the store says whose it is:")
        for left in report.left_behind:
            out.print(f"  {left}")
    if report.unknown:
        out.print(f"Not ThreadKit's, and left alone: {report.unknown:,} keys.")
    looked_at = f"{agreement.comments:,} comments, {agreement.pages:,} pages, {agreement.votes:,} votes"
    if agreement.tallies:
        for tally in agreement.tallies:
            out.print(tally.sentence(is_check=True))
        out.print("That is so in the source too. `threadkit rebuild` on the copy puts right what can be.")
    else:
        out.print(f"Every index of the copy agrees: {looked_at}.")
    out.print("Start ThreadKit on it with the same server secret as before.")
