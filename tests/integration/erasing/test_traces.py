"""Somebody deletes their account: the whole store is looked through for them, also after an older backup. THREADKIT_SOAK=1
gives them 1,000 comments. G26, V17."""

import os
import time

import httpx
import pytest
from redis.asyncio import Redis

from tests.integration.comments.agreement import disagreements
from tests.integration.erasing.person import AVATAR, BROWSER, EMAIL, LINK, NAME, WORDS, Ledger, lived
from tests.integration.erasing.traces import every_value, traces
from tests.make import ManualClock
from tests.people import Person
from threadkit.app import Application, create_app
from threadkit.backup.erasures import erase_again
from threadkit.backup.folder import BackupFolder
from threadkit.backup.restoring import RestoreService
from threadkit.backup.service import BackupService
from threadkit.keyring import Keyring
from threadkit.settings import Settings
from threadkit.storage.bundled import BundledStore

COMMENTS = 1000 if os.environ.get("THREADKIT_SOAK") else 40
HERS = [EMAIL, AVATAR, LINK, BROWSER]

pytestmark = pytest.mark.timeout(600)


async def no_trace_of(her: Person, ledger: Ledger, redis: Redis) -> None:
    assert await traces(redis, [her.id, *HERS]) == []
    counted = [f"site:{site.site.id}:filter:tokens" for site in ledger.sites]
    assert await traces(redis, [WORDS], but=counted) == [], "but for how often moderators rejected a word"
    assert await traces(redis, [NAME], but=[f"comment:{ledger.named_in}"]) == [], "but for what others wrote"
    assert await disagreements(redis) == []


async def test_nothing_of_who_left_is_anywhere_in_the_store(
    app: Application, http: httpx.AsyncClient, redis: Redis
) -> None:
    her, ledger = await lived(app, http, comments=COMMENTS)
    assert len(await traces(redis, [her.id, *HERS])) > 100, "she is there before"
    started = time.perf_counter()
    answer = await her.call("DELETE", "/v1/users/me")
    took_s = time.perf_counter() - started
    assert (answer.status_code, answer.json()["comments_deleted"]) == (200, len(ledger.comments)), answer.text
    await app.services.outbox.drain()
    await no_trace_of(her, ledger, redis)
    assert took_s <= 60
    print(
        f"\nG26: {len(ledger.comments)} comments erased in {took_s:.1f} s, no trace in {len(await every_value(redis))} keys"
    )


async def test_an_older_backup_brings_nothing_of_them_back(
    redis: Redis, bundled: BundledStore, settings: Settings, keyring: Keyring, clock: ManualClock
) -> None:
    before = create_app(settings, bundled.address, keyring, clock=clock)
    parts = {"keys": before.services.keys, "clock": clock, "fingerprint": keyring.fingerprint}
    async with before.lifespan():
        transport = httpx.ASGITransport(before, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://comments.test") as http:
            her, ledger = await lived(before, http, comments=COMMENTS)
            backups = BackupService(store=before.services.store, **parts)  # type: ignore[arg-type]
            made = await backups.create(BackupFolder(settings.backup_folder))
            clock.advance(seconds=10)
            assert (await her.call("DELETE", "/v1/users/me")).status_code == 200
    await redis.flushall()

    after = create_app(settings, bundled.address, keyring, clock=clock)
    restore = RestoreService(store=after.services.store, **parts)  # type: ignore[arg-type]
    header = await restore.fill(made.path, new_secret=False, on_progress=lambda *_: None)
    assert len(await traces(redis, [her.id, *HERS])) > 100, "the backup knows of her"
    erased = await erase_again(
        list(after.services.erasures.journal.since(header.started_ms)),
        users=after.services.users,
        queries=after.services.user_queries,
        comments=after.services.comments,
    )
    await restore.finish()
    assert erased.accounts == 1
    async with after.lifespan():
        await after.services.outbox.drain()
        await no_trace_of(her, ledger, redis)
    print(f"\nG26: no trace in {len(await every_value(redis))} keys of an older backup that was put back")
