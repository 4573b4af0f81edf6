"""Lua scripts: a verb each, run as one atomic step.

A slice keeps its scripts in `lua/`, and one wrapper class each in `scripts.py`, which alone knows the order of KEYS and
ARGV and turns words into errors.
"""

import asyncio
import functools
import hashlib
import importlib.resources
from collections.abc import Sequence
from typing import Any, ClassVar

from redis.asyncio import RedisCluster
from redis.exceptions import ConnectionError as StoreConnectionError
from redis.exceptions import NoScriptError, RedisError

from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys

_RETRIES_S = (0.05, 0.2)


class LuaScript:
    """One script of a slice. `uses` names shared functions of `storage/lua/` that stand in front of it; `repeatable`
    says that running it twice does what running it once does. `makes_room` is for what people must be able to do while the
    store is full: take something away, or keep somebody from writing. `PUBLISH` is in a script the command that publishes:
    its channels are keys of its site or person, so in a cluster they stay on their shard."""

    file: ClassVar[str]
    uses: ClassVar[tuple[str, ...]] = ()
    repeatable: ClassVar[bool] = False
    makes_room: ClassVar[bool] = False

    def __init__(self, client: Commands) -> None:
        self._client = client
        flags = "#!lua flags=allow-oom\n" if self.makes_room else ""
        text = "".join(_read("threadkit.storage", name) for name in self.uses) + self.source()
        publish = "SPUBLISH" if isinstance(client, RedisCluster) else "PUBLISH"
        words = f"local PUBLISH = '{publish}'\n" if "PUBLISH" in text else ""
        self._source = flags + words + text
        self._sha = hashlib.sha1(self._source.encode(), usedforsecurity=False).hexdigest()

    @classmethod
    def source(cls) -> str:
        return _read(cls.__module__.rpartition(".")[0], cls.file)

    async def _run(self, *, keys: Sequence[str], args: Sequence[str | int] = ()) -> Any:
        # A lost connection may mean a lost answer: only what may run twice is sent again.
        for pause_s in _RETRIES_S if self.repeatable else ():
            try:
                return await self._once(keys, args)
            except StoreConnectionError:
                await asyncio.sleep(pause_s)
        return await self._once(keys, args)

    async def _run_all(self, calls: Sequence[tuple[Sequence[str], Sequence[str | int]]]) -> list[Any]:
        """Several calls in one round trip and in this order, each atomic for itself; never sent a second time. One that
        fails is answered with its error, and the others all the same. In a cluster all must be about one site."""
        async with self._client.pipeline(transaction=False) as pipe:
            for keys, args in calls:
                self._put(pipe, keys=keys, args=args)
            replies = await pipe.execute(raise_on_error=False) if calls else []
        # A server that does not know the script has done nothing; one call by itself makes it known.
        unknown = [number for number, reply in enumerate(replies) if isinstance(reply, NoScriptError)]
        if unknown:
            again = [calls[number] for number in unknown]
            try:
                first = await self._once(*again[0])
            except RedisError as error:
                first = error
            for number, reply in zip(unknown, [first, *(await self._run_all(again[1:]))], strict=True):
                replies[number] = reply
        return list(replies)

    def _put(self, pipe: Any, *, keys: Sequence[str], args: Sequence[str | int] = ()) -> None:
        """Let a call travel in a pipeline of somebody else's; `_got` reads its answer."""
        pipe.execute_command("EVALSHA", self._sha, len(keys), *keys, *args)

    async def _got(self, reply: Any, *, keys: Sequence[str], args: Sequence[str | int] = ()) -> Any:
        if isinstance(reply, NoScriptError):  # which did nothing
            return await self._once(keys, args)
        if isinstance(reply, Exception):
            raise reply
        return reply

    async def _once(self, keys: Sequence[str], args: Sequence[str | int]) -> Any:
        try:
            return await self._client.execute_command("EVALSHA", self._sha, len(keys), *keys, *args)
        except NoScriptError:
            return await self._client.execute_command("EVAL", self._source, len(keys), *keys, *args)


@functools.cache
def _read(package: str, name: str) -> str:
    return importlib.resources.files(package).joinpath("lua", name).read_text(encoding="utf-8")


class KeyedScript(LuaScript):
    """A script that finds its keys itself."""

    def __init__(self, client: Commands, keys: Keys) -> None:
        super().__init__(client)
        self._keys = keys
