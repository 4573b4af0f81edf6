"""Puts a backup back into a store made just for this: the only proof that it can be done."""

import tempfile
from pathlib import Path

from msgspec.structs import replace

from threadkit.backup.capture import OnProgress
from threadkit.backup.file import read_header
from threadkit.backup.restoring import RestoreService
from threadkit.clock import SystemClock
from threadkit.rebuild.model import Report
from threadkit.rebuild.service import RebuildService
from threadkit.settings import Settings
from threadkit.sites.queries import SiteQueries
from threadkit.storage.bundled import BundledStore
from threadkit.storage.client import Store
from threadkit.storage.keys import Keys
from threadkit.storage.listener import Listener


async def rehearse(path: Path, settings: Settings, passphrase: str | None, on_progress: OnProgress) -> Report:
    """What `threadkit rebuild --check` says of it there."""
    with tempfile.TemporaryDirectory(prefix="tk-", ignore_cleanup_errors=True) as folder:
        bundled = BundledStore(replace(settings, data=folder))
        bundled.start()
        store = Store(bundled.address, settings.store)
        try:
            keys, clock = Keys(), SystemClock()
            # Nothing is opened with the secret here, so it is enough to know which one it was.
            fingerprint = read_header(path).secret
            restoring = RestoreService(store=store, keys=keys, clock=clock, fingerprint=fingerprint)
            await restoring.fill(path, new_secret=False, passphrase=passphrase, on_progress=on_progress)
            await restoring.finish()
            sites = SiteQueries(redis=store.redis, keys=keys, clock=clock, listener=Listener(store))
            rebuild = RebuildService(store=store, keys=keys, clock=clock, site_queries=sites)
            return await rebuild.run(site_id=None, is_check=True, on_progress=on_progress)
        finally:
            await store.close()
            bundled.stop()
