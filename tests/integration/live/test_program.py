"""Live pages of the real program: a worker is killed, and the whole is told to stop."""

import asyncio
import contextlib
import os
import signal
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import ConnectionClosed

from tests.integration.comments.test_comments import write
from tests.integration.live.ears import Ear, LiveServer
from tests.integration.live.houses import House, two_workers
from tests.integration.live.test_events import page_of
from tests.integration.server.program import workers_of
from tests.wait import until


def sockets_of(pid: int) -> int:
    return sum(str(entry.readlink()).startswith("socket:") for entry in Path(f"/proc/{pid}/fd").iterdir())


async def is_open(ear: Ear) -> bool:
    try:
        await ear.nothing_but("viewers", "user_joined", "user_left")
    except ConnectionClosed:
        return False
    return True


async def test_a_killed_worker_takes_only_its_own_along_and_a_stop_is_announced() -> None:
    with two_workers() as program:
        async with (
            httpx.AsyncClient(base_url=program.server.url) as web,
            contextlib.AsyncExitStack() as stack,
        ):
            house = House(program.site, web, program.server.port)
            ada, bob = await house.create("ada"), await house.create("bob")
            page_id, _ = await page_of(web, program.site)
            victim, survivor = workers_of(program.server.process.pid)
            before = {pid: sockets_of(pid) for pid in (victim, survivor)}
            ears: list[Ear] = []
            while any(sockets_of(pid) < count + 3 for pid, count in before.items()):
                ears.append(await stack.enter_async_context(LiveServer.at(house.port, house.key, bob.token)))
                await ears[-1].subscribe(page_id)
                assert len(ears) < 300, "the workers do not share the sockets"
            os.kill(victim, signal.SIGKILL)
            left = [ear for ear in ears if await is_open(ear)]
            assert 0 < len(left) < len(ears)
            ada.http = await stack.enter_async_context(httpx.AsyncClient(base_url=program.server.url))
            root = await write(ada, "who is still there?")
            for ear in left:
                assert (await ear.hear_of("new_comment"))["comment"] == root
            # A new worker comes, and who was cut off finds a place again.
            await until(lambda: len(workers_of(program.server.process.pid)) == 2, "a new worker", seconds=30)
            assert survivor in workers_of(program.server.process.pid)
            async with house.ear(ada) as again:
                assert {user["id"] for user in (await again.subscribe(page_id))["users"]} == {ada.id, bob.id}

            reader, writer = await asyncio.open_connection("127.0.0.1", house.port)
            writer.write(f"GET /v1/events?key={house.key}&page_id=x HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            await reader.readuntil(b"event: presence")
            program.server.process.send_signal(signal.SIGTERM)
            for ear in left:
                assert 500 <= (await ear.hear_of("restart"))["retry_after_ms"] < 10_000
                with pytest.raises(ConnectionClosed):
                    await ear.hear_of("what never comes")
                assert ear.connection.close_code == 1012
            assert b"event: restart" in await reader.read()
            writer.close()
            # Not even an endless answer keeps it: it would be cancelled after ten seconds, with complaints.
            assert await asyncio.to_thread(program.server.process.wait, 9) == 0
        assert ada.token not in program.server.said
        assert bob.token not in program.server.said
