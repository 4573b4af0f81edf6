"""The backup of the day: once, by one of all servers, made up for when missed, and its failures shown."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from redis.asyncio import Redis

from tests.folders import quick_folder
from tests.integration.backup.stores import do, opened
from tests.integration.server.program import serving
from tests.make import ManualClock
from tests.wait import until
from threadkit.app import Application, create_app
from threadkit.backup.folder import BackupFolder
from threadkit.backup.queries import backup_state
from threadkit.clock import SystemClock
from threadkit.keyring import Keyring
from threadkit.settings import BackupSettings, Settings
from threadkit.storage.bundled import BundledStore

DAY_S = 86_400


@pytest.fixture
def scheduled(settings: Settings, tmp_path: Path) -> Settings:
    # The schedule is looked at by hand here.
    return replace(settings, backup=BackupSettings(enabled=False, keep=3, folder=str(tmp_path / "backups")))


@pytest.fixture
async def app(
    redis: Redis, bundled: BundledStore, scheduled: Settings, keyring: Keyring, clock: ManualClock
) -> AsyncIterator[Application]:
    application = create_app(scheduled, bundled.address, keyring, clock=clock)
    async with application.lifespan():
        yield application


@pytest.fixture
def clock() -> ManualClock:
    """Backups are made in another process, with its own clock."""
    return ManualClock(SystemClock().now_ms())


def made(settings: Settings) -> int:
    return len(BackupFolder(settings.backup_folder).all())


async def test_a_new_store_waits_for_its_first_night_and_then_there_is_one_a_day(
    app: Application, clock: ManualClock, scheduled: Settings, redis: Redis
) -> None:
    schedule = app.services.backups
    await schedule.look()
    assert made(scheduled) == 0
    clock.advance(seconds=DAY_S)
    await schedule.look()
    assert made(scheduled) == 1
    await schedule.look()
    assert made(scheduled) == 1
    state = backup_state(scheduled, clock)
    assert state.newest is not None
    assert state.newest.verified_ms is not None
    assert state.failure is None


async def test_of_several_servers_one_makes_it(
    app: Application,
    bundled: BundledStore,
    scheduled: Settings,
    keyring: Keyring,
    clock: ManualClock,
) -> None:
    other = create_app(scheduled, bundled.address, keyring, clock=clock)
    async with other.lifespan():
        clock.advance(seconds=DAY_S)
        await asyncio.gather(*(each.services.backups.look() for each in (app, other, app, other)))
        await asyncio.gather(*(each.services.backups.look() for each in (app, other)))
    assert made(scheduled) == 1


async def test_a_failure_is_shown_and_tried_again_an_hour_later(
    app: Application, clock: ManualClock, scheduled: Settings, redis: Redis
) -> None:
    folder = BackupFolder(scheduled.backup_folder)
    folder.path.mkdir(exist_ok=True)
    in_the_way = folder.path / "backup.lock"
    in_the_way.mkdir()
    clock.advance(seconds=DAY_S)
    await app.services.backups.look()
    state = backup_state(scheduled, clock)
    assert state.failure is not None
    assert "backup.lock" in state.failure.why
    assert state.age_s is None
    assert state.is_late
    in_the_way.rmdir()
    await app.services.backups.look()
    assert made(scheduled) == 0, "not at once"
    clock.advance(seconds=3601)
    await app.services.backups.look()
    assert made(scheduled) == 1
    assert backup_state(scheduled, clock).failure is None


async def test_a_server_that_runs_looks_by_itself_and_ends_at_once(
    redis: Redis, bundled: BundledStore, scheduled: Settings, keyring: Keyring, clock: ManualClock
) -> None:
    settings = replace(scheduled, backup=replace(scheduled.backup, enabled=True))
    application = create_app(settings, bundled.address, keyring, clock=clock)
    async with application.lifespan():
        assert [task.get_name() for task in asyncio.all_tasks()].count("backups") == 1
    assert [task.get_name() for task in asyncio.all_tasks()].count("backups") == 0


async def test_the_program_makes_up_for_a_missed_one_with_one_of_its_workers() -> None:
    with quick_folder() as parent:
        folder = Path(parent) / "d"
        do("site", "create", "Blog", "blog.example.org", "--data", str(folder))
        with opened(folder) as store:
            store.hset("threadkit:stamp", "created_at", "2026-01-01T00:00:00.000Z")
        with serving(folder, "--workers", "2") as server:
            await until(lambda: "backup_ends" in server.said, "the backup", seconds=50)
            assert server.said.count("backup_begins") == 1
        assert "yes" in do("backup", "list", "--data", str(folder))


async def test_a_clock_that_was_wrong_once_ends_no_backups(
    app: Application, clock: ManualClock, scheduled: Settings, redis: Redis
) -> None:
    schedule, years_ahead = app.services.backups, clock.now_ms() + 400 * DAY_S * 1000
    for field in ("done_ms", "tried_ms"):
        await redis.hset(app.services.keys.shared.backups(), field, years_ahead)
    clock.advance(seconds=DAY_S)
    await schedule.look()
    assert made(scheduled) == 1
    await schedule.look()
    assert made(scheduled) == 1, "one a day"
    clock.advance(seconds=-30 * DAY_S)
    assert backup_state(scheduled, clock).is_late, "one of the future is no newest one"


async def test_what_the_store_refuses_is_told_by_the_doctor(
    app: Application, clock: ManualClock, scheduled: Settings, redis: Redis
) -> None:
    clock.advance(seconds=DAY_S)
    await redis.config_set("maxmemory", 1)
    try:
        await app.services.backups.look()
    finally:
        await redis.config_set("maxmemory", 0)
    failure = backup_state(scheduled, clock).failure
    assert failure is not None
    assert "maxmemory" in failure.why
    await app.services.backups.look()
    assert backup_state(scheduled, clock).failure is None
