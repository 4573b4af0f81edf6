"""The store is away: the limiter goes on in memory, readers get what was last known, and all of it comes back by itself."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
from msgspec.structs import replace
from structlog.testing import CapturingLogger

from tests import people
from tests.conftest import NOTHING_HELD, SECRET
from tests.folders import quick_folder
from tests.make import ManualClock
from tests.people import Person
from tests.wait import until
from threadkit.app import Application, create_app
from threadkit.keyring import Keyring
from threadkit.ratelimit.outage import FIRST_PAUSE_MS, LONGEST_PAUSE_MS, Outage
from threadkit.ratelimit.quotas import Quotas
from threadkit.settings import LimitSettings, Settings, StoreTuning
from threadkit.sites.model import AuthSettings, NewSite, SiteSettings
from threadkit.storage.bundled import BundledStore
from threadkit.storage.client import Store, parse_url
from threadkit.storage.keys import Keys

PAGE = {"page_url": "https://blog.example.org/post"}
TOKEN = "a token for those who watch the server"


@pytest.fixture
def settings(settings: Settings) -> Iterator[Settings]:
    with quick_folder() as folder:
        tuning = StoreTuning(command_timeout_s=0.5, wait_for_connection_s=0.5, connect_timeout_s=0.5)
        limits = LimitSettings(ip_writes_per_minute=8, post_every_s=0)
        yield replace(
            settings,
            data=str(Path(folder) / "d"),
            store=tuning,
            limits=limits,
            metrics_token=TOKEN,
            workers=2,
            log_level="critical",
        )


class OwnStore:
    """A store of this test's own, which goes away and comes back."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._running = BundledStore(settings)
        self._running.start()
        self.address = self._running.address

    async def leave(self) -> None:
        await asyncio.to_thread(self._running.stop)

    async def come_back(self) -> None:
        self._running = BundledStore(self._settings)
        await asyncio.to_thread(self._running.start)


@pytest.fixture
async def store(settings: Settings) -> AsyncIterator[OwnStore]:
    own = OwnStore(settings)
    yield own
    await own.leave()


class Town:
    def __init__(self, app: Application, http: httpx.AsyncClient, site: NewSite, ada: Person, clock: ManualClock):
        self.app = app
        self.http = http
        self.site = site
        self.ada = ada
        self.clock = clock
        self.public = {"projectid": site.site.api_key_public}

    async def read(self) -> httpx.Response:
        return await self.http.get("/v1/comments", params=PAGE, headers=self.public)

    async def write(self, text: str) -> httpx.Response:
        return await self.ada.call("POST", "/v1/comments", {**PAGE, "content": text})

    async def checks(self) -> dict[str, object]:
        answer = await self.http.get("/readyz", headers={"authorization": f"Bearer {TOKEN}"})
        found: dict[str, object] = answer.json()["checks"]
        assert (answer.status_code == 200) is (answer.json()["status"] == "ready") is found["rate_limiter_ok"]
        return found


@pytest.fixture
async def town(settings: Settings, store: OwnStore, clock: ManualClock) -> AsyncIterator[Town]:
    app = create_app(settings, store.address, Keyring(SECRET.encode()), clock=clock)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with app.lifespan(), httpx.AsyncClient(transport=transport, base_url="http://t") as http:
        own = SiteSettings(auth=AuthSettings(anonymous=True), screening=NOTHING_HELD)
        site = await app.services.sites.create("Blog", "blog.example.org", settings=own)
        yield Town(app, http, site, await people.create(http, site, "ada"), clock)


async def test_reads_go_on_and_writes_are_told_to_come_back(town: Town, store: OwnStore) -> None:
    assert (await town.write("first")).status_code == 200
    shown = await town.read()
    assert "warning" not in shown.headers
    await store.leave()
    town.clock.advance(seconds=7)

    stale = await town.read()
    assert (stale.status_code, stale.json()) == (200, shown.json())
    assert (stale.headers["warning"], stale.headers["age"]) == ('110 - "Response is Stale"', "7")
    assert stale.headers["etag"] == shown.headers["etag"]
    again = await town.http.get(
        "/v1/comments", params=PAGE, headers=town.public | {"if-none-match": shown.headers["etag"]}
    )
    assert again.status_code == 304
    refused = await town.write("second")
    assert (refused.status_code, refused.json()["code"]) == (503, "store_unavailable")
    assert int(refused.headers["retry-after"]) >= 1
    # A page that nobody read before, and one that was last seen more than ten minutes ago, cannot be shown.
    other = await town.http.get("/v1/comments", params={"page_url": "https://blog.example.org/b"}, headers=town.public)
    assert other.status_code == 503
    town.clock.advance(seconds=594)
    assert (await town.read()).status_code == 503

    await store.come_back()
    await until(lambda: town.app.services.listener.is_listening, "the store to be heard again")

    async def is_fresh() -> bool:
        answer = await town.read()
        return answer.status_code == 200 and "warning" not in answer.headers

    town.clock.advance(seconds=1.5)
    await until(is_fresh, "readers to see the store's own word")
    assert (await town.write("second")).status_code == 200
    assert (await town.read()).json()["total"] == 2


