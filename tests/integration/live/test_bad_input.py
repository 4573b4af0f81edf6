"""What nobody should send, sent: every message gets an answer or a close code, and nobody else notices. T27."""

import asyncio
import contextlib
import json
import struct
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from tests.integration.comments.test_comments import write
from tests.integration.live.ears import Ear, LiveServer
from tests.integration.live.raw import BINARY, CLOSE, PING, PONG, TEXT, RawSocket, call, frame
from tests.integration.live.test_events import page_of
from tests.make import ManualClock
from tests.people import create
from tests.wait import until
from threadkit.ids import new_uuid
from threadkit.live import protocol
from threadkit.sites.model import NewSite


@pytest.fixture
def key(new_site: NewSite) -> str:
    return new_site.site.api_key_public


async def error_code(ear: Ear) -> str:
    method, params = await ear.hear()
    assert method == "error", (method, params)
    assert isinstance(params["message"], str)
    assert set(params) == {"code", "message"}
    code: str = params["code"]
    return code


async def test_what_is_not_a_call_is_an_error_and_the_connection_stays(
    live: LiveServer, key: str, clock: ManualClock
) -> None:
    page_id = new_uuid()
    async with live.ear(key) as ear:
        await ear.hear()
        for text, code in (
            ("", "invalid_json"),
            ("{", "invalid_json"),
            ("null", "invalid_json"),
            ("[]", "invalid_json"),
            ('"ping"', "invalid_json"),
            ("1e999", "invalid_json"),
            ("{}", "invalid_json"),
            ('{"jsonrpc":"2.0"}', "invalid_json"),
            ('{"method":"ping"}', "invalid_json"),
            ('{"jsonrpc":2.0,"method":"ping"}', "invalid_json"),
            ('{"jsonrpc":"2.0","method":["ping"]}', "invalid_json"),
            ('{"jsonrpc":"2.0","method":"ping","params":[]}', "invalid_json"),
            ('{"jsonrpc":"2.0","method":"ping","params":"x"}', "invalid_json"),
            ("[" * 16_000, "invalid_json"),
            ('{"jsonrpc":"2.0","method":"ping","params":{"x":' + "[" * 7000 + "]" * 7000 + "}}", "invalid_json"),
            ('{"jsonrpc":"2.0","method":"\\ud800"}', "invalid_json"),
            ('{"jsonrpc":"3.0","method":"ping"}', "invalid_method"),
            ('{"jsonrpc":"2.0","method":""}', "invalid_method"),
            ('{"jsonrpc":"2.0","method":"' + "x" * 10_000 + '"}', "invalid_method"),
            ('{"jsonrpc":"2.0","method":"__class__"}', "invalid_method"),
            ('{"jsonrpc":"2.0","method":"authenticate"}', "invalid_method"),
            ('{"jsonrpc":"2.0","method":"authenticate","params":{"token":7}}', "invalid_method"),
        ):
            await ear.connection.send(text)
            assert await error_code(ear) == code, text[:80]
            clock.advance(seconds=1)
        wrong: list[Any] = [
            None,
            7,
            1.5,
            True,
            [],
            {},
            "",
            "x",
            page_id + "x",
            page_id[:-1],
            "../" + page_id,
            "\0" * 36,
        ]
        for method in ("subscribe", "unsubscribe", "typing", "stop_typing"):
            for value in wrong:
                await ear.say(method, page_id=value)
                assert await error_code(ear) == "invalid_method", (method, value)
                clock.advance(seconds=1)
            await ear.say(method)
            assert await error_code(ear) == "invalid_method"
            clock.advance(seconds=1)
        await ear.nothing_but()


async def test_odd_values_beside_a_good_page_do_no_harm(
    live: LiveServer, http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock
) -> None:
    ada, bob = await create(http, new_site, "ada"), await create(http, new_site, "bob")
    page_id = new_uuid()
    versions: list[Any] = ["1", 1.5, [], {}, None, True, False]
    answered: list[Any] = [7, [], {}, "x", "<script>", True]
    async with live.ear(bob.key, bob.token) as bobs, live.ear(ada.key, ada.token) as adas:
        await bobs.subscribe(page_id)
        for version in versions:
            await adas.subscribe(page_id, version=version)
            await adas.say("unsubscribe", page_id=page_id)
            clock.advance(seconds=1)
        for version in (-1, 2**63, 10**30):
            await adas.say("subscribe", page_id=page_id, version=version)
            await adas.hear_of("presence")
            await adas.say("unsubscribe", page_id=page_id)
            clock.advance(seconds=1)
        await adas.subscribe(page_id)
        for reply_to in answered:
            clock.advance(seconds=1)
            await adas.say("typing", page_id=page_id, reply_to=reply_to)
            assert (await bobs.hear_of("typing"))["reply_to"] is None
        await adas.say("unsubscribe", page_id=new_uuid())
        await adas.say("typing", page_id=new_uuid())
        await adas.nothing_but("viewers", "resync")


