"""Looks through the whole store for what must not be in it any more."""

import base64
import hashlib
from collections.abc import Collection, Iterable
from typing import Any

from redis.asyncio import Redis


async def every_value(redis: Redis) -> dict[str, str]:
    """Every key of the store with its value as text, of whatever type it is."""
    found: dict[str, str] = {}
    async for key in redis.scan_iter(count=1000):
        value: Any
        match await redis.type(key):
            case "string":
                # A HyperLogLog is no text; what it counted cannot be read from it.
                value = await redis.getrange(key, 0, 3) != "HYLL" and await redis.get(key)
            case "hash":
                value = await redis.hgetall(key)
            case "set":
                value = await redis.smembers(key)
            case "zset":
                value = await redis.zrange(key, 0, -1)
            case "stream":
                value = await redis.xrange(key)
            case "none":  # it ended meanwhile
                continue
            case kind:
                raise AssertionError(f"{key} is a {kind}, and nobody looks into it")
        found[str(key)] = repr(value)
    return found


def spellings(secrets: Iterable[str]) -> set[str]:
    """Each as it is, and in the forms in which a program might have kept it."""
    found: set[str] = set()
    for text in secrets:
        for form in {text, text.lower()}:
            raw = form.encode()
            found |= {form, raw.hex(), base64.b64encode(raw).decode().rstrip("=")}
            found |= {hashlib.new(kind, raw).hexdigest()[:16] for kind in ("md5", "sha1", "sha256", "sha512")}
    return found


async def traces(redis: Redis, secrets: Iterable[str], *, but: Collection[str] = ()) -> list[str]:
    """Where any of it stands; `but` are beginnings of keys that may hold it."""
    sought = spellings(secrets)
    everything = await every_value(redis)
    assert everything, "an empty store proves nothing"
    return sorted(
        f"{text} in {key}: {value[:400]}"
        for key, value in everything.items()
        for text in sought
        if not key.startswith(tuple(but)) and (text in key or text in value)
    )
