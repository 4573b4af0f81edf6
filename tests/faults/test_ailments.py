"""Whatever befalls the store: the right status, never a 500, and all is well soon after. THREADKIT_SOAK=1 makes it twenty
times each. G15."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from msgspec.structs import replace

from tests.conftest import NOTHING_HELD
from tests.faults.ailments import AILMENTS, Ailment, full
from tests.faults.wire import Wire, wires
from tests.folders import disk_folder
from tests.integration.comments.test_comments import write
from tests.integration.server.program import environment, run
from tests.integration.topologies.servers import DURABLE, Server, free_ports
from tests.people import Person, create
from tests.wait import until
from threadkit.app import Application, create_app
from threadkit.ids import UserId
from threadkit.keyring import Keyring
from threadkit.settings import Settings, StoreTuning
from threadkit.sites.model import AuthSettings, NewSite, SiteSettings
from threadkit.sites.roles import Role
from threadkit.storage.client import StoreAddress

IS_LONG = bool(os.environ.get("THREADKIT_SOAK"))
TIMES = 20 if IS_LONG else 1
# A busy machine may take longer; the long form has it to itself.
LEEWAY_S = 0 if IS_LONG else 10
TUNING = StoreTuning(command_timeout_s=0.5, wait_for_connection_s=0.5, connect_timeout_s=0.5)
ANSWERED_WITHIN_S = 3.0
KNOWN_PAGE, NEW_PAGE = "https://blog.example.org/known", "https://blog.example.org/new-"

pytestmark = pytest.mark.timeout(1200 if IS_LONG else 120)


@pytest.fixture
def store() -> Iterator[Server]:
    with disk_folder() as folder:
        server = Server(Path(folder) / "store", free_ports(1)[0], *DURABLE)
        server.start()
        yield server
        server.kill()


@pytest.fixture
def wire(store: Server) -> Iterator[Wire]:
    with wires() as found:
        yield found.to(store.port)


@pytest.fixture
async def app(wire: Wire, settings: Settings, keyring: Keyring) -> AsyncIterator[Application]:
    tuned = replace(settings, store=TUNING, log_level="critical")
    application = create_app(tuned, StoreAddress("standalone", (("127.0.0.1", wire.port),)), keyring)
    async with application.lifespan():
        yield application


@pytest.fixture
async def new_site(app: Application) -> NewSite:
    settings = SiteSettings(auth=AuthSettings(anonymous=True), screening=NOTHING_HELD)
    return await app.services.sites.create("Blog", "blog.example.org", settings=settings)


@dataclass
class Visitor:
    """Reads and writes, looks at every answer closely, and knows what was confirmed."""

    http: httpx.AsyncClient
    person: Person
    confirmed: dict[str, str] = field(default_factory=dict)
    codes: set[str] = field(default_factory=set)
    slowest_s: float = 0
    _number: int = 0

    async def write(self, page: str = KNOWN_PAGE) -> int:
        self._number += 1
        text = f"number {self._number}"
        answer = await self._ask("POST", "/v1/comments", json={"page_url": page, "content": text})
        if answer.status_code == 200:
            self.confirmed[answer.json()["comment"]["i"]] = text
        return answer.status_code

    async def read(self, page: str) -> tuple[int, bool]:
        """The status, and whether it is the store's own word."""
        answer = await self._ask("GET", "/v1/comments", params={"page_url": page})
        return answer.status_code, "warning" not in answer.headers

    async def is_well(self) -> bool:
        return await self.write() == 200 and await self.read(KNOWN_PAGE) == (200, True)

    async def _ask(self, method: str, path: str, **more: object) -> httpx.Response:
        headers = {"projectid": self.person.key, "authorization": f"Bearer {self.person.token}"}
        started = time.monotonic()
        answer = await self.http.request(method, path, headers=headers, **more)  # type: ignore[arg-type]
        self.slowest_s = max(self.slowest_s, time.monotonic() - started)
        assert answer.status_code in (200, 503), answer.text
        if answer.status_code == 503:
            assert answer.headers["content-type"].startswith("application/problem+json")
            assert int(answer.headers["retry-after"]) > 0
            self.codes.add(answer.json()["code"])
        return answer


