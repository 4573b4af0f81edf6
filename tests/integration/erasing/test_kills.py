"""The server dies while it deletes an account: the next one goes on with it. THREADKIT_SOAK=1 makes it twenty times. G26."""

import asyncio
import contextlib
import os
import random
import re
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from redis.asyncio import Redis

from tests.folders import disk_folder
from tests.integration.erasing.traces import traces
from tests.integration.server.program import Server, environment
from tests.people import Person
from tests.wait import until

KILLS = 20 if os.environ.get("THREADKIT_SOAK") else 2
COMMENTS = 60

pytestmark = [pytest.mark.prove, pytest.mark.timeout(900)]


@contextlib.asynccontextmanager
async def running(folder: Path) -> AsyncIterator[tuple[Server, httpx.AsyncClient, Redis]]:
    server = Server(folder, env=environment(THREADKIT_ACCOUNTS_ON_DELETION="erase"))
    try:
        server.wait_until_ready()
        store = Redis(unix_socket_path=str(folder / "store.sock"), decode_responses=True)
        async with contextlib.aclosing(store), httpx.AsyncClient(base_url=server.url, timeout=30) as http:
            yield server, http, store
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.process.pid, signal.SIGKILL)
        server.process.wait(10)


async def somebody(http: httpx.AsyncClient, secret: str, public: str, number: int) -> tuple[Person, list[str]]:
    """Somebody with some comments, and what may not be found of them afterwards."""
    name, email = f"zanzibar{number:03}", f"zanzibar{number:03}@example.org"
    body = {"name": name, "email": email}
    answer = await http.post("/v1/admin/create-user", json=body, headers={"projectid": secret})
    assert answer.status_code == 200, answer.text
    person = Person.of(http, public, answer.json())
    for written in range(COMMENTS):
        comment = {"page_url": "http://localhost/a", "content": f"Words of {name}, number {written}."}
        assert (await person.call("POST", "/v1/comments", comment)).status_code == 200
    return person, [person.id, name, email]


async def test_a_deletion_that_died_with_its_server_is_gone_on_with_by_the_next() -> None:
    interrupted = 0
    with disk_folder() as parent:
        folder, public, secret = Path(parent) / "data", "", ""
        for number in range(KILLS):
            async with running(folder) as (server, http, store):
                public, secret = public or key_in(server, "pub"), secret or key_in(server, "sec")
                person, theirs = await somebody(http, secret, public, number)
                (mine,) = [key async for key in store.scan_iter(f"user:{person.id}:*:comments")]
                few = random.randrange(1, COMMENTS)
                leaving = asyncio.create_task(person.call("DELETE", "/v1/users/me"))
                while int(await store.zcard(mine)) > few:  # a turn of `until` would be too late
                    pass
                os.killpg(server.process.pid, signal.SIGKILL)
                (outcome,) = await asyncio.gather(leaving, return_exceptions=True)
                interrupted += isinstance(outcome, BaseException)
            async with running(folder) as (_, _, store):

                async def is_gone(key: str = f"user:{person.id}") -> bool:
                    return not await store.exists(key)

                await until(is_gone, "the account to be gone", seconds=30)

                async def leaves_no_trace(sought: list[str] = theirs) -> bool:
                    return not await traces(store, sought)

                await until(leaves_no_trace, "the last trace to be gone", seconds=30)
    print(f"\nG26: {interrupted} deletions killed half way, all gone on with by the next server, no trace")


def key_in(server: Server, kind: str) -> str:
    return str(re.findall(rf"tk_{kind}_\w+", server.said)[0])
