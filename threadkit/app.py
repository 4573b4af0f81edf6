"""Settings in, application out."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from litestar.enums import ScopeType
from litestar.types import Receive, Scope, Send

from threadkit import logs, text
from threadkit.clock import Clock
from threadkit.comments.fast_lane import PATH, FastLane
from threadkit.http.access_log import AccessLog
from threadkit.http.admission import Admission
from threadkit.http.intake import LEEWAY_BYTES, Intake
from threadkit.http.ledger import Ledger
from threadkit.http.lifespan import serve_lifespan
from threadkit.http.manners import Manners
from threadkit.keyring import Keyring
from threadkit.live.sockets import Sockets
from threadkit.moderation.outside.model import OutsideEndpoints
from threadkit.ratelimit.lane import ReaderLimits
from threadkit.routes import route_table
from threadkit.server.waiting import once_the_store_is_there
from threadkit.services import build
from threadkit.settings import Settings
from threadkit.storage.checks import StoreHealth, check_store
from threadkit.storage.client import Store, StoreAddress
from threadkit.storage.stamp import stamp_store
from threadkit.users.oauth.model import ProviderEndpoints

NOWHERE = "/-"


class Application:
    """The whole server as one ASGI application: manners outside, Litestar within."""

    def __init__(
        self,
        settings: Settings,
        address: StoreAddress,
        keyring: Keyring,
        *,
        clock: Clock | None = None,
        endpoints: ProviderEndpoints | None = None,
        outside_endpoints: OutsideEndpoints | None = None,
    ) -> None:
        self.services = build(
            settings,
            keyring,
            store := Store(address, settings.store, refuses_silence=True),
            clock=clock,
            endpoints=endpoints,
            outside_endpoints=outside_endpoints,
        )
        self.metrics = self.services.metrics
        self.addresses = self.services.addresses
        self.access_log = AccessLog(settings, self.addresses, as_text=logs.writes_text(settings))
        manners = Manners(self._answer, access_log=self.access_log, metrics=self.metrics)
        ledger = Ledger(PATH, tally=self.services.tally, metrics=self.metrics, access_log=self.access_log)
        self.fast_lane = FastLane(
            manners,
            threads=self.services.threads,
            snapshots=self.services.snapshots,
            site_queries=self.services.site_queries,
            clock=self.services.clock,
            ledger=ledger,
            limits=self._reader_limits(),
            pages=self.services.page_rule,
            is_store_quiet=lambda: store.is_quiet,
        )

        self.admission = Admission(
            self.fast_lane, settings=settings.limits, metrics=self.metrics, held_up=lambda: store.held_up
        )
        self.services.outbox.is_server_busy = lambda: self.admission.is_busy
        self.intake = Intake(
            head_s=settings.limits.header_timeout_s,
            body_s=settings.limits.body_timeout_s,
            longest_body=settings.text_limit + LEEWAY_BYTES,
            addresses=self.addresses,
            count_flood=self.metrics.floods.inc,
        )

        self._sockets = Sockets(
            hub=self.services.hub,
            site_queries=self.services.site_queries,
            sessions=self.services.sessions,
            addresses=self.addresses,
            tally=self.services.tally,
            clock=self.services.clock,
            meters=self.services.live_meters,
            settings=settings.live,
            pages=self.services.page_rule,
        )

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == ScopeType.WEBSOCKET:
            await self._sockets(scope, receive, send)
        elif scope["type"] == "lifespan":
            await serve_lifespan(self.lifespan, receive, send)
        else:
            await self.admission(scope, receive, send)

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Everything that lives as long as a worker. Servers come here through ASGI, tests directly."""
        services = self.services
        route_table()  # so that nobody's first request waits for it
        services.health.found_at_start = await once_the_store_is_there(self._find_store)
        await asyncio.to_thread(text.warm_up)
        await services.start()
        try:
            yield
        finally:
            await services.stop()
            self.access_log.flush()

    async def _find_store(self) -> StoreHealth:
        services = self.services
        health = await check_store(services.store, services.keys, services.settings, waits=False)
        await stamp_store(services.store.redis, services.keys, services.keyring, services.clock)
        return health

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["state"]["services"] = self.services
        if "//" in scope["path"]:  # the library would look past it, and one page would have many addresses
            scope["path"] = NOWHERE
        await route_table()(scope, receive, send)

    def _reader_limits(self) -> ReaderLimits | None:
        limits = self.services.request_limits
        return ReaderLimits(limits, addresses=self.addresses, clock=self.services.clock) if limits.is_on else None


def create_app(
    settings: Settings,
    address: StoreAddress,
    keyring: Keyring,
    *,
    clock: Clock | None = None,
    endpoints: ProviderEndpoints | None = None,
    outside_endpoints: OutsideEndpoints | None = None,
) -> Application:
    return Application(
        settings, address, keyring, clock=clock, endpoints=endpoints, outside_endpoints=outside_endpoints
    )
