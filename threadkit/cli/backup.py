"""`threadkit backup`: make backups, look at them, and put one back."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import click

from threadkit.backup.erasures import ErasedAgain, ErasureJournal, erase_again
from threadkit.backup.file import unlock
from threadkit.backup.folder import BackupFolder, mark_verified
from threadkit.backup.model import WRONG_CLOCK_MS, BackupFailed, FoundBackup, Header
from threadkit.backup.queries import backup_state
from threadkit.backup.rehearsal import rehearse
from threadkit.backup.restoring import RestoreService
from threadkit.backup.service import BackupService, check
from threadkit.cli.common import (
    Sentences,
    fail,
    json_option,
    out,
    print_json,
    print_table,
    progress_bar,
    settings_of,
    store_options,
    with_services,
)
from threadkit.cli.passphrase import passphrase_for, passphrase_for_new, passphrase_option
from threadkit.clock import SystemClock, iso
from threadkit.doctor.deep.names import AllNames
from threadkit.ids import UserId
from threadkit.keyring import open_keyring
from threadkit.rebuild.scan import key_batches
from threadkit.services import Services, build
from threadkit.settings import Settings
from threadkit.storage.bundled import server_is_running, shared_use
from threadkit.storage.checks import check_store
from threadkit.storage.client import Store, parse_url
from threadkit.storage.keys import SiteKeys, UserKeys, entry

_file = click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
Show = Callable[[int, int], None]


class _ListedByDefault(Sentences):
    """`threadkit backup` is `threadkit backup list`."""

    default = "list"


@click.group(cls=_ListedByDefault)
def backup() -> None:
    """Make backups, look at them, and put one back."""


@backup.command()
@click.option("--to", "folder", metavar="FOLDER", type=click.Path(path_type=Path), help="Write it there instead.")
@click.option("--without-secrets", is_flag=True, help="Leave sessions and codes out: people must sign in again.")
@click.option(
    "--encrypt/--no-encrypt", "is_encrypted", default=None, help="With a passphrase, or without (default: as set)."
)
@passphrase_option
@json_option
@store_options
@with_services
async def create(
    services: Services,
    folder: Path | None,
    without_secrets: bool,
    is_encrypted: bool | None,
    passphrase_file: Path | None,
    as_json: bool,
) -> None:
    """Write everything into one file, beside a running server or without one.

    In the usual folder (the setting backup.folder) the oldest ones beyond backup.keep are removed then; in another one
    none is.
    """
    settings = services.settings
    passphrase = passphrase_for_new(settings, passphrase_file, is_encrypted)
    service = BackupService(
        store=services.store,
        keys=services.keys,
        clock=services.clock,
        fingerprint=services.keyring.fingerprint,
    )
    with _progress("Making a backup", is_shown=not as_json) as show:
        made = await service.create(
            BackupFolder(folder or settings.backup_folder),
            keep=None if folder else settings.backup.keep,
            without_secrets=without_secrets,
            passphrase=passphrase,
            on_progress=show,
        )
    if as_json:
        print_json(_facts(made))
        return
    assert made.header is not None  # noqa: S101 - it was read a moment ago
    out.print(f"{made.path}: {_contents(made.header)}, {_size(made.bytes)}, read again and found whole.")
    if not made.header.is_one_moment:
        out.print("The store did not tell what changed meanwhile, so a restore derives all indexes again.")
    if passphrase is not None:
        out.print("Nobody can open it without its passphrase, and neither can you: keep that where no backup is.")
    out.print("Keep the server's secret too, but not beside it: without it nobody stays signed in.")


@backup.command("list")
@click.option("--in", "folder", metavar="FOLDER", type=click.Path(path_type=Path), help="Look there instead.")
@json_option
@store_options
def list_(folder: Path | None, as_json: bool, **flags: Any) -> None:
    """List the backups, newest first (the default)."""
    settings, clock = settings_of(flags).settings, SystemClock()
    backups = BackupFolder(folder or settings.backup_folder).all()
    state = backup_state(settings, clock)
    if as_json:
        print_json([_facts(found) for found in backups])
        return
    rows = [
        [
            found.path.name,
            _span((clock.now_ms() - found.header.started_ms) // 1000) if found.header else "–",
            _size(found.bytes),
            _numbers(found.header)[-1] if found.header else "cannot be read",
            "yes" if found.header and found.header.encryption else "no",
            "yes" if found.verified_ms else "no",
        ]
        for found in backups
    ]
    where = folder or settings.backup_folder
    print_table(
        ["File", "Age", "Size", "Holds", "Encrypted", "Verified"], rows, empty=f"There is no backup in {where} yet."
    )
    if state.failure and not folder:
        out.print(f"\nThe server's last try failed ({iso(state.failure.at_ms)}): {state.failure.why}")


@backup.command()
@_file
@click.option("--deep", is_flag=True, help="Also put it back into a store made just for this, and check every index.")
@passphrase_option
@json_option
@store_options
def verify(file: Path, deep: bool, passphrase_file: Path | None, as_json: bool, **flags: Any) -> None:
    """Read a backup to its end; exit code 1 when it cannot be relied on."""
    settings = settings_of(flags).settings
    passphrase = passphrase_for(file, settings, passphrase_file)
    header = check(file, unlock(file, passphrase))
    if deep:
        with _progress("Putting it back for a try", is_shown=not as_json) as show:
            report = asyncio.run(rehearse(file, settings, passphrase, show))
        if not report.is_clean:
            fail(f"{file} can be put back, but not everything in it agrees: `threadkit rebuild` after a restore.")
    mark_verified(file, header.body_sha256, SystemClock().now_ms())
    if as_json:
        print_json({"file": str(file), "is_whole": True, "rehearsed": deep, "keys": header.keys})
        return
    rehearsed = " It was put back into a store made for this, and everything agrees." if deep else ""
    out.print(f"{file} is whole: {_contents(header)}.{rehearsed}")


@backup.command()
@_file
@click.option("--new-secret", is_flag=True, help="The server's old secret is lost: leave out what only that opens.")
@passphrase_option
@json_option
@store_options
def restore(file: Path, new_secret: bool, passphrase_file: Path | None, as_json: bool, **flags: Any) -> None:
    """Put a backup back into an empty store, with no server running on it.

    After a crash in the middle, run it again: it begins anew. Until it is done no server starts on the store.
    """
    settings = settings_of(flags).settings
    if settings.redis_url is None and server_is_running(settings.data_folder):
        raise BackupFailed(f"A server is running with the data folder {settings.data_folder.resolve()}. Stop it first.")
    passphrase = passphrase_for(file, settings, passphrase_file)
    with _progress("Restoring", is_shown=not as_json) as show:
        header, erased, missing = asyncio.run(_restore(settings, file, passphrase, new_secret, show))
    if as_json:
        print_json(
            {"file": str(file), "keys": header.keys, "erased_again": erased._asdict(), "journals_missing": missing}
        )
        return
    out.print(f"Everything is back, as it was on {iso(header.started_ms)}: {_contents(header)}.")
    if any(erased):
        out.print(
            "What people have deleted since is deleted again: "
            f"accounts: {erased.accounts:,}, comments of others: {erased.comments:,}."
        )
    if missing:
        out.print(
            f"Not found: the erased.jsonl of {', '.join(missing)}. Each server's journal holds what all of them erased, as "
            "long as it ran. If one of these ran on after the one that was read here stopped, put its erased.jsonl "
            "beside the backup and restore once more into an empty store, or what it erased then is back.",
        )
    if new_secret or not header.has_secrets:
        out.print("Everybody has to sign in again.")


async def _restore(
    settings: Settings, file: Path, passphrase: str | None, new_secret: bool, show: Show
) -> tuple[Header, ErasedAgain, list[str]]:
    async with _open_unstamped(settings) as services:
        service = RestoreService(
            store=services.store,
            keys=services.keys,
            clock=services.clock,
            fingerprint=services.keyring.fingerprint,
        )
        header = await service.fill(file, new_secret=new_secret, passphrase=passphrase, on_progress=show)
        if not header.is_one_moment:
            await services.rebuild.run(site_id=None, is_check=False, on_progress=show)
        # Where this server notes them, and where the one that made the backup did.
        folders = {folder.resolve() for folder in (settings.backup_folder, file.parent)}
        noted = [erasure for folder in folders for erasure in ErasureJournal(folder).since(0)]
        is_of_wrong_clock = header.started_ms > services.clock.now_ms() + WRONG_CLOCK_MS
        since_ms = 0 if is_of_wrong_clock else header.started_ms
        erased = await erase_again(
            [erasure for erasure in noted if erasure.at_ms >= since_ms],
            users=services.users,
            queries=services.user_queries,
            comments=services.comments,
        )
        missing = await services.erasures.not_among(noted)
        if new_secret:
            await _drop_sealed_factors(services)
        await service.finish()
    return header, erased, missing


async def _drop_sealed_factors(services: Services) -> None:
    """Codes of an authenticator are made from what only the old secret opens: nobody could come in with them."""
    names = AllNames(services.keys)
    async for batch in key_batches(services.store):
        for name in filter(None, map(names.parse, filter(names.is_ours, batch))):
            if name.of == "user.totp":
                await services.second_step.drop_sealed(UserId(name.parts["user_id"]))


@contextlib.asynccontextmanager
async def _open_unstamped(settings: Settings) -> AsyncIterator[Services]:
    """A store that nothing was put into yet: its stamp comes out of the backup."""
    with contextlib.ExitStack() as stack:
        address = parse_url(settings.redis_url) if settings.redis_url else stack.enter_context(shared_use(settings))
        store = Store(address, settings.store)
        try:
            services = build(settings, open_keyring(settings), store)
            await check_store(store, services.keys, settings)
            yield services
        finally:
            await store.close()


@contextlib.contextmanager
def _progress(what: str, *, is_shown: bool) -> Iterator[Show]:
    with progress_bar(is_silent=not is_shown) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def _facts(found: FoundBackup) -> dict[str, Any]:
    header = found.header
    facts: dict[str, Any] = {"file": str(found.path), "bytes": found.bytes, "is_readable": header is not None}
    if header:
        facts |= {
            "made": iso(header.started_ms),
            "threadkit": header.threadkit,
            "store": header.store,
            "has_secrets": header.has_secrets,
            "is_encrypted": header.encryption is not None,
            "is_one_moment": header.is_one_moment,
            "verified": iso(found.verified_ms) if found.verified_ms else None,
            "keys": header.keys,
            "counts": {kind: count.keys for kind, count in header.counts.items()},
        }
    return facts


def _contents(header: Header) -> str:
    parts = [*_numbers(header), f"{header.keys:,} keys"]
    secrets = "" if header.has_secrets else ", without secrets"
    return ", ".join(parts) + secrets + (", encrypted" if header.encryption else "")


def _numbers(header: Header) -> list[str]:
    named = (
        ("site", "sites", entry(SiteKeys, "config")),
        ("person", "people", entry(UserKeys, "profile")),
        ("comment", "comments", entry(SiteKeys, "comment")),
    )
    numbers = [(header.number_of(kind.pattern), one, many) for one, many, kind in named]
    return [f"{number:,} {one if number == 1 else many}" for number, one, many in numbers]


def _size(size: int) -> str:
    return f"{size / 1e6:,.1f} MB" if size >= 100_000 else f"{size / 1e3:,.0f} KB"


def _span(seconds: int) -> str:
    for name, length in (("days", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length} {name}"
    return f"{max(seconds, 0)} s"