async def test_reads_go_on_where_people_have_just_written(town: Town, store: OwnStore) -> None:
    first = (await town.write("first")).json()["comment"]
    shown = await town.read()
    await town.write("second")
    voted = await town.ada.call("POST", f"/v1/comments/{first['i']}/vote", {"direction": "up"})
    assert voted.status_code == 200
    await store.leave()
    stale = await town.read()
    assert (stale.status_code, stale.json()) == (200, shown.json())
    assert "warning" in stale.headers
    await store.come_back()

    async def is_written() -> bool:
        return (await town.write("third")).status_code == 200

    await until(is_written, "the store")
    back = await town.read()
    assert (back.json()["total"], "warning" in back.headers) == (3, False), "never older than what was acknowledged"


async def test_what_was_taken_away_is_not_shown_again(town: Town, store: OwnStore) -> None:
    """Better nothing than a comment that its author, or a moderator, has taken back."""
    comment = (await town.write("too much said")).json()["comment"]
    assert (await town.read()).json()["total"] == 1
    assert (await town.ada.call("DELETE", f"/v1/comments/{comment['i']}")).status_code == 204
    await store.leave()
    assert (await town.read()).status_code == 503


async def test_people_who_are_signed_in_read_what_everybody_may_see(town: Town, store: OwnStore) -> None:
    """Nobody can say who they are, so nobody's own view is shown."""
    await town.write("for all")
    eve = await people.create(town.http, town.site, "eve")
    assert (await eve.call("POST", f"/v1/users/{town.ada.id}/block")).status_code in (200, 204)
    everybodys = (await town.read()).json()
    own = await eve.call("GET", f"/v1/comments?page_url={PAGE['page_url']}")
    assert own.json()["tree"]["c"] == []
    await store.leave()
    for person in (town.ada, eve):
        answer = await person.call("GET", f"/v1/comments?page_url={PAGE['page_url']}")
        assert (answer.status_code, answer.json()) == (200, everybodys)
        assert "warning" in answer.headers


async def test_the_embed_gets_all_it_needs_to_show_a_page(town: Town, store: OwnStore) -> None:
    site = await town.http.get("/v1/site", headers=town.public)
    await store.leave()
    town.clock.advance(seconds=60)
    away = await town.http.get("/v1/site", headers=town.public)
    assert (away.status_code, away.json()) == (200, site.json())
    town.clock.advance(seconds=600)
    assert (await town.http.get("/v1/site", headers=town.public)).status_code == 503


async def test_the_secret_key_opens_nothing_from_memory(town: Town, store: OwnStore) -> None:
    secret = {"projectid": town.site.secret_key}
    assert (await town.http.get("/v1/site", headers=secret)).status_code == 200
    await store.leave()
    town.clock.advance(seconds=60)
    assert (await town.http.get("/v1/site", headers=secret)).status_code == 503


async def test_whether_the_program_runs_is_said_without_asking_the_store(town: Town, store: OwnStore) -> None:
    """A container that is started again would forget the pages it could have shown."""
    there = await town.http.get("/healthz")
    assert (there.status_code, there.json()) == (200, {"status": "healthy", "redis": "connected"})
    await store.leave()

    async def is_known() -> bool:
        away = await town.http.get("/healthz")
        assert away.status_code == 200
        return bool(away.json() == {"status": "degraded", "redis": "disconnected"})

    await until(is_known, "the listener to notice")


async def test_limits_are_kept_in_memory_and_then_in_the_store_again_s4_02(town: Town, store: OwnStore) -> None:
    await store.leave()
    statuses = [
        (await town.http.post("/v1/auth/anonymous", json={}, headers=town.public)).status_code for _ in range(10)
    ]
    assert statuses == [503] * 8 + [429] * 2
    assert town.app.services.limiter_outage.is_on
    await store.come_back()
    town.clock.advance(seconds=61)

    async def is_back() -> bool:
        return (await town.http.post("/v1/auth/anonymous", json={}, headers=town.public)).status_code == 200

    await until(is_back, "the store to count again")
    await until(lambda: not town.app.services.limiter_outage.is_on, "the limiter to notice")


