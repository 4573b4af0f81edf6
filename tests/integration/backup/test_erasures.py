"""Whoever had their account deleted does not come back with an older backup, nor does a comment its author deleted."""

import json
import time
from pathlib import Path

import httpx
import pytest
from msgspec.structs import replace
from redis.asyncio import Redis

from tests.folders import quick_folder
from tests.integration.backup.stores import backup_of, do, new_folder, opened, state_of
from tests.integration.comments.test_comments import write
from tests.integration.users.test_profiles import everything
from tests.make import ManualClock
from tests.people import create
from threadkit.app import create_app
from threadkit.backup.erasures import Erasure, ErasureJournal, erase_again
from threadkit.backup.folder import BackupFolder
from threadkit.backup.restoring import RestoreService
from threadkit.backup.service import BackupService
from threadkit.ids import UserId
from threadkit.keyring import Keyring
from threadkit.settings import BackupSettings, Settings
from threadkit.storage.bundled import BundledStore


def test_the_journal_beside_the_backup_is_read_wherever_it_is_put_back() -> None:
    with quick_folder() as parent:
        folder = Path(parent) / "a"
        do("site", "create", "Blog", "blog.example.org", "--data", str(folder))
        do("loadgen", "--site", "Blog", "--comments", "10", "--users", "3", "--votes", "5", "--data", str(folder))
        path = backup_of(folder)
        with opened(folder) as store:
            user_id = next(iter(store.scan_iter("user:????????-????-????-????-????????????"))).decode().split(":")[1]
        gone = {"at_ms": int(time.time() * 1000), "user_id": user_id}
        (path.parent / "erased.jsonl").write_text(json.dumps(gone) + "\n" + '{"cut off')
        target = new_folder(Path(parent), "b", like=folder)
        assert "deleted again" in do("backup", "restore", str(path), "--data", str(target))
        assert not any(user_id.encode() in key for key in state_of(target))


@pytest.fixture
def settings(settings: Settings, tmp_path: Path) -> Settings:
    return replace(settings, backup=BackupSettings(enabled=False, folder=str(tmp_path / "backups")))


async def test_what_was_erased_after_the_backup_is_erased_again(
    redis: Redis, bundled: BundledStore, settings: Settings, keyring: Keyring, clock: ManualClock
) -> None:
    application = create_app(settings, bundled.address, keyring, clock=clock)
    parts = {
        "store": application.services.store,
        "keys": application.services.keys,
        "clock": clock,
        "fingerprint": keyring.fingerprint,
    }
    async with application.lifespan():
        site = await application.services.sites.create("Blog", "blog.example.org")
        transport = httpx.ASGITransport(application, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://comments.test") as http:
            ada = await create(http, site, "ada", "ada@example.org")
            eve = await create(http, site, "eve", "eve@example.org")
            early = await create(http, site, "early", "early@example.org")
            for person in (ada, eve, early):
                await write(person, f"by {person.name}")
            regretted = await write(eve, "regretted")
            await early.call("DELETE", "/v1/users/me")
            clock.advance(seconds=10)
            made = await BackupService(**parts).create(BackupFolder(settings.backup_folder))  # type: ignore[arg-type]
            clock.advance(seconds=10)
            assert (await ada.call("DELETE", "/v1/users/me")).status_code == 200
            assert (await eve.call("DELETE", f"/v1/comments/{regretted['i']}")).status_code == 204
    await redis.flushall()

    again = create_app(settings, bundled.address, keyring, clock=clock).services
    try:
        restore = RestoreService(**parts | {"store": again.store})  # type: ignore[arg-type]
        header = await restore.fill(made.path, new_secret=False, on_progress=lambda *_: None)
        assert ada.id in await everything(redis), "the backup knows of her"
        erased = await erase_again(
            list(again.erasures.journal.since(header.started_ms)),
            users=again.users,
            queries=again.user_queries,
            comments=again.comments,
        )
        checked = await again.rebuild.run(is_check=True)
        await restore.finish()
    finally:
        await again.store.close()
    assert erased == (1, 1)
    assert checked.tallies == []
    traces = await everything(redis)
    assert ada.id not in traces
    assert "ada@example.org" not in traces
    assert "regretted" not in traces
    assert "eve@example.org" in traces
    assert "by ada" in traces, "what she wrote stays, as the setting says"


async def test_a_line_that_a_crash_cut_off_takes_no_other_along(tmp_path: Path) -> None:
    journal = ErasureJournal(tmp_path)
    await journal.note(Erasure(at_ms=1, user_id=UserId("first")))
    with (tmp_path / "erased.jsonl").open("ab") as file:
        file.write(b'{"at_ms":17')
    await journal.note(Erasure(at_ms=2, user_id=UserId("second")))
    assert [erasure.user_id for erasure in journal.since(0)] == ["first", "second"]
