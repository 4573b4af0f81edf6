"""This machine and its network, spelled in every way that has fooled a program: no connection is made. T6, G21."""

import asyncio
import contextlib
import ipaddress
import itertools
from collections.abc import AsyncIterator

import pytest

from tests.wait import until
from threadkit.http.outbound import Outbound, OutboundFailed

FORBIDDEN = ["127.0.0.1", "127.0.0.2", "127.255.255.254", "0.0.0.0", "10.0.0.1", "169.254.169.254", "192.168.0.1"]
FORBIDDEN += ["172.31.255.255", "100.64.0.1", "224.0.0.1", "255.255.255.255", "198.18.0.1", "192.0.0.1", "240.0.0.1"]
FORBIDDEN_6 = ["::1", "::", "fe80::1", "fc00::1", "fd12:3456::1", "ff02::1", "2001:db8::1", "fec0::1", "100::1"]
FORBIDDEN_6 += ["64:ff9b:1::7f00:1", "::7f00:1", "::ffff:0:7f00:1", "200::1", "e000::1"]
NAMES = [
    "localhost",
    "LOCALHOST",
    "localhost.",
    "a.localhost",
    "ip6-localhost",
    "localhost.localdomain",
    "127.0.0.1.nip.io",
]
FULL_WIDTH = str.maketrans("0123456789.", "０１２３４５６７８９。")
CIRCLED = str.maketrans("123456789", "①②③④⑤⑥⑦⑧⑨")


def spelled(text: str) -> list[str]:
    """An IPv4 address as numbers of other bases, shortened, embedded in IPv6, encoded, and in other digits."""
    number = int(ipaddress.IPv4Address(text))
    parts = [int(part) for part in text.split(".")]
    high, low = f"{number >> 16:x}", f"{number & 0xFFFF:x}"
    return [
        text,
        f"{text}.",
        str(number),
        hex(number),
        f"0{number:o}",
        ".".join(map(hex, parts)),
        ".".join(f"0{part:o}" for part in parts),
        ".".join(f"{part:04o}" for part in parts),
        f"{parts[0]}.{number & 0xFFFFFF}",
        f"{parts[0]}.{parts[1]}.{number & 0xFFFF}",
        f"[::ffff:{text}]",
        f"[::ffff:{high}:{low}]",
        f"[::{text}]",
        f"[64:ff9b::{text}]",
        f"[2002:{high}:{low}::]",
        f"[0:0:0:0:0:ffff:{high}:{low}]",
        text.translate(FULL_WIDTH),
        text.translate(CIRCLED),
        text.replace(".", "%2e"),
        "".join(f"%{ord(character):02x}" for character in text),
    ]


def hosts() -> list[str]:
    found = list(itertools.chain.from_iterable(spelled(text) for text in FORBIDDEN))
    found += [f"[{text}]" for text in FORBIDDEN_6] + ["[::1%25lo]", "[0000:0000:0000:0000:0000:0000:0000:0001]"] + NAMES
    found += [f"{trick}@127.0.0.1" for trick in ("example.org", "example.org:443", "a:b")]
    found += [
        "127.0.0.1#@example.org",
        "127.0.0.1\\@example.org",
        "example.org\t@127.0.0.1",
        "127.0.0.1\x00.example.org",
    ]
    return list(dict.fromkeys(found))


class Listener:
    """Counts whoever comes, on all addresses of this machine."""

    def __init__(self) -> None:
        self.came = 0
        self.port = 0

    async def answer(self, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.came += 1
        writer.close()


@contextlib.asynccontextmanager
async def listening() -> AsyncIterator[Listener]:
    found = Listener()
    async with await asyncio.start_server(found.answer, "0.0.0.0", 0) as server:
        found.port = server.sockets[0].getsockname()[1]
        yield found


async def refused(outbound: Outbound, url: str) -> None:
    with pytest.raises(OutboundFailed) as found:
        await outbound.get(url, timeout_s=2)
    # Who was called in vain was called; what the client takes for no address was not.
    said = str(found.value)
    assert "no answer" not in said or said.endswith("InvalidURL"), url


@pytest.mark.timeout(300)
async def test_no_spelling_of_a_forbidden_address_is_dialled() -> None:
    async with listening() as listener, contextlib.aclosing(Closing()) as closing:
        for scheme, host in itertools.product(("https", "http"), hosts()):
            await refused(closing.outbound, f"{scheme}://{host}:{listener.port}/")
        assert listener.came == 0
        _, writer = await asyncio.open_connection("127.0.0.2", listener.port)
        writer.close()
        await until(lambda: listener.came == 1, "the listener to count whoever does come")
        tried = 2 * len(hosts())
    assert tried >= 200
    print(f"\nG21: {tried} spellings, 0 connections")


class Closing:
    def __init__(self, outbound: Outbound | None = None) -> None:
        self.outbound = outbound or Outbound()

    async def aclose(self) -> None:
        await self.outbound.close()


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("private", [*FORBIDDEN, *FORBIDDEN_6])
async def test_a_name_that_changes_its_mind_is_asked_once_and_all_of_its_addresses_count(
    private: str, place: int
) -> None:
    """Rebinding: public at first, private when it matters; or private among public ones."""
    asked = 0

    async def resolve(_host: str, _port: int) -> list[str]:
        nonlocal asked
        asked += 1
        public = ["93.184.216.34", "1.1.1.1"]
        return [*public[:place], private, *public[place:]] if asked == 1 else public

    async with contextlib.aclosing(Closing(Outbound(resolve=resolve))) as closing:
        await refused(closing.outbound, "https://rebinds.example/")
    assert asked == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_nobody_is_led_elsewhere(status: int) -> None:
    async with listening() as listener:
        targets = [
            f"http://127.0.0.1:{listener.port}/",
            f"//localhost:{listener.port}/",
            f"http://[::1]:{listener.port}",
        ]
        for target in targets:

            async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, to: str = target) -> None:
                await reader.readuntil(b"\r\n\r\n")
                writer.write(f"HTTP/1.1 {status} Go\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n".encode())
                await writer.drain()
                writer.close()

            async with (
                await asyncio.start_server(answer, "127.0.0.1", 0) as server,
                contextlib.aclosing(Closing(Outbound(allow_insecure_loopback=True))) as closing,
            ):
                port = server.sockets[0].getsockname()[1]
                got = await closing.outbound.get(f"http://127.0.0.1:{port}/")
                assert got.status == status
        assert listener.came == 0