async def test_readyz_tells_where_limits_are_counted_s4_30_s4_31(town: Town, store: OwnStore) -> None:
    there = await town.checks()
    assert (there["rate_limiter_backend"], there["rate_limiter_ok"]) == ("redis", True)
    assert there["rate_limiter_warning"] is None
    await store.leave()
    away = await town.checks()
    assert (away["rate_limiter_backend"], away["rate_limiter_ok"]) == ("in_memory", False)
    assert away["rate_limiter_warning"] == (
        "Limits are counted in memory, by each worker for itself, "
        "so that 2 workers together let through 2 times the limit."
    )
    assert (away["redis_reachable"], away["redis_writable"]) == (False, False)
    # Whoever is nobody learns no more than that it is not ready.
    assert (await town.http.get("/readyz")).json() == {"status": "not_ready"}
    await store.come_back()

    async def is_back() -> bool:
        return (await town.checks())["rate_limiter_backend"] == "redis"

    await until(is_back, "the store")


async def test_limits_survive_a_restart_of_the_program_s4_34(town: Town, settings: Settings, store: OwnStore) -> None:
    for _ in range(8):
        assert (await town.http.post("/v1/auth/anonymous", json={}, headers=town.public)).status_code == 200
    again = create_app(settings, store.address, Keyring(SECRET.encode()), clock=town.clock)
    transport = httpx.ASGITransport(again)
    async with again.lifespan(), httpx.AsyncClient(transport=transport, base_url="http://t") as http:
        assert (await http.post("/v1/auth/anonymous", json={}, headers=town.public)).status_code == 429


async def test_memory_is_bounded_and_newcomers_share_one_count(
    town: Town, store: OwnStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S4-15."""
    monkeypatch.setattr("threadkit.ratelimit.requests.MOST_WITHOUT_STORE", 50)
    await store.leave()
    statuses = []
    for number in range(200):
        transport = httpx.ASGITransport(town.app, client=(f"198.51.100.{number}", 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://t") as http:
            answer = await http.post("/v1/auth/anonymous", json={}, headers=town.public)
            statuses.append(answer.status_code)
    assert len(town.app.services.request_limits._counted) <= 52
    assert set(statuses[:49]) == {503}
    assert statuses.count(429) > 100


def test_the_pause_doubles_and_has_an_end_s4_02() -> None:
    clock = ManualClock()
    outage = Outage(clock)
    pauses = []
    for _ in range(6):
        outage.began(ConnectionError("gone"))
        before = clock.now_ms()
        while outage.is_waiting:
            clock.advance(seconds=1)
        pauses.append(clock.now_ms() - before)
    assert pauses == [FIRST_PAUSE_MS, 10_000, 20_000, 40_000, LONGEST_PAUSE_MS, LONGEST_PAUSE_MS]
    outage.ended()
    assert not outage.is_on


async def test_whether_there_is_a_store_is_found_out_at_first_use_s4_01(
    town: Town, store: OwnStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There: counted there. Not there: in memory, with one warning."""
    quotas = town.app.services.quotas
    assert not (await quotas.reserve("comments", "ada")).is_in_memory
    await store.leave()
    log = CapturingLogger()
    monkeypatch.setattr("threadkit.ratelimit.outage.log", log)
    for _ in range(2):
        assert (await quotas.reserve("comments", "ada")).is_in_memory
    (warning,) = log.calls
    assert (warning.method_name, warning.args) == ("warning", ("limiter_in_memory",))
    assert warning.kwargs["why"]


async def test_the_warning_never_holds_the_password_s4_01(clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    log = CapturingLogger()
    monkeypatch.setattr("threadkit.ratelimit.outage.log", log)
    store = Store(parse_url("redis://user:hush-hush@127.0.0.1:1/0"), StoreTuning(connect_timeout_s=0.5))
    quotas = Quotas(redis=store.redis, keys=Keys(), clock=clock, settings=LimitSettings(), outage=Outage(clock))
    assert (await quotas.reserve("comments", "ada")).is_in_memory
    await store.close()
    assert log.calls
    assert "hush" not in str(log.calls)
