"""The store: is it there, does it keep what it confirmed, has it room, is it new enough?"""

from typing import Any

from redis.asyncio import RedisCluster

from threadkit.doctor.model import Check
from threadkit.doctor.surroundings import Surroundings
from threadkit.errors import CannotStart
from threadkit.storage.checks import configured, durability_risks, is_writable
from threadkit.storage.client import Store
from threadkit.storage.room import memory_limit
from threadkit.storage.stamp import WrongStamp, stamp_store
from threadkit.storage.store_program import find_program

# From these fixes on a series has no hole known to us: scripts that run foreign code (CVE-2025-49844 and its sisters) and
# freed memory used again (CVE-2026-23479). A series that is missing here and older than the newest gets no fixes any more.
SAFE_FROM = {
    "Redis": {(7, 2): 11, (7, 4): 6, (8, 0): 4, (8, 2): 2, (8, 6): 3},
    "Valkey": {(7, 2): 11, (8, 0): 6, (8, 1): 4, (9, 0): 4},
}
FULL, NEARLY_FULL = 0.9, 0.75


async def store(here: Surroundings) -> Check:
    about, address = here.about("store"), str(here.store.address)
    if not await here.store.ping():
        return about.bad("no_answer", address=address)
    if not await is_writable(here.store, here.keys):
        return about.bad("no_writes", address=address)
    return about.ok("well", address=address)


async def stamp(here: Surroundings) -> Check:
    about = here.about("stamp")
    if not await here.store.redis.exists(here.keys.shared.stamp()):
        return about.ok("well")  # a server makes one, and has the secret it is made with
    try:
        await stamp_store(here.store.redis, here.keys, here.keyring, here.clock)
    except WrongStamp as error:
        return about.bad(error.why, **error.facts)
    return about.ok("well")


async def persistence(here: Surroundings) -> Check:
    about = here.about("persistence")
    failed = [
        name
        for node in await _info(here.store, "persistence")
        for name in ("aof_last_write_status", "aof_last_bgrewrite_status")
        if node.get("aof_enabled") == 1 and node.get(name, "ok") != "ok"
    ]
    if failed:
        return about.bad("journal", names=failed)
    risks = await durability_risks(here.store)
    if not risks:
        return about.ok("well")
    told = here.words.clauses([here.words(f"persistence.risk_{risk.name}", values=risk.values) for risk in risks])
    if here.settings.durability == "strict":
        return about.bad("not_accepted", risks=told, code='durability = "relaxed"')
    return about.warning("accepted", risks=told)


async def memory_policy(here: Surroundings) -> Check:
    about = here.about("memory_policy")
    policies = await configured(here.store, "maxmemory-policy")
    if not policies:
        return about.unknown("silent")
    if wrong := policies - {"noeviction"}:
        return about.bad("deletes", policies=sorted(wrong))
    return about.ok("well")


async def memory(here: Surroundings) -> Check:
    """The fullest node counts."""
    about, shares = here.about("memory"), []
    for node in await _info(here.store, "memory"):
        used, limit = int(node.get("used_memory", 0)), memory_limit(int(node.get("maxmemory", 0)))
        limit = limit or int(node.get("total_system_memory", 0))
        if limit:
            shares.append((used / limit, used, limit))
    if not shares:
        return about.unknown("silent")
    share, used, limit = max(shares)
    facts = {"used": _mb(used), "limit": _mb(limit), "percent": round(share * 100)}
    if share >= FULL:
        return about.bad("full", **facts)
    return about.warning("used", **facts) if share >= NEARLY_FULL else about.ok("used", **facts)


async def store_version(here: Surroundings) -> Check:
    about, old = here.about("store_version"), []
    for node in await _info(here.store, "server"):
        kind = "Valkey" if "valkey_version" in node else "Redis"
        version = str(node.get("valkey_version") or node.get("redis_version", "0"))
        if not is_safe_version(kind, version):
            old.append(f"{kind} {version}")
    if old:
        return about.warning("old", version=old[0])
    return about.ok("well", version=f"{kind} {version}")


async def store_program(here: Surroundings) -> Check:
    about = here.about("store_program")
    if here.settings.redis_url:
        return about.ok("outside")
    try:
        program = find_program(here.settings.store_program)
    except CannotStart as error:
        return about.bad("refused", problem=str(error))
    if program.is_bundled:
        return about.ok("well", version=f"{program.kind} {program.version}")
    return about.ok("own", path=program.path, version=f"{program.kind} {program.version}")


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


def _mb(size: int) -> int | float:
    return round(size / 1e6) if size >= 1e7 else round(size / 1e6, 1)
