"""One of the two stores of a copy: its servers, and what its keys are called."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any

from redis.crc import key_slot
from redis.exceptions import AskError, MovedError, RedisError, TryAgainError

from threadkit.backup.node import Node, all_keys, open_nodes
from threadkit.copying.model import CopyFailed
from threadkit.doctor.deep.names import AllNames, Known
from threadkit.storage.client import Store
from threadkit.storage.keys import Keys

Command = Sequence[Any]


class Side:
    """Speaks in bytes: values come over as they are."""

    def __init__(self, store: Store, keys: Keys, nodes: list[Node], shares: list[tuple[int, int, Node]]) -> None:
        self.store = store
        self.keys = keys
        self.nodes = nodes
        self._shares = shares
        self._names = AllNames(keys)

    def __str__(self) -> str:
        return str(self.store.address)

    async def ask(self, commands: Sequence[Command]) -> list[Any]:
        """The answers, in order; every command is about one key."""
        if not self._shares:
            return await self.nodes[0].ask(*commands) if commands else []
        of_node: dict[Node, list[int]] = {}
        for place, command in enumerate(commands):
            of_node.setdefault(self._node_of(command[2] if command[0] == "XINFO" else command[1]), []).append(place)
        try:
            answers = await asyncio.gather(
                *(node.ask(*(commands[place] for place in places)) for node, places in of_node.items())
            )
        except (MovedError, AskError, TryAgainError) as error:
            raise CopyFailed(
                f"The cluster at {self} moves keys between its servers just now. Run this again when it is done."
            ) from error
        found: list[Any] = [None] * len(commands)
        for places, some in zip(of_node.values(), answers, strict=True):
            for place, answer in zip(places, some, strict=True):
                found[place] = answer
        return found

    async def ask_one(self, *command: Any) -> Any:
        return (await self.ask([command]))[0]

    async def batches(self) -> AsyncIterator[list[bytes]]:
        async for found in all_keys(self.nodes, self.keys.prefix):
            yield found

    async def size(self) -> int:
        """About how many keys there are."""
        return int(sum([(await node.ask(("DBSIZE",)))[0] for node in self.nodes]))

    async def shares_a_server_with(self, other: "Side") -> bool:
        ours, theirs = await self.run_ids(), await other.run_ids()
        return not ours.isdisjoint(theirs)

    async def run_ids(self) -> set[str]:
        """What tells running servers apart."""
        facts = [_text((await node.ask(("INFO", "server")))[0]).splitlines() for node in self.nodes]
        return {line for lines in facts for line in lines if line.startswith("run_id:")}

    def known(self, key: bytes) -> Known | None:
        return self._names.parse(_text(key))

    def bare(self, name: Known) -> str:
        """A key's name as it is on a single server without a prefix."""
        bare = name.key[len(self.keys.prefix) :]
        return bare.removeprefix(f"{{{name.tag}}}") if name.tag else bare

    def key(self, bare: str, owner: str) -> bytes:
        tag = f"{{{owner}}}" if self.keys.tagged and owner else ""
        return raw(self.keys.prefix + tag + bare)

    def _node_of(self, key: Any) -> Node:
        slot = key_slot(key if isinstance(key, bytes) else raw(key))
        for first, last, node in self._shares:
            if first <= slot <= last:
                return node
        raise CopyFailed(f"The cluster at {self} is not whole: no server has the slot {slot}.")


@contextlib.asynccontextmanager
async def open_side(store: Store, prefix: str) -> AsyncIterator[Side]:
    is_cluster = store.address.topology == "cluster"
    async with contextlib.AsyncExitStack() as stack:
        try:
            nodes = await stack.enter_async_context(open_nodes(store))
            shares = await _shares(nodes) if is_cluster else []
            (facts,) = await nodes[0].ask(("INFO", "cluster"))
        except (RedisError, OSError, TimeoutError) as error:
            why = str(error).strip().rstrip(".") or type(error).__name__
            raise CopyFailed(f"The store at {store.address} cannot be reached: {why}. Is its URL right?") from error
        if not is_cluster and "cluster_enabled:1" in _text(facts):
            raise CopyFailed(f"{store.address} is part of a cluster. Its URL begins with redis+cluster://")
        yield Side(store, Keys(prefix, tagged=is_cluster), nodes, shares)


async def _shares(nodes: list[Node]) -> list[tuple[int, int, Node]]:
    """Which server of a cluster has which slots."""
    by_id = {_text((await node.ask(("CLUSTER", "MYID")))[0]): node for node in nodes}
    (slots,) = await nodes[0].ask(("CLUSTER", "SLOTS"))
    return [(first, last, by_id[_text(primary[2])]) for first, last, primary, *_ in slots]


def raw(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


def _text(answer: Any) -> str:
    return answer.decode(errors="surrogateescape") if isinstance(answer, bytes) else str(answer)
