"""Somebody who floods a server of ours, in a process of their own: `python -m tests.faults.flooder PORT KEY KIND SOCKETS ADDRESSES NETWORK SECONDS`.

Every socket sends as fast as it is read. A closed one comes again after a moment, as attackers do. At the end it prints, as JSON,
how often it was thrown out, how long the longest stay was, and how much was sent.
"""

import asyncio
import contextlib
import json
import sys
import time
from dataclasses import dataclass

from tests.integration.live.raw import PING, frame

PIECE_BYTES = 64 * 1024
COMES_AGAIN_S = 0.1

_CONTINUED = 0x0
_UPGRADE = (
    b"GET /ws?project_id=KEY HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
    b"sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13\r\n\r\n"
)
_POST = (
    b"POST /v1/comments/preview HTTP/1.1\r\nhost: x\r\nprojectid: KEY\r\n"
    b"content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
)
_VERSION = b"GET /version HTTP/1.1\r\nhost: x\r\n"
_READ = b"GET /v1/comments?key=KEY&page_url=https://blog.example.org/a HTTP/1.1\r\nhost: x\r\n\r\n"

# What is sent first, and then again and again.
SOCKETS = {
    "pings": (b"", frame(b"", opcode=PING)),
    "continuations": (frame(b"x", final=False), frame(b"", opcode=_CONTINUED, final=False)),
    "letters": (b"", frame(b"x")),
}
# As much as is allowed, which nobody is thrown out for.
PATIENT = {"patient": (b"", frame(b"", opcode=PING))}
PINGS_AT_A_TIME, PATIENT_PAUSE_S = 39, 1.0
REQUESTS = {
    "chunks": (_POST, b"1\r\nx\r\n"),
    "headers": (_VERSION, b"a: b\r\n"),
    "pipelines": (b"", _VERSION + b"\r\n"),
    "reads": (b"", _READ),
}


@dataclass
class Flood:
    port: int
    key: str
    kind: str
    until_s: float
    sent_bytes: int = 0
    thrown_out: int = 0
    refused: int = 0
    longest_stay_s: float = 0.0

    async def one(self, address: str) -> None:
        while time.monotonic() < self.until_s:
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port, local_addr=(address, 0))
            except OSError:
                self.refused += 1
            else:
                with contextlib.suppress(OSError):
                    await self._stay(reader, writer)
                writer.transport.abort()
            await asyncio.sleep(COMES_AGAIN_S)

    async def _stay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.kind in SOCKETS | PATIENT:
            writer.write(self._keyed(_UPGRADE))
            if not (await reader.readline()).startswith(b"HTTP/1.1 101"):
                self.refused += 1
                return
        first, unit = map(self._keyed, (SOCKETS | PATIENT | REQUESTS)[self.kind])
        piece = unit * (PINGS_AT_A_TIME if self.kind in PATIENT else PIECE_BYTES // len(unit))
        began_s = time.monotonic()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.until_s - began_s):
                sending = asyncio.create_task(self._send(writer, first, piece))
                try:
                    with contextlib.suppress(OSError):
                        while await reader.read(65_536):
                            pass
                finally:
                    sending.cancel()
                    self.longest_stay_s = max(self.longest_stay_s, time.monotonic() - began_s)
                self.thrown_out += 1

    def _keyed(self, data: bytes) -> bytes:
        return data.replace(b"KEY", self.key.encode())

    async def _send(self, writer: asyncio.StreamWriter, first: bytes, piece: bytes) -> None:
        writer.write(first)
        with contextlib.suppress(OSError):
            while True:
                writer.write(piece)
                await writer.drain()
                self.sent_bytes += len(piece)
                await asyncio.sleep(PATIENT_PAUSE_S if self.kind in PATIENT else 0)


async def flood(port: int, key: str, kind: str, sockets: int, addresses: int, network: str, seconds: float) -> Flood:
    doing = Flood(port, key, kind, time.monotonic() + seconds)
    print("started", flush=True)
    await asyncio.gather(*(doing.one(f"{network}.{1 + number % addresses}") for number in range(sockets)))
    return doing


if __name__ == "__main__":
    port, key, kind, sockets, addresses, network, seconds = sys.argv[1:]
    done = asyncio.run(flood(int(port), key, kind, int(sockets), int(addresses), network, float(seconds)))
    print(
        json.dumps(
            {
                "thrown_out": done.thrown_out,
                "refused": done.refused,
                "longest_stay_s": round(done.longest_stay_s, 2),
                "sent_mb": round(done.sent_bytes / 1e6, 1),
            }
        )
    )
