"""The store goes away while people read and write. THREADKIT_SOAK=1 keeps it away for thirty seconds."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.folders import quick_folder
from tests.integration.server.program import Server, environment, serving
from tests.wait import until
from threadkit.ids import new_uuid
from threadkit.settings import Settings
from threadkit.storage.bundled import BundledStore

AWAY_S = 30.0 if os.environ.get("THREADKIT_SOAK") else 3.0
PUBLIC, SECRET = "tk_pub_awayaway", "tk_sec_awayaway"
QUIET = {"page_url": "http://localhost/read"}
"""What is read. A page somebody writes on in the very moment of the outage has no snapshot that is still right."""
BUSY = {"page_url": "http://localhost/written"}

pytestmark = pytest.mark.prove


@pytest.fixture
def folder() -> Iterator[Path]:
    with quick_folder() as name:
        yield Path(name)


class Visitors:
    """Somebody who reads and somebody who writes, all the time, noting what they were told."""

    def __init__(self, server: Server) -> None:
        self.http = httpx.AsyncClient(base_url=server.url, timeout=30, headers={"projectid": PUBLIC})
        self.reads: list[tuple[int, bool]] = []
        self.writes: list[int] = []
        self.confirmed: list[str] = []
        self.is_over = False

    async def read(self) -> None:
        while not self.is_over:
            answer = await self.http.get("/v1/comments", params=QUIET)
            self.reads.append((answer.status_code, "warning" in answer.headers))
            await asyncio.sleep(0.02)

    async def write(self, token: str) -> None:
        own = {"authorization": f"Bearer {token}"}
        while not self.is_over:
            said = {**BUSY, "content": f"{new_uuid()} {new_uuid()}"}
            answer = await self.http.post("/v1/comments", json=said, headers=own)
            self.writes.append(answer.status_code)
            if answer.status_code == 200:
                self.confirmed.append(answer.json()["comment"]["i"])
            else:
                assert int(answer.headers["retry-after"]) >= 1
            await asyncio.sleep(0.05)

    async def shown(self) -> set[str]:
        answer = await self.http.get("/v1/comments", params=BUSY)
        return {comment["i"] for comment in answer.json()["tree"]["c"]} if answer.status_code == 200 else set()


@pytest.mark.timeout(90 + 2 * AWAY_S)
async def test_readers_go_on_writers_wait_and_nothing_confirmed_is_lost(folder: Path) -> None:
    store_settings = Settings(data=str(folder / "s"))
    store = BundledStore(store_settings)
    await asyncio.to_thread(store.start)
    env = environment(REDIS_URL=f"unix://{store.address.path}", PROJECT_ID_PUBLIC=PUBLIC, THREADKIT_SECRET_KEY=SECRET)
    try:
        with serving(folder / "d", env=env) as server:
            visitors = Visitors(server)
            made = await visitors.http.post(
                "/v1/admin/create-user", json={"name": "ada"}, headers={"projectid": SECRET}
            )
            tasks = [
                asyncio.create_task(visitors.read()),
                asyncio.create_task(visitors.write(made.json()["token"])),
            ]
            await until(lambda: len(visitors.confirmed) >= 5 and len(visitors.reads) >= 20, "traffic")
            await asyncio.to_thread(store.stop)
            reads, writes = len(visitors.reads), len(visitors.writes)
            await asyncio.sleep(AWAY_S)  # this long it is away
            during, refused = visitors.reads[reads + 1 :], visitors.writes[writes + 1 :]
            assert set(during) == {(200, True)}
            assert set(refused) == {503}
            before = len(visitors.confirmed)
            store = BundledStore(store_settings)
            await asyncio.to_thread(store.start)
            await until(lambda: len(visitors.confirmed) > before + 5, "writers to get through again")
            await until(lambda: visitors.reads[-1] == (200, False), "readers to see the store's own word again")
            visitors.is_over = True
            await asyncio.gather(*tasks)
            assert {status for status, _ in visitors.reads} == {200}
            confirmed = set(visitors.confirmed)

            async def all_there() -> bool:
                return await visitors.shown() == confirmed

            await until(all_there, "everything that was confirmed, and nothing else")
            print(
                f"\nG15: the store was away for {AWAY_S:g} s: {len(during)} reads answered, {len(refused)} writes refused, "
                f"{len(confirmed)} confirmed, none lost"
            )
            await visitors.http.aclose()
    finally:
        await asyncio.to_thread(store.stop)
