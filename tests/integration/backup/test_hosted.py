"""Stores that do not tell what changes, or hold nobody back: a backup is made all the same, and says so."""

from pathlib import Path

import pytest
from redis.asyncio import Redis

from tests.integration.backup.stores import do
from threadkit.app import Application
from threadkit.backup.folder import BackupFolder
from threadkit.backup.service import BackupService
from threadkit.ids import new_uuid
from threadkit.keyring import Keyring
from threadkit.settings import Settings
from threadkit.sites.model import NewSite
from threadkit.storage.bundled import BundledStore
from threadkit.storage.client import Store, StoreAddress
from threadkit.storage.keys import Keys


@pytest.mark.parametrize("forbidden", ["client|tracking", "client|pause"])
async def test_a_backup_that_is_not_of_one_moment_is_put_right_by_the_restore(
    forbidden: str,
    app: Application,
    new_site: NewSite,
    bundled: BundledStore,
    redis: Redis,
    settings: Settings,
    keyring: Keyring,
    short_folder: Path,
) -> None:
    rights = ["+@all", f"-{forbidden}"]
    await redis.acl_setuser("hosted", enabled=True, passwords=["+secret"], keys=["*"], channels=["*"], commands=rights)
    address = StoreAddress("standalone", path=bundled.address.path, username="hosted", password="secret")
    keys = app.services.keys.site(new_site.site.id)
    await redis.zadd(keys.page_new(new_uuid()), {new_uuid(): 1})  # what a moment too late looks like
    store = Store(address, settings.store)
    try:
        service = BackupService(store=store, keys=Keys(), clock=app.services.clock, fingerprint=keyring.fingerprint)
        made = await service.create(BackupFolder(short_folder / forbidden.replace("|", "-")))
    finally:
        await store.close()
        await redis.acl_deluser("hosted")
    assert made.header is not None
    assert not made.header.is_one_moment
    target = str(short_folder / f"restored-{forbidden.replace('|', '-')}")
    assert settings.secret is not None
    do("backup", "restore", str(made.path), "--data", target, THREADKIT_SECRET=settings.secret)
    said = do("rebuild", "--check", "--data", target, THREADKIT_SECRET=settings.secret)
    assert said.startswith("Everything agrees"), said
