"""How the store fares, for whoever runs the server: memory, persistence, slow commands, and what its keys are about.

Hosted stores keep some of it to themselves; what they do not tell is named and not guessed.
"""

import asyncio
import re
from typing import Any

from msgspec import Struct
from redis.asyncio import RedisCluster
from redis.exceptions import ResponseError

from threadkit.clock import Clock, iso
from threadkit.storage.client import Store
from threadkit.storage.footprint import FootprintService
from threadkit.storage.keys import Keys
from threadkit.storage.room import memory_limit

KEPT_MS = 5000
SLOW_SHOWN = 20
MOST_SAMPLED = 10_000
_COMMAND = re.compile(r"[A-Za-z.]{1,30}")
_CONFIG = "CONFIG GET"
_SLOWLOG = "SLOWLOG GET"


class SlowCommand(Struct):
    """The name of a command alone: what it was about is people's data."""

    at: str
    command: str
    took_ms: float


class NodeReport(Struct, kw_only=True):
    """One server of the store. Null is what it does not tell; `not_available` names what it refuses to be asked."""

    version: str | None
    uptime_s: int | None
    memory_used: int | None
    memory_peak: int | None
    memory_limit: int | None
    """Null when there is none."""
    memory_policy: str | None
    aof_enabled: bool | None
    aof_fsync: str | None
    aof_last_write_ok: bool | None
    aof_last_rewrite_ok: bool | None
    aof_rewrite_running: bool | None
    snapshot_last_at: str | None
    snapshot_last_ok: bool | None
    clients: int | None
    blocked_clients: int | None
    ops_per_second: int | None
    slow: list[SlowCommand] | None
    not_available: list[str]


class Family(Struct):
    """Keys of one line of the schema; `keys` is estimated where not all were looked at."""

    about: str
    pattern: str
    keys: int


class StoreReport(Struct, kw_only=True):
    at: str
    topology: str
    nodes: list[NodeReport]
    keys: int
    sampled: int
    """How many keys were looked at to tell the families."""
    families: list[Family]


class StoreReports:
    def __init__(self, *, store: Store, keys: Keys, clock: Clock) -> None:
        self._store = store
        self._keys = keys
        self._clock = clock
        self._footprint = FootprintService(redis=store.redis, keys=keys)
        self._looking = asyncio.Lock()
        self._last: tuple[StoreReport, int] | None = None

    async def newest(self) -> StoreReport:
        """At most some seconds old, however many ask."""
        async with self._looking:
            now_ms = self._clock.now_ms()
            if self._last is None or now_ms >= self._last[1]:
                self._last = (await self._look(now_ms), now_ms + KEPT_MS)
            return self._last[0]

    async def _look(self, now_ms: int) -> StoreReport:
        redis = self._store.redis
        infos = _by_node(await redis.info(**self._nodes), lambda answer: "redis_version" in answer)
        fsync = await self._asked(redis.config_get, "appendfsync")
        slow = await self._asked(redis.slowlog_get, SLOW_SHOWN)
        fsyncs = None if fsync is None else _by_node(fsync, lambda answer: "appendfsync" in answer)
        slows = None if slow is None else _by_node(slow, lambda answer: isinstance(answer, list))
        nodes = [
            _node(
                info,
                fsync=fsyncs.get(name, {}).get("appendfsync") if fsyncs is not None else None,
                slow=slows.get(name) if slows is not None else None,
                refused=[what for what, found in ((_CONFIG, fsync), (_SLOWLOG, slow)) if found is None],
            )
            for name, info in sorted(infos.items())
        ]
        total = int(await redis.dbsize(**self._nodes))
        sample = await self._footprint.sample(most=MOST_SAMPLED)
        return StoreReport(
            at=iso(now_ms),
            topology=self._store.address.topology,
            nodes=nodes,
            keys=total,
            sampled=sample.seen,
            families=[
                Family(kind.value, pattern, round(count * max(total, sample.seen) / sample.seen))
                for (kind, pattern), count in sorted(sample.counts.items(), key=lambda one: -one[1])
            ],
        )

    @property
    def _nodes(self) -> dict[str, Any]:
        return {"target_nodes": RedisCluster.PRIMARIES} if self._store.address.topology == "cluster" else {}

    async def _asked(self, ask: Any, *words: Any) -> Any:
        """None when the store may not be asked this."""
        try:
            return await ask(*words, **self._nodes)
        except ResponseError:
            return None


def _by_node(answer: Any, is_one: Any) -> dict[str, Any]:
    """A cluster answers for each node by its name; a single server only for itself."""
    return {"": answer} if is_one(answer) or not isinstance(answer, dict) else answer


def _node(
    info: dict[str, Any], *, fsync: str | None, slow: list[dict[str, Any]] | None, refused: list[str]
) -> NodeReport:
    version = info.get("valkey_version")
    saved_s = _number(info, "rdb_last_save_time")
    return NodeReport(
        version=f"Valkey {version}" if version else f"Redis {info.get('redis_version', '')}".strip(),
        uptime_s=_number(info, "uptime_in_seconds"),
        memory_used=_number(info, "used_memory"),
        memory_peak=_number(info, "used_memory_peak"),
        memory_limit=memory_limit(_number(info, "maxmemory") or 0) or None,
        memory_policy=info.get("maxmemory_policy"),
        aof_enabled=_is(info, "aof_enabled", 1),
        aof_fsync=fsync,
        aof_last_write_ok=_is(info, "aof_last_write_status", "ok"),
        aof_last_rewrite_ok=_is(info, "aof_last_bgrewrite_status", "ok"),
        aof_rewrite_running=_is(info, "aof_rewrite_in_progress", 1),
        snapshot_last_at=iso(saved_s * 1000) if saved_s else None,
        snapshot_last_ok=_is(info, "rdb_last_bgsave_status", "ok"),
        clients=_number(info, "connected_clients"),
        blocked_clients=_number(info, "blocked_clients"),
        ops_per_second=_number(info, "instantaneous_ops_per_sec"),
        slow=None if slow is None else [_slow(entry) for entry in slow],
        not_available=refused,
    )


def _slow(entry: dict[str, Any]) -> SlowCommand:
    command = entry["command"]
    text = command.decode(errors="replace") if isinstance(command, bytes) else str(command)
    name = _COMMAND.match(text)
    return SlowCommand(iso(int(entry["start_time"]) * 1000), name[0].upper() if name else "", entry["duration"] / 1000)


def _number(info: dict[str, Any], name: str) -> int | None:
    return int(info[name]) if name in info else None


def _is(info: dict[str, Any], name: str, value: object) -> bool | None:
    return info[name] == value if name in info else None