async def test_binary_messages_are_ignored_and_fragments_are_put_together(live: LiveServer, key: str) -> None:
    async with await RawSocket.open(live.port, key) as raw:
        assert json.loads((await raw.read())[1])["method"] == "connected"
        await raw.send(frame(b"\x00\xff" * 100, opcode=BINARY))
        text = b'{"jsonrpc":"2.0","method":"ping"}'
        for place, byte in enumerate(text):
            last = place == len(text) - 1
            await raw.send(frame(bytes((byte,)), opcode=TEXT if place == 0 else 0, final=last))
            if place == 5:  # control frames may come in between
                await raw.send(frame(b"hello", opcode=PING))
        assert await raw.read() == (PONG, b"hello")
        assert json.loads((await raw.read())[1])["method"] == "pong"
        await raw.send(frame(struct.pack("!H", 1000), opcode=CLOSE))
        assert (await raw.read())[0] == CLOSE


async def test_who_breaks_the_protocol_is_closed_with_the_code_for_it(live: LiveServer, key: str) -> None:
    half = b"x" * (8 * 1024)
    for data, code in (
        (frame(b"x" * (16 * 1024 + 1)), 1009),
        (frame(half, final=False) + frame(half + b"x", opcode=0), 1009),
        (frame(half, opcode=BINARY, final=False) + frame(half + b"x", opcode=0), 1009),
        (frame(b"\xff\xfe"), 1007),
        (frame(b"{}", masked=False), 1002),
        (frame(b"{}", reserved=0x40), 1002),
        (frame(b"{}", opcode=0x3), 1002),
        (frame(b"{}", opcode=0), 1002),
        (frame(b"x" * 126, opcode=PING), 1002),
        (frame(struct.pack("!H", 999), opcode=CLOSE), 1002),
        (frame(struct.pack("!H", 1001) + b"bye", opcode=CLOSE), 1001),
    ):
        async with await RawSocket.open(live.port, key) as raw:
            await raw.send(data)
            assert await raw.close_code() == code, (data[:10], code)
    async with await RawSocket.open(live.port, key) as raw:
        await raw.send(frame(b" " * (16 * 1024)))  # as much as is allowed
        await raw.read()
        assert json.loads((await raw.read())[1])["params"]["code"] == "invalid_json"
    await until(lambda: live.app.services.hub.connections == 0, "all of them to be forgotten")


async def test_compression_is_never_agreed_on(live: LiveServer, key: str) -> None:
    """One frame goes to many sockets as it is, and nobody can send us a frame that inflates."""
    offer = "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n"
    async with await RawSocket.open(live.port, key, headers=offer) as raw:
        assert raw.head.startswith("HTTP/1.1 101")
        assert "extensions" not in raw.head.lower()
        await raw.send(frame(b"\xaa\x56\x2a", reserved=0x40))
        assert await raw.close_code() == 1002
    async with live.ear(key, compression="deflate") as ear:
        assert ear.connection.protocol.extensions == []
        await ear.hear()


async def test_a_flood_is_answered_once_a_second_and_disturbs_nobody(
    live: LiveServer, http: httpx.AsyncClient, new_site: NewSite, key: str, clock: ManualClock
) -> None:
    ada = await create(http, new_site, "ada")
    page_id, _ = await page_of(http, new_site)
    async with live.ear(key) as calm, await RawSocket.open(live.port, key) as raw:
        await calm.subscribe(page_id)
        await raw.send(call("ping") * 100)
        writing = asyncio.create_task(write(ada, "meanwhile"))
        assert (await calm.hear_of("new_comment", seconds=2))["comment"] == await writing
        answers = [json.loads((await raw.read())[1]) for _ in range(12)]
        assert [answer["method"] for answer in answers] == ["connected", *["pong"] * 10, "error"]
        assert answers[-1]["params"]["code"] == "rate_limit"
        await live.has_heard(101)
        clock.advance(seconds=1)
        await raw.send(call("ping"))
        assert json.loads((await raw.read())[1])["method"] == "pong"


async def test_a_storm_of_subscriptions_is_ten_pages(
    live: LiveServer, key: str, redis: Redis, clock: ManualClock
) -> None:
    """T27: a storm of subscribing, also with limits that do not count it."""
    async with await RawSocket.open(live.port, key) as raw, live.ear(key) as calm:
        for burst in range(3):
            await raw.send(b"".join(call("subscribe", page_id=new_uuid()) for _ in range(50)))
            await live.has_heard((burst + 1) * 50)
            clock.advance(seconds=1)
        assert live.meter("threadkit_live_pages") == 10
        assert len(await redis.pubsub_channels("page:*")) == 10
        await calm.subscribe(new_uuid())
    await until(lambda: live.meter("threadkit_live_pages") == 0, "the pages to be left")


