"""Readers and tallies for the tests of counters."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from redis.asyncio import Redis

from tests.make import ManualClock
from threadkit.clock import Clock
from threadkit.counters.queries import CounterQueries
from threadkit.counters.tally import Tally
from threadkit.counters.visitors import VisitorHashes
from threadkit.http.client_address import ClientAddresses
from threadkit.ids import PageId, SiteId
from threadkit.keyring import Keyring
from threadkit.settings import CounterSettings, StoreTuning
from threadkit.storage.client import Store, StoreAddress
from threadkit.storage.keys import Keys

SITE = SiteId("01a1e1d5-9217-7000-be42-7b27b41a2a52")
PAGE = PageId("5f0c1d2e-0000-5000-8000-aaaaaaaaaaaa")
DAY = "2025-12-06"  # of the manual clock
MONTH = "2025-12"
BROWSER = b"Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0"


def page(number: int) -> PageId:
    return PageId(f"5f0c1d2e-0000-5000-8000-{number:012d}")


async def written(redis: Redis, *page_ids: PageId) -> None:
    """Somebody wrote on these pages, so their views are counted by day."""
    for page_id in page_ids or (PAGE,):
        await redis.hset(f"page:{page_id}", mapping={"site_id": SITE, "url": "https://blog.example.org/"})


class Counting:
    """A tally with everything it needs, as one worker has it."""

    def __init__(self, address: StoreAddress, keyring: Keyring, clock: Clock, settings: CounterSettings) -> None:
        keys = Keys(tagged=address.topology == "cluster")
        self.store = Store(address, StoreTuning(connect_timeout_s=0.5, command_timeout_s=2.0))
        addresses = ClientAddresses(["127.0.0.1"], keyring.derive("client-address"))
        self.tally = Tally(
            redis=self.store.redis,
            keys=keys,
            clock=clock,
            visitors=VisitorHashes(addresses, keyring),
            settings=settings,
        )
        self.queries = CounterQueries(redis=self.store.redis, keys=keys, clock=clock)

    def view(
        self,
        page_id: PageId = PAGE,
        *,
        site_id: SiteId = SITE,
        peer: str = "203.0.113.7",
        agent: bytes = BROWSER,
        headers: dict[bytes, bytes] | None = None,
    ) -> None:
        self.tally.view(site_id, page_id, (peer, 40_000), {b"user-agent": agent} | (headers or {}))

    async def flushed(self) -> None:
        trouble = await self.tally.flush()
        assert trouble is None, trouble


@asynccontextmanager
async def counting(
    address: StoreAddress, keyring: Keyring, clock: Clock | None = None, **settings: object
) -> AsyncIterator[Counting]:
    worker = Counting(address, keyring, clock or ManualClock(), CounterSettings(**settings))  # type: ignore[arg-type]
    try:
        yield worker
    finally:
        await worker.store.close()
