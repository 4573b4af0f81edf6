"""`threadkit serve`: store, first site, workers, and all of it down again."""

import asyncio
import contextlib
import functools
import signal
import socket
import sys
from dataclasses import dataclass
from typing import Any

import structlog
import uvicorn

from threadkit import logs
from threadkit.app import create_app
from threadkit.backup.passphrase import passphrase_of
from threadkit.dependencies.floors import refuse_known_holes
from threadkit.errors import CannotStart
from threadkit.keyring import Keyring, open_keyring
from threadkit.live.protocol import LiveProtocol
from threadkit.server.protocol import ReadersProtocol
from threadkit.server.worker import create, settle_memory, store_address
from threadkit.server.workers import Workers, shared_meters
from threadkit.services import build
from threadkit.settings import Loaded, Settings
from threadkit.sites.model import Site
from threadkit.storage.bundled import BundledStore, claim_server, prepare_folder
from threadkit.storage.checks import StoreHealth, check_store
from threadkit.storage.client import Store
from threadkit.storage.stamp import stamp_store
from threadkit.web.sample import SampleThreads

if sys.platform != "win32":
    import resource

log = structlog.get_logger()

GRACEFUL_S = 10
MOST_FILES = 65_536


@dataclass(frozen=True)
class Welcome:
    """What the owner is told once the server is up."""

    url: str
    site: Site
    secret_key: str | None
    owner_link: str | None
    health: StoreHealth
    notices: list[str]
    demo_url: str | None = None


def serve(loaded: Loaded, greet: Any) -> None:
    """Run until told to stop. `greet` is called with a Welcome as soon as requests are answered."""
    settings = loaded.settings
    logs.configure(settings)
    refuse_known_holes()
    passphrase_of(settings.backup)  # one that cannot be read is told now, and not in the night
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _stop)
    _allow_many_connections()
    with contextlib.ExitStack() as stack:
        listening = stack.enter_context(_listening_socket(settings))
        prepare_folder(settings.data_folder)
        keyring = open_keyring(settings)
        store: BundledStore | None = None
        if settings.redis_url is None:
            stack.enter_context(claim_server(settings.data_folder))
            store = BundledStore(settings)
            stack.callback(store.stop)
            store.start()
        site, secret_key, owner_link, health = asyncio.run(_prepare(settings, keyring))
        if store:
            store.watch_room()
        demo_url = f"{settings.base_url}/demo" if settings.demo else None
        greet(Welcome(settings.base_url, site, secret_key, owner_link, health, loaded.notices, demo_url))
        if settings.workers == 1:
            app = create_app(settings, store_address(settings), keyring)
            settle_memory()
            uvicorn.Server(uvicorn_config(settings, app)).run(sockets=[listening])
        else:
            stack.enter_context(shared_meters())
            config = uvicorn_config(settings, functools.partial(create, settings), factory=True)
            Workers(config, sockets=[listening]).run()


async def _prepare(settings: Settings, keyring: Keyring) -> tuple[Site, str | None, str | None, StoreHealth]:
    """What must be true before the first request: a store we trust, its stamp, a site, a way in for its owner."""
    store = Store(store_address(settings), settings.store)
    try:
        services = build(settings, keyring, store)
        health = await check_store(store, services.keys, settings)
        await stamp_store(store.redis, services.keys, keyring, services.clock)
        site, secret_key = await services.setup.first_site()
        if settings.demo:
            await SampleThreads(services).fill(site)
        has_owner = await services.setup.has_owner(site)
        owner_link = None if has_owner else await services.setup.owner_link(beside_others=True)
        return site, secret_key, owner_link, health
    finally:
        await store.close()


def _listening_socket(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # Where uvloop is not to be had, small answers would wait for the client's confirmation, 40 ms each, if the protocol
    # were not named: asyncio looks there before it sends at once.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
        listening.listen(2048)
    except OSError as error:
        listening.close()
        where = f"{settings.host}:{settings.port}"
        raise CannotStart(
            f"Cannot listen on {where}: {error.strerror or error}. Is another program using the port? Choose one with --port."
        ) from error
    listening.set_inheritable(True)
    return listening


def _allow_many_connections() -> None:
    """A socket is an open file, and many systems allow a process a thousand unless it asks for more."""
    if sys.platform == "win32":
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def uvicorn_config(settings: Settings, app: Any, *, factory: bool = False) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        factory=factory,
        host=settings.host,
        port=settings.port,
        workers=settings.workers,
        http=ReadersProtocol,
        loop="uvloop" if sys.platform != "win32" else "asyncio",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # ours trusts only the proxies of the settings
        # On a busy machine a fresh worker takes its time; a restart must not be given up for that.
        timeout_worker_healthcheck=30,
        ws=LiveProtocol,
        ws_max_size=16 * 1024,
        ws_ping_interval=25,
        ws_ping_timeout=25,
        ws_per_message_deflate=False,  # a frame goes to many sockets as it is
        timeout_keep_alive=75,
        timeout_graceful_shutdown=GRACEFUL_S,
    )


def _stop(_number: int, _frame: Any) -> None:
    raise SystemExit(0)
