"""Going through all keys of the store in batches, on however many nodes they are."""

from collections.abc import AsyncIterator

from threadkit.storage.client import Store

BATCH = 500


async def key_batches(store: Store) -> AsyncIterator[list[str]]:
    """Every key that is there all the time, at least once. A primary that changes meanwhile ends the scan in an error."""
    client = store.redis
    if store.address.topology != "cluster":
        cursor = -1
        while cursor:
            cursor, found = await client.scan(max(cursor, 0), count=BATCH)
            yield found
        return
    await client.initialize()
    for node in client.get_primaries():
        cursor = -1
        while cursor:
            cursors, found = await client.scan(max(cursor, 0), count=BATCH, target_nodes=node)
            cursor = cursors[node.name]
            yield found


async def key_count(store: Store) -> int:
    """About how many keys there are."""
    if store.address.topology != "cluster":
        return int(await store.redis.dbsize())
    await store.redis.initialize()
    counts = [await store.redis.dbsize(target_nodes=node) for node in store.redis.get_primaries()]
    return sum(map(int, counts))
