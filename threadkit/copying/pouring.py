"""Values that are too large to travel in one piece: a store takes at most 512 MB at once."""

from typing import Any

from threadkit.copying.side import Side

LARGE = 128 << 20
CHUNK = 1_000


async def pour(source: Side, target: Side, source_key: bytes, target_key: bytes, expires_ms: int) -> None:
    """Piece by piece into a key that is made anew."""
    await target.ask_one("UNLINK", target_key)
    match await source.ask_one("TYPE", source_key):
        case b"hash":
            await _scanned(source, target, "HSCAN", source_key, "HSET", target_key)
        case b"set":
            await _scanned(source, target, "SSCAN", source_key, "SADD", target_key)
        case b"zset":
            await _scanned(source, target, "ZSCAN", source_key, "ZADD", target_key)
        case b"stream":
            await _entries(source, target, source_key, target_key)
    if expires_ms >= 0:
        await target.ask_one("PEXPIREAT", target_key, expires_ms)


async def _scanned(source: Side, target: Side, scan: str, source_key: bytes, add: str, target_key: bytes) -> None:
    cursor: Any = b"0"
    while True:
        cursor, found = await source.ask_one(scan, source_key, cursor, "COUNT", CHUNK)
        if add == "ZADD":  # which wants the score first
            found = [part for place in range(0, len(found), 2) for part in (found[place + 1], found[place])]
        if found:
            await target.ask_one(add, target_key, *found)
        if cursor == b"0":
            return


async def _entries(source: Side, target: Side, source_key: bytes, target_key: bytes) -> None:
    after = b"-"
    while found := await source.ask_one("XRANGE", source_key, after, "+", "COUNT", CHUNK):
        await target.ask([("XADD", target_key, number, *fields) for number, fields in found])
        after = b"(" + found[-1][0]
    facts = await source.ask_one("XINFO", "STREAM", source_key)
    await target.ask_one(
        *("XSETID", target_key, facts[b"last-generated-id"]),
        *("ENTRIESADDED", facts[b"entries-added"], "MAXDELETEDID", facts[b"max-deleted-entry-id"]),
    )
