"""Lines that break between question and answer. THREADKIT_SOAK=1 makes both long. T21, G19, G20."""

import asyncio
import contextlib
import json
import os
import random
from collections.abc import AsyncIterator

import httpx
import pytest

from tests.integration.comments.test_comments import URL, read
from tests.integration.live.ears import LiveServer, serving
from tests.people import Person, create
from threadkit.app import Application
from threadkit.sites.model import NewSite

IS_LONG = bool(os.environ.get("THREADKIT_SOAK"))
POSTS = 1000 if IS_LONG else 80
QUESTIONS = 20_000 if IS_LONG else 1500
PEOPLE = 10


@pytest.fixture
async def server(app: Application) -> AsyncIterator[LiveServer]:
    async with serving(app) as found:
        yield found


@contextlib.asynccontextmanager
async def line_that_breaks(port: int, dice: random.Random) -> AsyncIterator[int]:
    """A proxy that brings every request to the server, and now and then forgets the answer."""

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", port)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(
                int(line.split(b":")[1]) for line in head.split(b"\r\n") if line[:15].lower() == b"content-length:"
            )
            back.write(head + await reader.readexactly(length))
            answer = await there.read(65536)
            if dice.random() < 0.5:
                writer.write(answer)
                await writer.drain()
        for end in (writer, back):
            end.close()

    proxy = await asyncio.start_server(carry, "127.0.0.1", 0)
    async with proxy:
        yield proxy.sockets[0].getsockname()[1]


@pytest.mark.timeout(900)
async def test_a_post_whose_answer_was_lost_is_there_once(
    server: LiveServer, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    ada = await create(http, new_site, "ada")
    tries = 0
    async with line_that_breaks(server.port, random.Random(1)) as port:
        for number in range(POSTS):
            key = {"projectid": ada.key, "authorization": f"Bearer {ada.token}", "idempotency-key": f"post-{number:06}"}
            while True:
                tries += 1
                try:
                    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=10) as client:
                        body = {"page_url": URL, "content": f"Number {number}"}
                        answer = await client.post("/v1/comments", json=body, headers=key)
                except httpx.TransportError:
                    continue
                assert answer.status_code == 200, answer.text
                break
    texts = [node["t"] for node in (await read(http, new_site))["tree"]["c"]]
    assert sorted(texts) == sorted(f"Number {number}" for number in range(POSTS))
    assert tries > POSTS * 1.3, "the line did not break"
    print(f"\nG19: {POSTS} posts in {tries} tries, 0 doubled")


@pytest.mark.timeout(900)
async def test_whoever_hangs_up_leaves_no_answer_for_the_next(
    app: Application, server: LiveServer, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    people = [await create(http, new_site, f"person-{number}") for number in range(PEOPLE)]
    dice, answered, hung_up = random.Random(2), 0, 0

    async def ask(person: Person) -> None:
        nonlocal answered, hung_up
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        words = f"GET /v1/users/me HTTP/1.1\r\nhost: x\r\nprojectid: {person.key}\r\nauthorization: Bearer {person.token}\r\n\r\n"
        writer.write(words.encode())
        if dice.random() < 0.6:  # in the middle of it, at whatever place it has come to
            for _ in range(dice.randint(0, 12)):
                await asyncio.sleep(0)
            writer.transport.abort()
            hung_up += 1
            return
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            int(line.split(b":")[1]) for line in head.split(b"\r\n") if line[:15].lower() == b"content-length:"
        )
        said = json.loads(await reader.readexactly(length))
        writer.close()
        assert (head.split(b" ", 2)[1], said["id"]) == (b"200", person.id)
        answered += 1

    for _ in range(QUESTIONS // 50):
        await asyncio.gather(*(ask(dice.choice(people)) for _ in range(50)))
    assert answered > QUESTIONS / 4
    assert hung_up > QUESTIONS / 4
    print(f"\nG20: {QUESTIONS} questions, {hung_up} hung up, 0 crossed answers")
