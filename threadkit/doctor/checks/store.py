"""The store: is it there, does it keep what it confirmed, has it room, is it new enough?"""

from typing import Any

from redis.asyncio import RedisCluster

from threadkit.doctor.model import Check
from threadkit.doctor.surroundings import About, Surroundings
from threadkit.errors import CannotStart
from threadkit.storage.checks import configured, durability_risks, is_writable
from threadkit.storage.client import Store
from threadkit.storage.stamp import stamp_store

# From these fixes on a series has no hole known to us: scripts that run foreign code (CVE-2025-49844 and its sisters) and
# freed memory used again (CVE-2026-23479). A series that is missing here and older than the newest gets no fixes any more.
SAFE_FROM = {
    "Redis": {(7, 2): 11, (7, 4): 6, (8, 0): 4, (8, 2): 2, (8, 6): 3},
    "Valkey": {(7, 2): 11, (8, 0): 6, (8, 1): 4, (9, 0): 4},
}
FULL, NEARLY_FULL = 0.9, 0.75

_reachable = About("store", "Store")
_stamp = About("stamp", "Data and secret")
_durable = About("persistence", "Nothing confirmed is lost")
_policy = About("memory_policy", "Memory policy")
_memory = About("memory", "Memory")
_version = About("store_version", "Store version")


async def store(here: Surroundings) -> Check:
    if not await here.store.ping():
        return _reachable.bad(
            f"The store at {here.store.address} does not answer.", "Is it running, and is redis_url right?"
        )
    if not await is_writable(here.store, here.keys):
        return _reachable.bad(
            f"The store at {here.store.address} takes no writes.",
            "Is it a replica, is its disk or memory full, or may its user only read?",
        )
    return _reachable.ok(f"The store at {here.store.address} answers and takes writes.")


async def stamp(here: Surroundings) -> Check:
    try:
        await stamp_store(here.store.redis, here.keys, here.keyring, here.clock)
    except CannotStart as error:
        what, _, fix = str(error).partition(". ")
        return _stamp.bad(f"{what}.", fix)
    return _stamp.ok("This version of ThreadKit can read the data, and has the secret it was made with.")


async def persistence(here: Surroundings) -> Check:
    failed = [
        name
        for node in await _info(here.store, "persistence")
        for name in ("aof_last_write_status", "aof_last_bgrewrite_status")
        if node.get("aof_enabled") == 1 and node.get(name, "ok") != "ok"
    ]
    if failed:
        return _durable.bad(
            f"The store could not write its journal: {', '.join(failed)}.",
            "Look at its log and at the disk's free space.",
        )
    risks = await durability_risks(here.store)
    if not risks:
        return _durable.ok("Every write is on disk before it is confirmed.")
    found = "; ".join(risks).capitalize() + "."
    fix = "Set appendonly yes, appendfsync always and no-appendfsync-on-rewrite no in the store's configuration."
    if here.settings.durability == "strict":
        return _durable.bad(found, f'{fix} Or accept the loss with durability = "relaxed".')
    return _durable.warning(found, fix)


async def memory_policy(here: Surroundings) -> Check:
    policies = await configured(here.store, "maxmemory-policy")
    if not policies:
        return _policy.unknown("The store keeps its configuration to itself.", "Ask whoever runs it for noeviction.")
    if wrong := policies - {"noeviction"}:
        return _policy.bad(
            f"maxmemory-policy is {' or '.join(sorted(wrong))}: when memory is full, comments are deleted.",
            "Set maxmemory-policy noeviction in the store's configuration.",
        )
    return _policy.ok("noeviction: a full store refuses writes and deletes nothing.")


async def memory(here: Surroundings) -> Check:
    """The fullest node counts."""
    shares = []
    for node in await _info(here.store, "memory"):
        used, limit = int(node.get("used_memory", 0)), int(node.get("maxmemory", 0))
        limit = limit or int(node.get("total_system_memory", 0))
        if limit:
            shares.append((used / limit, used, limit))
    if not shares:
        return _memory.unknown("The store does not say how much memory it has.")
    share, used, limit = max(shares)
    found = f"{_mb(used)} of {_mb(limit)} are used ({share:.0%})."
    fix = "Raise maxmemory or give the machine more memory; `threadkit memory` says what takes it."
    if share >= FULL:
        return _memory.bad(f"{found} A full store takes no comments.", fix)
    return _memory.warning(found, fix) if share >= NEARLY_FULL else _memory.ok(found)


async def store_version(here: Surroundings) -> Check:
    old = []
    for node in await _info(here.store, "server"):
        kind = "Valkey" if "valkey_version" in node else "Redis"
        version = str(node.get("valkey_version") or node.get("redis_version", "0"))
        if not is_safe_version(kind, version):
            old.append(f"{kind} {version}")
    if old:
        return _version.warning(
            f"{old[0]} has known security holes, unless your distribution has mended them.",
            "Update to the newest release of its series, or to the newest Valkey.",
        )
    return _version.ok(f"{kind} {version}.")


def is_safe_version(kind: str, version: str) -> bool:
    numbers = [int(part) if part.isdigit() else 0 for part in [*version.split("."), "0", "0"][:3]]
    series, patch = (numbers[0], numbers[1]), numbers[2]
    known = SAFE_FROM[kind]
    return patch >= known[series] if series in known else series > max(known)


async def _info(store: Store, section: str) -> list[dict[str, Any]]:
    """What each node of the store says of itself."""
    nodes = {"target_nodes": RedisCluster.ALL_NODES} if store.address.topology == "cluster" else {}
    answer = await store.redis.info(section, **nodes)
    return [each for each in answer.values() if isinstance(each, dict)] if nodes else [answer]


async def journal_bytes(store: Store) -> int:
    return max((int(node.get("aof_current_size", 0)) for node in await _info(store, "persistence")), default=0)


def _mb(size: int) -> str:
    return f"{size / 1e6:,.0f} MB" if size >= 1e7 else f"{size / 1e6:,.1f} MB"
