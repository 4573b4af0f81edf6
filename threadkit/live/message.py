"""What clients are told: JSON-RPC 2.0 notifications, encoded once however many receive them."""

import struct
from typing import Any

import msgspec

_encode = msgspec.json.Encoder().encode


class Message:
    """One notification, as JSON and as the WebSocket frame that carries it."""

    __slots__ = ("frame", "json", "method", "params")

    def __init__(self, method: str, params: Any) -> None:
        self.method = method
        self.params = params
        self.json = _encode({"jsonrpc": "2.0", "method": method, "params": params})
        self.frame = text_frame(self.json)


def text_frame(payload: bytes) -> bytes:
    """A whole text message from a server: one frame, not masked (RFC 6455, 5.2), so it is the same for everybody."""
    length = len(payload)
    if length < 126:
        return bytes((0x81, length)) + payload
    if length < 65_536:
        return struct.pack("!BBH", 0x81, 126, length) + payload
    return struct.pack("!BBQ", 0x81, 127, length) + payload


def error(code: str, message: str) -> Message:
    return Message("error", {"code": code, "message": message})


def restart(retry_after_ms: int) -> Message:
    return Message("restart", {"retry_after_ms": retry_after_ms})


def resync(page_id: str | None) -> Message:
    """Something was or may have been missed: load the page again, or ask `/v1/changes`."""
    return Message("resync", {"page_id": page_id})
