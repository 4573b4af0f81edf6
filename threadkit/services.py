"""The bundle of services: built once, by `build`, and handed to whoever needs them. What is in it stands in `parts/`."""

import contextlib
import dataclasses
from dataclasses import dataclass

from litestar.types import Scope

from threadkit.clock import Clock
from threadkit.http.client_address import ClientAddresses
from threadkit.keyring import Keyring
from threadkit.moderation.outside.model import OutsideEndpoints
from threadkit.outbox.worker import SERVER_LOOK_S, WORKER_LOOK_S
from threadkit.parts.accounts import Accounts, build_accounts
from threadkit.parts.base import Base, build_base
from threadkit.parts.care import Care, build_care
from threadkit.parts.judging import Judging, build_judging
from threadkit.parts.live import Live, build_live
from threadkit.parts.moderating import Moderating, build_moderating
from threadkit.parts.reading import Reading, build_reading
from threadkit.parts.writing import Writing, build_writing
from threadkit.settings import Settings
from threadkit.storage.client import Store
from threadkit.users.oauth.model import ProviderEndpoints


@dataclass(frozen=True, kw_only=True)
class Services(Base, Accounts, Reading, Judging, Writing, Moderating, Live, Care):
    async def start(self, *, is_worker: bool = False) -> None:
        """What runs beside the requests, or all that `threadkit worker` is for."""
        await self.store_time.start()
        await self.listener.start()
        await self.office.start()
        if is_worker or self.settings.outbox == "in-process":
            await self.outbox.start(look_every_s=WORKER_LOOK_S if is_worker else SERVER_LOOK_S)
        await self.tally.start()
        await self.request_limits.start()
        await self.reranker.start()
        await self.deletions.start()
        if not is_worker:
            await self.hub.start()
            await self.backups.start()
            await self.unfinished.start()
            await self.erasures.start()

    async def stop(self) -> None:
        """In this order, and each whatever became of the others."""
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(self.store.close)
            stack.callback(self.passwords.close)
            stack.push_async_callback(self.outbound.close)
            stack.push_async_callback(self.outside.close)
            for part in (
                *(self.store_time, self.listener, self.office, self.outbox, self.tally, self.request_limits),
                *(self.reranker, self.deletions, self.hub, self.backups, self.unfinished, self.erasures),
            ):
                stack.push_async_callback(part.stop)


def services_of(scope: Scope) -> Services:
    """Those of the application that was asked. Routes and guards are the same for every application of a process."""
    services: Services = scope["state"]["services"]
    return services


async def provide_services(scope: Scope) -> Services:
    return services_of(scope)


async def provide_addresses(scope: Scope) -> ClientAddresses:
    return services_of(scope).addresses


def build(
    settings: Settings,
    keyring: Keyring,
    store: Store,
    *,
    clock: Clock | None = None,
    endpoints: ProviderEndpoints | None = None,
    outside_endpoints: OutsideEndpoints | None = None,
) -> Services:
    base = build_base(settings, keyring, store, clock)
    accounts = build_accounts(base, endpoints or ProviderEndpoints())
    reading = build_reading(base, accounts)
    judging = build_judging(base, accounts, reading, outside_endpoints or OutsideEndpoints())
    writing = build_writing(base, accounts, reading, judging)
    moderating = build_moderating(base, accounts, reading, judging, writing)
    live = build_live(base, accounts, reading)
    care = build_care(base, accounts, reading)
    parts = (base, accounts, reading, judging, writing, moderating, live, care)
    return Services(**{field.name: getattr(part, field.name) for part in parts for field in dataclasses.fields(part)})
