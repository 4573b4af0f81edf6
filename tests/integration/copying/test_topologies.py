"""Whole servers moved from one store to another: single, cluster, Sentinel, and back."""

import msgspec
from redis import Redis as SyncRedis
from redis.asyncio import Redis

from tests.integration.backup import stores
from tests.integration.backup.stores import do
from tests.integration.copying.life import ELSEWHERE, Life, goes_on, lived, seen, serving
from tests.integration.topologies.conftest import cluster, sentinel, topology
from tests.integration.topologies.nodes import on_both, on_cluster
from tests.integration.topologies.servers import Topology
from threadkit.keyring import Keyring
from threadkit.pages.model import page_id_of
from threadkit.settings import Settings
from threadkit.storage.bundled import BundledStore
from threadkit.storage.client import StoreAddress, parse_url

__all__ = ["cluster", "sentinel", "topology"]


async def populated(address: StoreAddress, settings: Settings, keyring: Keyring) -> tuple[Life, dict[str, str]]:
    async with serving(address, settings, keyring) as (app, http):
        life = await lived(app, http)
        return life, await seen(http, life)


def lasting(state: stores.State) -> stores.State:
    """What passes may have passed, and what was in the store before is none of it."""
    return {key: kept for key, kept in state.items() if kept[1] == -1}


def url_of(bundled: BundledStore, db: int = 0) -> str:
    return f"unix://{bundled.address.path}?db={db}"


@on_both
async def test_a_server_on_the_copy_tells_the_same_and_goes_on(
    topology: Topology, bundled: BundledStore, redis: Redis, settings: Settings, keyring: Keyring
) -> None:
    life, before = await populated(bundled.address, settings, keyring)
    said = do("copy", "--from", url_of(bundled), "--to", topology.url)
    assert "Everything is there, and the same" in said
    assert "Every index of the copy agrees: 7 comments" in said
    assert "Left behind" not in said
    async with serving(parse_url(topology.url), settings, keyring) as (app, http):
        assert await seen(http, life) == before
        deep = await app.services.deep_doctor.run()
        assert (deep.exit_code, deep.found) == (0, [])
        await goes_on(http, life)
        deep = await app.services.deep_doctor.run()
        assert (deep.exit_code, deep.found) == (0, [])


@on_cluster
async def test_there_and_back_again_everything_is_as_it_was(
    topology: Topology, bundled: BundledStore, redis: Redis, settings: Settings, keyring: Keyring
) -> None:
    life, _ = await populated(bundled.address, settings, keyring)
    looked_at = page_id_of(life.blog.site.id, ELSEWHERE)
    assert await redis.hexists(f"site:{life.blog.site.id}:viewed:unwritten", looked_at)
    # As stores from before have it.
    await redis.set(f"page:{looked_at}:views", 1)
    await redis.sadd(f"site:{life.blog.site.id}:viewed", looked_at)
    assert not await redis.exists(f"page:{looked_at}"), "nothing but the site's list says whose it is"
    said = do("copy", "--from", url_of(bundled), "--to", topology.url, "--to-prefix", "there:", "--json")
    counts = msgspec.json.decode(said)["counts"]
    for kind in ("page:{page_id}:views", "session:{session_id}", "idempotency:{request}", "site:{site_id}:modlog"):
        source, target = counts[kind]
        assert source == target > 0, kind
    source, target = counts["votes:{user_id}:pages"]
    assert target > source, "nobody voted on two sites"
    do("copy", "--from", topology.url, "--to", url_of(bundled, 1), "--from-prefix", "there:", "--to-prefix", "back:")
    with SyncRedis(unix_socket_path=bundled.address.path) as first:
        was = lasting(stores.state(first))
    with SyncRedis(unix_socket_path=bundled.address.path, db=1) as second:
        is_now = lasting(stores.state(second))
        second.flushdb()
    assert {key.removeprefix(b"back:"): kept for key, kept in is_now.items()} == was
    assert all(key.startswith(b"back:") for key in is_now)
    for server in topology.primaries:  # what the guard over keys knows has no prefix
        server.ask("FLUSHALL")
