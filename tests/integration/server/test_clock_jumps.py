"""Machines whose clock is wrong or jumps: what is written then stands where it was written."""

import time
from collections.abc import AsyncIterator
from typing import Any
from unittest.mock import AsyncMock

import pytest
from redis.asyncio import Redis

from tests.integration.comments.test_comments import outline, read, write
from tests.people import create
from tests.wait import until
from threadkit.app import Application, create_app
from threadkit.clock import SystemClock, from_iso
from threadkit.ids import new_uuid, uuid_ms
from threadkit.keyring import Keyring
from threadkit.settings import Settings
from threadkit.sites.model import NewSite
from threadkit.storage import store_time
from threadkit.storage.bundled import BundledStore

TWO_HOURS_S = 7200
MOST_AHEAD_MS = 2000
_time_ns = time.time_ns


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> "Machine":
    monkeypatch.setattr(SystemClock, "_since_ns", SystemClock._since_ns)  # as it was, afterwards
    return Machine(monkeypatch)


class Machine:
    """The clock of the machine a server runs on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def jumps(self, seconds: int) -> None:
        """From its right time, while the server runs."""
        self._monkeypatch.setattr(time, "time_ns", lambda: _time_ns() + seconds * 10**9)

    def was_wrong(self, seconds: int) -> None:
        """When the server started."""
        SystemClock.correct(seconds * 1000)


@pytest.fixture
async def app(
    request: pytest.FixtureRequest,
    machine: Machine,
    redis: Redis,
    bundled: BundledStore,
    settings: Settings,
    keyring: Keyring,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[Application]:
    monkeypatch.setattr(store_time, "LOOK_EVERY_S", 0.01)
    machine.was_wrong(getattr(request, "param", 0))
    application = create_app(settings, bundled.address, keyring)
    async with application.lifespan():
        yield application


async def test_a_clock_that_jumps_ahead_and_back_pins_nothing_on_top(
    app: Application, http: Any, new_site: NewSite, machine: Machine
) -> None:
    ada = await create(http, new_site, "ada")
    machine.jumps(TWO_HOURS_S)
    await write(ada, "early")
    early_id = new_uuid()
    machine.jumps(0)
    await write(ada, "late")
    for sort in ("new", "hot"):
        thread = await read(http, new_site, sort=sort)
        assert outline(thread) == ["late", "early"], sort
    assert uuid_ms(early_id) <= uuid_ms(new_uuid())
    assert uuid_ms(early_id) < _time_ns() // 10**6 + MOST_AHEAD_MS


@pytest.mark.parametrize("app", [TWO_HOURS_S, -TWO_HOURS_S], indirect=True)
async def test_a_server_whose_clock_was_wrong_at_the_start_goes_by_the_stores(
    app: Application, http: Any, new_site: NewSite
) -> None:
    ada = await create(http, new_site, "ada")
    await write(ada, "hello")
    (comment,) = (await app.services.redis.keys("comment:*"))[:1]
    created_ms = from_iso(await app.services.redis.hget(comment, "created_at"))
    assert abs(created_ms - _time_ns() // 10**6) < MOST_AHEAD_MS


async def test_what_is_written_in_the_future_all_the_same_gets_the_stores_time(
    app: Application, http: Any, new_site: NewSite, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the second before the server follows."""
    ada = await create(http, new_site, "ada")
    monkeypatch.setattr(store_time, "agree_on_time", AsyncMock())
    machine.was_wrong(TWO_HOURS_S)
    comment = await write(ada, "early")
    assert comment["x"] * 1000 <= _time_ns() // 10**6 + MOST_AHEAD_MS
    assert comment["x"] == comment["m"]
    score = await app.services.redis.zscore(f"site:{new_site.site.id}:comments", comment["i"])
    assert score // 1000 == comment["x"]
    machine.was_wrong(-TWO_HOURS_S)
    await write(ada, "late")
    assert outline(await read(http, new_site, sort="new")) == ["late", "early"]


async def test_a_server_follows_when_the_store_goes_by_another_clock(
    app: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a failover, or when the store's own clock was set back."""

    async def behind() -> tuple[int, int]:
        return _time_ns() // 10**9 - TWO_HOURS_S, 0

    monkeypatch.setattr(app.services.redis, "time", behind)
    await until(lambda: SystemClock().now_ms() < _time_ns() // 10**6 - 7_000_000, "the time to be the store's")


async def test_the_time_stands_where_it_is_while_it_agrees_with_what_the_store_says(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long answers take: it would run back and forth otherwise, and with it the order of comments."""
    now_ms = 0
    monkeypatch.setattr(SystemClock, "now_ms", lambda _: now_ms)
    corrected: list[int] = []
    monkeypatch.setattr(SystemClock, "correct", corrected.append)

    class Store:
        def __init__(self, says_ms: int, takes_ms: int, *other_nodes_ms: int) -> None:
            self.says = [divmod(said, 1000) for said in (says_ms, *other_nodes_ms)]
            self.takes_ms = takes_ms

        async def time(self) -> Any:
            nonlocal now_ms
            now_ms += self.takes_ms
            times = [(seconds, ms * 1000) for seconds, ms in self.says]
            return times[0] if len(times) == 1 else dict(enumerate(times))

    for store, expected in (
        (Store(10_000, 0), []),
        (Store(10_000, 300), []),
        (Store(10_300, 300), []),
        (Store(10_400, 300), [100]),  # ours is behind, by that at least
        (Store(9_000, 300), [-1000]),
        (Store(9_000, 5_000), []),
        (Store(20_000, 0, 12_000, 30_000), [2_000]),
    ):
        now_ms = 10_000
        corrected.clear()
        await store_time.agree_on_time(store)
        assert corrected == expected
