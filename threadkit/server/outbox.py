"""`threadkit worker`: the outboxes of all sites taken forward by a process that answers no requests."""

import asyncio
import signal

import structlog

from threadkit import logs
from threadkit.dependencies.floors import refuse_known_holes
from threadkit.errors import CannotStart
from threadkit.keyring import open_keyring
from threadkit.server.worker import store_address
from threadkit.services import build
from threadkit.settings import Loaded, Settings
from threadkit.storage.bundled import refuse_without_data, server_is_running
from threadkit.storage.checks import check_store
from threadkit.storage.client import Store
from threadkit.storage.stamp import stamp_store

log = structlog.get_logger()


def work(loaded: Loaded) -> None:
    """Run until told to stop."""
    settings = loaded.settings
    logs.configure(settings)
    refuse_known_holes()
    refuse_without_data(settings)
    # A worker that started the bundled store would keep the server from starting.
    if settings.redis_url is None and not server_is_running(settings.data_folder):
        raise CannotStart(
            f"No server is running with the data folder {settings.data_folder.resolve()}. "
            "Start `threadkit serve` first, or name a store of your own with --redis-url."
        )
    asyncio.run(_work(settings))


async def _work(settings: Settings) -> None:
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    address = store_address(settings)
    services = build(settings, open_keyring(settings), Store(address, settings.store, refuses_silence=True))
    try:
        await check_store(services.store, services.keys, settings)
        await stamp_store(services.store.redis, services.keys, services.keyring, services.clock)
        await services.start(is_worker=True)
        log.info("outbox_worker_started", store=str(address))
        await stopping.wait()
    finally:
        await services.stop()
    log.info("outbox_worker_stopped")
