"""The keyspace guard: whatever a test wrote must be in the schema, with that type, and a TTL only if it has one."""

from redis.asyncio import Redis

from threadkit.storage.keys import schema_entries


async def assert_keys_are_known(redis: Redis, prefix: str = "") -> None:
    problems = []
    keys = [str(found) async for found in redis.scan_iter(count=1000)]
    async with redis.pipeline(transaction=False) as pipe:
        for key in keys:
            pipe.type(key)
            pipe.ttl(key)
        known = await pipe.execute() if keys else []
    for key, kind, ttl in zip(keys, known[::2], known[1::2], strict=True):
        assert key.startswith(prefix), f"{key} was written outside the prefix {prefix}"
        entries = schema_entries(key.removeprefix(prefix))
        if len(entries) != 1:
            problems.append(f"{key} matches {len(entries)} entries of the schema")
            continue
        if kind == "none":  # expired between the scan and now
            continue
        if kind not in entries[0].kind.split(" or "):
            problems.append(f"{key} is a {kind!r}, the schema says {entries[0].kind}")
        limit = entries[0].ttl_s
        if (limit is None) != (ttl == -1) or (limit is not None and ttl > limit):
            problems.append(f"{key} has a TTL of {ttl}, the schema says {limit}")
    assert not problems, "\n".join(problems)
