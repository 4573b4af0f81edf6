"""Sockets that send far more than anybody who talks to people: out with 1008, and not in again at once."""

import asyncio
import contextlib
from typing import Any

import pytest

from tests.faults.flooder import SOCKETS
from tests.integration.live.ears import LiveServer
from tests.integration.live.raw import PING, PONG, RawSocket, call, frame
from tests.wait import until
from threadkit.http import intake
from threadkit.live.protocol import A_PIECE, FORGOTTEN_S, FRAMES_A_MESSAGE
from threadkit.sites.model import NewSite

FLOODER = "X-Forwarded-For: 203.0.113.9\r\n"
NEIGHBOUR = "X-Forwarded-For: 203.0.113.10\r\n"


@pytest.fixture
def key(new_site: NewSite) -> str:
    return new_site.site.api_key_public


@pytest.mark.parametrize("kind", SOCKETS)
async def test_a_flood_of_tiny_frames_is_closed_with_1008(live: LiveServer, key: str, kind: str) -> None:
    first, unit = SOCKETS[kind]
    async with live.ear(key) as calm, await RawSocket.open(live.port, key) as raw:
        await calm.hear()
        with contextlib.suppress(ConnectionError):  # closed while it was being sent
            await raw.send(first + unit * 20_000)
        assert await raw.close_code(seconds=1) == 1008
        await calm.nothing_but()
    assert live.meter("threadkit_floods_total") == 1


async def test_many_large_messages_are_a_flood_too(live: LiveServer, key: str) -> None:
    async with await RawSocket.open(live.port, key) as raw:
        with contextlib.suppress(ConnectionError):
            await raw.send(frame(b" " * (16 * 1024)) * 40)
        assert await raw.close_code(seconds=1) == 1008


async def test_as_many_frames_as_are_allowed_are_read_in_turns_and_in_order(live: LiveServer, key: str) -> None:
    allowed = FRAMES_A_MESSAGE * live.app.services.settings.live.messages_per_second
    number = allowed // 2
    assert number > 2 * A_PIECE
    async with await RawSocket.open(live.port, key) as raw:
        await raw.read()
        await raw.send(b"".join(frame(b"%d" % place, opcode=PING) for place in range(number)) + call("ping"))
        pongs = [(await raw.read())[1] for _ in range(number)]
        assert pongs == [b"%d" % place for place in range(number)]
        assert b"pong" in (await raw.read())[1]


async def test_as_much_again_is_allowed_after_a_few_seconds_and_not_before(live: LiveServer, key: str) -> None:
    allowed = FRAMES_A_MESSAGE * live.app.services.settings.live.messages_per_second
    burst = frame(b"", opcode=PING) * (allowed * 9 // 10)
    async with await RawSocket.open(live.port, key) as raw:
        (client,) = live.app.services.hub._clients
        wire: Any = client._wire  # type: ignore[attr-defined]
        for _ in range(3):
            await raw.send(burst + call("ping"))
            while (answer := await raw.read())[0] == PONG or b"pong" not in answer[1]:
                assert answer[0], "it was closed"
            wire._counted_s -= FORGOTTEN_S  # as if that had passed
        wire._counted_s += FORGOTTEN_S / 2
        await raw.send(burst)
        assert await raw.close_code(seconds=1) == 1008


async def test_a_flooder_stays_out_for_a_while_and_neighbours_do_not(
    live: LiveServer, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with await RawSocket.open(live.port, key, headers=FLOODER) as raw:
        await raw.send(frame(b"", opcode=PING) * 1000)
        assert await raw.close_code(seconds=1) == 1008
    monkeypatch.setattr(intake, "OUT_S", 0.0)
    async with await RawSocket.open(live.port, key, headers=FLOODER) as again:
        assert again.head.startswith("HTTP/1.1 429 ")
    async with await RawSocket.open(live.port, key, headers=NEIGHBOUR) as neighbour:
        assert neighbour.head.startswith("HTTP/1.1 101 ")
        await neighbour.send(frame(b"", opcode=PING) * 1000)
        assert await neighbour.close_code(seconds=1) == 1008

    async def is_let_in() -> bool:
        async with await RawSocket.open(live.port, key, headers=NEIGHBOUR) as later:
            return later.head.startswith("HTTP/1.1 101 ")

    await until(is_let_in, "its time to be over", seconds=1)


async def test_what_is_sent_before_the_answer_is_left_in_the_network(
    live: LiveServer, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer may take a while when the store does, and all of it would be kept until then."""
    asked, answering = asyncio.Event(), asyncio.Event()
    opened_by = live.app.services.site_queries.opened_by

    async def slowly(api_key: str) -> object:
        asked.set()
        await answering.wait()
        return await opened_by(api_key)

    monkeypatch.setattr(type(live.app.services.site_queries), "opened_by", lambda _, api_key: slowly(api_key))
    opening = asyncio.create_task(RawSocket.open(live.port, key))
    await asked.wait()
    (protocol,) = [one for one in live.server_state.connections if hasattr(one, "conn")]
    assert not protocol.transport.is_reading()
    answering.set()
    async with await opening as raw:
        assert raw.head.startswith("HTTP/1.1 101 ")
        await raw.read()
        await raw.send(call("ping"))
        assert b"pong" in (await raw.read())[1]
