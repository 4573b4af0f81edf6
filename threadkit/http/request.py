"""Our request: bodies are JSON only when they say so, and strict JSON then."""

import re
from collections.abc import AsyncGenerator
from typing import Any

import msgspec
from litestar import Request as LitestarRequest
from litestar.exceptions import ClientException, InternalServerException

from threadkit.errors import InvalidJson, NotJson, TooLarge
from threadkit.settings import Settings

# Strings are matched first, so that what they contain is not taken for structure. Of numbers, only whole ones that no
# 64-bit counter could hold are found.
_SUSPECTS = re.compile(rb'"(?:[^"\\]|\\.)*"|(?<![\d.eE+-])-?\d{20,}(?![\d.eE])', re.DOTALL)
_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")


class Request(LitestarRequest[Any, Any, Any]):
    async def body(self) -> bytes:
        is_form = self.route_handler.opt.get("form", False)
        may_be_empty = self.route_handler.opt.get("may_be_empty", False)
        if not may_be_empty and not is_form and not _says_json(self.content_type[0]):
            raise NotJson
        try:
            body = await super().body()
        except InternalServerException:  # the library's word for somebody who went away in the middle
            raise InvalidJson(why="it was not sent to the end") from None
        except ClientException as error:
            raise InvalidJson(why=error.detail) from None
        if may_be_empty and not body:
            return b"{}"
        if not is_form and not _says_json(self.content_type[0]):
            raise NotJson
        if not body and not is_form:
            raise InvalidJson(why="it is empty")
        return body

    async def stream(self) -> AsyncGenerator[bytes, None]:
        settings: Settings = self.scope["state"]["services"].settings
        has_text = self.route_handler.opt.get("form") or self.route_handler.opt.get("text")
        limit = settings.text_limit if has_text else settings.body_limit
        received = 0
        if (self.content_length or 0) > limit:
            raise TooLarge(limit=limit)
        async for chunk in super().stream():
            received += len(chunk)
            if received > limit:
                raise TooLarge(limit=limit)
            yield chunk

    async def json(self) -> Any:
        return strict_json(await self.body())


def strict_json(body: bytes) -> Any:
    """Decode JSON, refusing what other programs would stumble over later."""
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidJson(why="it is not UTF-8") from None
    if b"\x00" in body or _NUL.search(body):
        raise InvalidJson(why="it contains a NUL character")
    try:
        decoded = msgspec.json.decode(body)
    except RecursionError:
        raise InvalidJson(why="it is nested too deeply") from None
    except msgspec.DecodeError as error:
        raise InvalidJson(why=str(error)) from None
    # Only now: on a string that never ends this search would take quadratic time.
    for found in _SUSPECTS.finditer(body):
        if not found[0].startswith(b'"'):
            raise InvalidJson(why="a number is too large")
    return decoded


def _says_json(content_type: str) -> bool:
    kind = content_type.lower()
    return kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))
