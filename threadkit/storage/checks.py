"""What the store must promise before we put anybody's words into it."""

import asyncio
import time
from dataclasses import dataclass, field
from typing import Any, Literal

import structlog
from redis.asyncio import RedisCluster
from redis.exceptions import (
    AuthenticationError,
    BusyLoadingError,
    NoPermissionError,
    OutOfMemoryError,
    RedisError,
    ResponseError,
)

from threadkit.errors import CannotStart
from threadkit.settings import Settings
from threadkit.storage.client import Commands, Store
from threadkit.storage.keys import Keys
from threadkit.storage.store_time import agree_on_time

OLDEST_VERSION = (7, 0)
LOOK_AGAIN_S, TELL_EVERY_S = 0.5, 5.0

log = structlog.get_logger()


@dataclass(frozen=True)
class Risk:
    """One way in which what was confirmed can be lost. `name` is for programs, `values` are those the store has."""

    name: Literal["unknown", "no_journal", "fsync", "rewrite"]
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        return _RISKS[self.name].format(values=" or ".join(self.values))


_RISKS = {
    "unknown": "it does not let us read its configuration, so nothing about its persistence is known",
    "no_journal": "appendonly is off, so a crash loses everything since the last snapshot",
    "fsync": "appendfsync is {values}, so a crash can lose the last seconds",
    "rewrite": "no-appendfsync-on-rewrite is yes, so a crash during a rewrite can lose up to 30 seconds",
}


@dataclass(frozen=True)
class StoreHealth:
    """What was found. `risks` are what an owner who chose `durability = "relaxed"` lives with."""

    version: str
    risks: list[str] = field(default_factory=list)


class StoreAway(CannotStart):
    """Nobody answers there, or not yet."""


class StoreLoading(StoreAway):
    """It reads its data, and will answer."""


async def check_store(store: Store, keys: Keys, settings: Settings, *, waits: bool = True) -> StoreHealth:
    """Refuse a store that would lose comments; each refusal says what to change. One that reads its data is waited for. From then
    on its time is ours."""
    told_at = -TELL_EVERY_S
    while True:
        try:
            return await _check(store, keys, settings)
        except StoreLoading as error:
            if not waits:
                raise
            if time.monotonic() >= told_at + TELL_EVERY_S:
                told_at = time.monotonic()
                log.warning("store_loads", why=str(error))
            await asyncio.sleep(LOOK_AGAIN_S)


async def _check(store: Store, keys: Keys, settings: Settings) -> StoreHealth:
    where = str(store.address)
    try:
        await store.redis.ping()
        await agree_on_time(store.redis)
        info = await _server_info(store.redis)
        await _run_lua(store.redis, keys)
    except AuthenticationError as error:
        raise CannotStart(f"The store at {where} refused our password: {error}") from error
    except NoPermissionError as error:
        raise CannotStart(f"The store's user may not do what ThreadKit needs at {where}: {error}") from error
    except BusyLoadingError as error:
        raise StoreLoading(f"The store at {where} reads its data: {await _progress(store)}.") from error
    except (RedisError, OSError) as error:
        raise StoreAway(
            f"The store at {where} cannot be reached: {_reason(error)}. Is redis_url right, and is the server running?"
        ) from error
    version = info.get("valkey_version") or info.get("redis_version", "0")
    if tuple(int(part) for part in str(version).split(".")[:2]) < OLDEST_VERSION:
        raise CannotStart(f"The store at {where} is version {version}; ThreadKit needs Redis 7.0 or Valkey.")
    try:
        await _write(store, keys)
    except (RedisError, OSError) as error:
        if not refuses_for_now(error):
            raise CannotStart(
                f"The store at {where} takes no writes. Is it a replica, or is the user read-only?"
            ) from error
    policies = await configured(store, "maxmemory-policy") - {"noeviction"}
    if policies:
        raise CannotStart(
            f"The store at {where} has maxmemory-policy {' or '.join(sorted(policies))}: "
            "when its memory is full it would delete comments. Set maxmemory-policy noeviction there."
        )
    risks = [str(risk) for risk in await durability_risks(store)]
    if risks and settings.durability == "strict":
        raise CannotStart(
            f"The store at {where} can lose what it has confirmed: {'; '.join(risks)}. "
            'Set appendonly yes and appendfsync always there, or accept the loss with durability = "relaxed".'
        )
    return StoreHealth(str(version), risks)


async def is_writable(store: Store, keys: Keys) -> bool:
    """A harmless write, since read-only credentials look fine until the first comment (S2-42)."""
    try:
        await _write(store, keys)
    except (RedisError, OSError):
        return False
    return True


def refuses_for_now(error: Exception) -> bool:
    """Its disk or memory is full, or its replicas are away: reading goes on, and it will take writes again."""
    return isinstance(error, OutOfMemoryError) or any(word in str(error) for word in ("MISCONF", "NOREPLICAS"))


async def _write(store: Store, keys: Keys) -> None:
    await store.redis.set(keys.shared.write_probe(), "1", ex=1)


async def _progress(store: Store) -> str:
    try:
        facts = _of_first_node(await store.redis.info("persistence"))
        return f"{float(facts['loading_loaded_perc']):.0f} %, {facts['loading_eta_seconds']} s to go"
    except (RedisError, OSError, KeyError, ValueError):
        return "it does not say how far it is"


async def _server_info(redis: Commands) -> dict[str, str]:
    return _of_first_node(await redis.info("server"))


async def _run_lua(redis: Commands, keys: Keys) -> None:
    """Valkey can be built without Lua; better to know now than at the first comment."""
    try:
        answer = await redis.execute_command(
            "EVAL", "return cjson.encode({KEYS[1] and 1})", 1, keys.shared.write_probe()
        )
    except ResponseError as error:
        raise CannotStart(f"The store cannot run Lua scripts: {error}") from error
    if answer != "[1]":
        raise CannotStart("The store runs Lua scripts in an unexpected way.")


async def durability_risks(store: Store) -> list[Risk]:
    appendonly = await configured(store, "appendonly")
    if not appendonly:
        return [Risk("unknown")]
    if appendonly != {"yes"}:
        return [Risk("no_journal")]
    risks = []
    fsync = await configured(store, "appendfsync") - {"always"}
    if fsync:
        risks.append(Risk("fsync", tuple(sorted(fsync))))
    if "yes" in await configured(store, "no-appendfsync-on-rewrite"):
        risks.append(Risk("rewrite"))
    return risks


async def configured(store: Store, name: str) -> set[str]:
    """The values that the nodes of the store have, or nothing where hosted stores keep it to themselves."""
    nodes = {"target_nodes": RedisCluster.ALL_NODES} if store.address.topology == "cluster" else {}
    try:
        answer = await store.redis.config_get(name, **nodes)
    except ResponseError:
        return set()
    except (RedisError, OSError) as error:
        raise StoreAway(f"The store at {store.address} cannot be reached: {_reason(error)}.") from error
    # Several nodes answer each for itself, a single one does not say who it is.
    answers = [each for each in answer.values() if isinstance(each, dict)] or [answer]
    return {str(each[name]) for each in answers if name in each}


def _of_first_node(answer: dict[str, Any]) -> dict[str, str]:
    """A cluster answers for each of its nodes; they are meant to be alike."""
    first = next(iter(answer.values()), None)
    return first if isinstance(first, dict) else answer


def _reason(error: Exception) -> str:
    text = str(error).strip().rstrip(".")
    return text or type(error).__name__