async def test_more_sockets_than_one_address_may_have_are_refused(live: LiveServer, key: str) -> None:
    limit = live.app.services.settings.live.sockets_per_address
    sockets = await asyncio.gather(*(RawSocket.open(live.port, key) for _ in range(limit)))
    await until(lambda: live.app.services.hub.connections == limit, "all of them")
    refused = await RawSocket.open(live.port, key)
    assert refused.head.startswith("HTTP/1.1 429")
    refused.sock.close()
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{live.port}") as web:
        answer = await web.get("/v1/events", params={"page_id": "x", "key": key})
        assert (answer.status_code, answer.json()["code"]) == (429, "too_many_connections")
    for one in sockets:
        one.sock.close()
    await until(lambda: live.app.services.hub.connections == 0, "all of them to go")
    async with live.ear(key) as ear:
        await ear.hear()


async def test_who_vanishes_without_a_word_is_forgotten(
    impatient: LiveServer, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    """A connection whose other end is gone: nothing comes back, pings least of all. Who answers them stays."""
    ada = await create(http, new_site, "ada")
    page_id = new_uuid()
    async with impatient.ear(ada.key, ada.token, ping_interval=None) as healthy:
        await healthy.subscribe(page_id)
        async with await RawSocket.open(impatient.port, ada.key) as raw:
            await raw.send(call("authenticate", token=ada.token) + call("subscribe", page_id=page_id))
            await until(lambda: impatient.app.services.hub.connections == 2, "both")
            await until(lambda: impatient.app.services.hub.connections == 1, "the silent one to be cut off")
            assert await raw.close_code() == 1011
        await healthy.nothing_but("viewers")


async def test_pings_that_nobody_reads_the_answers_to_have_an_end(
    live: LiveServer, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each answer would be kept until it is read: a server can be filled like that."""
    monkeypatch.setattr(protocol, "GOODBYE_S", 0.3)
    async with await RawSocket.open(live.port, key, receive_bytes=4096) as raw:
        await until(lambda: live.app.services.hub.connections == 1, "the socket")
        (client,) = live.app.services.hub._clients
        wire: Any = client._wire  # type: ignore[attr-defined]
        wire.allow(1_000_000)  # so many pings are too much otherwise
        flood = frame(b"p" * 125, opcode=PING) * 500
        most = 0
        sent = 0
        with contextlib.suppress(ConnectionError, TimeoutError):
            for _ in range(1000):
                await asyncio.wait_for(raw.send(flood), 10)
                sent += len(flood)
                most = max(most, wire.unsent_bytes)
        assert sent < 60_000_000, "the server took all of it"
        assert 64 * 1024 < most < 512 * 1024
        await until(lambda: live.app.services.hub.connections == 0, "the flood to be cut off")


async def test_what_others_publish_on_our_channels_does_not_deafen_us(
    live: LiveServer, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    """The channels are documented, so other programs may speak there. Nonsense is passed over."""
    ada = await create(http, new_site, "ada")
    page_id, _ = await page_of(http, new_site)
    channels = [
        f"page:{page_id}",
        live.app.services.keys.user(ada.id).channel(),  # type: ignore[arg-type]
        live.app.services.keys.shared.site_changes(),
    ]
    async with live.ear(ada.key, ada.token) as ear:
        await ear.subscribe(page_id)
        for channel in channels:
            for text in (
                "",
                "{",
                "[]",
                "7",
                "{}",
                '{"type":7}',
                '{"type":"unknown"}',
                '{"type":"new_comment"}',
                '{"type":"new_comment","comment_id":{}}',
                '{"type":"edit_comment","comment_id":null,"version":"x"}',
                '{"type":"vote_update"}',
                '{"type":"vote_update","comment_id":[],"upvotes":1,"downvotes":0}',
                '{"type":"user_joined"}',
                '{"type":"typing","user_id":7}',
                f'{{"type":"typing","user_id":"{ada.id}"}}',
                '{"type":"user_left"}',
                '{"type":"viewers","viewers":"many"}',
                '{"type":"pin_update"}',
                '{"type":"notification"}',
                '{"type":"notification","notification":7}',
            ):
                await redis.publish(channel, text)
                await redis.publish(channel, text.replace("{", f'{{"site_id":"{new_site.site.id}",', 1))
        root = await write(ada, "still here")
        while (heard := await ear.hear_of("new_comment"))["comment"] != root:
            pass
        assert heard["page_id"] == page_id
        assert live.app.services.listener.is_listening


async def test_a_record_that_cannot_be_read_costs_a_resync_and_no_more(
    live: LiveServer, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    ada = await create(http, new_site, "ada")
    root = await write(ada, "will be damaged")
    page_id, _ = await page_of(http, new_site)
    async with live.ear(ada.key) as ear:
        await ear.subscribe(page_id)
        await redis.hset(f"comment:{root['i']}", "upvotes", "many")
        event = {"type": "edit_comment", "comment_id": root["i"], "site_id": new_site.site.id}
        await redis.publish(f"page:{page_id}", json.dumps(event))
        assert await ear.hear_of("resync") == {"page_id": page_id}
        later = await write(ada, "still here")
        assert (await ear.hear_of("new_comment"))["comment"]["i"] == later["i"]
        await ear.nothing_but("viewers")