async def endure(visitor: Visitor, ailment: Ailment, number: int) -> None:
    """What people are told during it."""
    statuses = {await visitor.write() for _ in range(4)}
    assert statuses <= ailment.writes
    unread = await visitor.read(f"{NEW_PAGE}{number}")
    assert unread == (200, True) if ailment.can_read else unread[0] in (200, 503)
    assert (await visitor.http.get("/version")).status_code == 200
    if 200 not in ailment.writes:
        assert (await visitor.http.get("/readyz")).status_code == 503


@pytest.mark.parametrize("name", AILMENTS)
async def test_people_are_told_the_truth_and_all_is_well_soon_after(
    name: str, app: Application, http: httpx.AsyncClient, new_site: NewSite, store: Server, wire: Wire
) -> None:
    ailment = AILMENTS[name]
    visitor = Visitor(http, await create(http, new_site, "ada"))
    assert await visitor.is_well()
    longest_s = 0.0
    for number in range(TIMES):
        with ailment.fault(store, wire):
            await endure(visitor, ailment, number)
        ended = time.monotonic()
        await until(
            visitor.is_well, f"all to be well after the store was {name}", seconds=ailment.over_within_s + LEEWAY_S
        )
        longest_s = max(longest_s, time.monotonic() - ended)
    assert visitor.codes <= ailment.codes
    assert visitor.slowest_s < ANSWERED_WITHIN_S + LEEWAY_S
    await all_is_there(visitor)
    if IS_LONG:
        await asyncio.to_thread(ask_the_doctor, store)
    print(
        f"\nG15: the store {name}, {TIMES} times: {len(visitor.confirmed)} writes confirmed, well again after {longest_s:.2f} s, no answer took longer than {visitor.slowest_s:.2f} s"
    )


async def test_while_the_store_is_full_people_can_take_away_and_moderators_can_decide(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, store: Server, wire: Wire
) -> None:
    ada, bob, mo = [await create(http, new_site, name) for name in ("ada", "bob", "mo")]
    await app.services.roles.grant(new_site.site.id, UserId(mo.id), Role.MODERATOR)
    ids = [(await write(ada, f"number {number}", url=KNOWN_PAGE))["i"] for number in range(5)]
    await write(bob, "of somebody who leaves", url=KNOWN_PAGE)
    with full(store, wire):
        answer = await ada.call("POST", "/v1/comments", {"page_url": KNOWN_PAGE, "content": "one more"})
        assert (answer.status_code, answer.json()["code"]) == (503, "store_full")
        for who, method, path in (
            (ada, "DELETE", f"/v1/comments/{ids[0]}"),
            (mo, "POST", f"/v1/moderation/reject/{ids[1]}"),
            (mo, "POST", f"/v1/moderation/spam/{ids[2]}"),
            (mo, "POST", f"/v1/moderation/delete/{ids[3]}"),
            (mo, "POST", f"/v1/moderation/shadowban/{ada.id}"),
            (mo, "POST", f"/v1/moderation/ban/{ada.id}"),
            (bob, "DELETE", "/v1/users/me"),
        ):
            answer = await who.call(method, path, {})
            assert answer.status_code in (200, 204), (path, answer.text)
    found = await http.get("/v1/comments", params={"page_url": KNOWN_PAGE}, headers={"projectid": ada.key})
    shown = {(comment["t"], comment["n"]) for comment in found.json()["tree"]["c"]}
    assert shown == {("number 4", "ada"), ("of somebody who leaves", "[deleted]")}
    await app.services.outbox.drain()
    assert (await app.services.deep_doctor.run()).found == []


async def all_is_there(visitor: Visitor) -> None:
    """What was confirmed, exactly; and nothing twice."""
    params: dict[str, str | int] = {"page_url": KNOWN_PAGE, "limit": 100, "sort": "new"}
    found = await visitor.http.get("/v1/comments", params=params, headers={"projectid": visitor.person.key})
    tree = found.json()["tree"]["c"]
    texts = [comment["t"] for comment in tree]
    assert len(set(texts)) == len(texts)
    shown = {comment["i"]: comment["t"] for comment in tree}
    assert len(tree) >= 100 or visitor.confirmed.items() <= shown.items()


def ask_the_doctor(store: Server) -> None:
    done = run("doctor", "--deep", "--json", env=environment(REDIS_URL=f"redis://127.0.0.1:{store.port}/0"))
    assert done.returncode == 0, done.stdout[:4000] + done.stderr
