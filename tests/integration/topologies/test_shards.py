"""Channels of a cluster stay on their shard, and are heard from wherever their slot is."""

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Iterator

import pytest
from redis.asyncio.cluster import ClusterNode

from tests.integration.topologies.nodes import on_cluster
from tests.integration.topologies.servers import Cluster, Server, running, wait_for
from tests.integration.topologies.test_moving_slots import move
from tests.wait import until
from threadkit.settings import StoreTuning
from threadkit.storage.client import Store, parse_url
from threadkit.storage.guides import sees_it_well
from threadkit.storage.listener import Listener
from threadkit.storage.shard import slot_of

LONG_S = 30
EVERYBODY = "everybody"


class Hearing:
    """Somebody who listens to one channel on each primary."""

    def __init__(self, store: Store, listener: Listener, topology: Cluster) -> None:
        self.listener = listener
        self.redis = store.redis
        self.channels = {server: channel_at(topology, server) for server in topology.primaries}
        self.heard: dict[str, list[str]] = {channel: [] for channel in self.channels.values()}
        self.back: list[str] = []
        self.gaps = 0
        listener.on_back(self.back.extend)
        listener.on_gap(self._count_gap)

    def _count_gap(self) -> None:
        self.gaps += 1

    async def hears(self, channel: str, text: str) -> None:
        """Say something until it is heard: a message to nobody is lost, and the store may be away."""

        async def is_heard() -> bool:
            with contextlib.suppress(Exception):
                await self.redis.publish(channel, text)
            return text in self.heard[channel]

        await until(is_heard, f"{text} on {channel}", seconds=LONG_S)


@contextlib.asynccontextmanager
async def hearing(topology: Cluster) -> AsyncIterator[Hearing]:
    store = Store(parse_url(topology.url), StoreTuning())
    listener = Listener(store)
    everybody: list[str] = []
    listener.on(EVERYBODY, everybody.append)
    await listener.start()
    try:
        await until(lambda: listener.hears_all, "the listener")
        ears = Hearing(store, listener, topology)
        ears.heard[EVERYBODY] = everybody
        for channel in ears.channels.values():
            await listener.subscribe(channel, ears.heard[channel].append)
        assert listener.hears_all
        yield ears
    finally:
        await listener.stop()
        await store.close()


def channel_at(topology: Cluster, server: Server) -> str:
    channels = [f"{{site-{number}}}page" for number in range(100)]
    return next(channel for channel in channels if topology.home_of(channel) is server)


def listeners_at(server: Server, channel: str) -> int:
    return int(dict(server.ask("PUBSUB SHARDNUMSUB", channel))[channel])


@pytest.fixture(scope="module")
def replicated() -> Iterator[Cluster]:
    with running(Cluster, replicas=True, patience_ms=2000) as cluster:
        yield cluster


@pytest.fixture
async def ears(topology: Cluster) -> AsyncIterator[Hearing]:
    async with hearing(topology) as ears:
        yield ears


@on_cluster
async def test_a_message_stays_on_its_shard(ears: Hearing, topology: Cluster) -> None:
    def carried() -> dict[int, tuple[int, int]]:
        """How many messages came to each node from others, of both kinds."""
        kinds = ("publish", "publishshard")
        news = {server.port: server.ask("CLUSTER INFO") for server in topology.servers}
        return {
            port: tuple(int(info.get(f"cluster_stats_messages_{kind}_received", 0)) for kind in kinds)  # type: ignore[misc]
            for port, info in news.items()
        }

    before = carried()
    for server, channel in ears.channels.items():
        for number in range(20):
            await ears.redis.publish(channel, str(number))
        await until(lambda: len(ears.heard[channel]) == 20, "all messages")  # noqa: B023
        assert ears.heard[channel] == [str(number) for number in range(20)]
        assert [listeners_at(one, channel) for one in topology.servers] == [one is server for one in topology.servers]
        assert [one.ask("PUBSUB CHANNELS", channel) for one in topology.servers] == [[]] * 3
    assert carried() == before

    await ears.redis.publish(EVERYBODY, "an ordinary one is carried to all, and counted")
    await until(lambda: sum(carried()[port] != before[port] for port in before) == 2, "two other nodes to get it")


@on_cluster
async def test_only_what_was_heard_over_a_lost_connection_is_looked_at_again(ears: Hearing, topology: Cluster) -> None:
    for number, (server, channel) in enumerate(ears.channels.items()):
        ears.back.clear()
        server.ask("CLIENT KILL TYPE pubsub")
        await until(lambda: channel in ears.back, "the channel to be heard again")  # noqa: B023
        assert listeners_at(server, channel) == 1
        await ears.redis.publish(channel, f"after {number}")
        await until(lambda: ears.heard[channel] == [f"after {number}"], "the message")  # noqa: B023
        assert set(ears.back) == {channel}
    await until(lambda: ears.listener.hears_all, "everything to be heard")


@on_cluster
async def test_what_concerns_all_servers_is_missed_only_when_no_connection_is_left(
    ears: Hearing, topology: Cluster
) -> None:
    for number, (server, channel) in enumerate(ears.channels.items()):
        server.ask("CLIENT KILL TYPE pubsub")
        await until(lambda: channel in ears.back, "the loss to be noticed and mended")  # noqa: B023
        assert ears.listener.is_listening
        await ears.hears(EVERYBODY, f"number {number}")
        await until(lambda: ears.listener.hears_all, "everything to be heard")
    assert (ears.gaps, EVERYBODY in ears.back) == (0, False)

    def is_missed() -> bool:
        for server in topology.primaries:  # the first may be back before the last is lost
            server.ask("CLIENT KILL TYPE pubsub")
        return EVERYBODY in ears.back

    await until(is_missed, "the gap")
    assert ears.gaps >= 2, "when it was lost, and when it was heard again"
    await ears.hears(EVERYBODY, "after the gap")


@on_cluster
async def test_a_channel_follows_its_slot_though_nobody_says_anything(ears: Hearing, topology: Cluster) -> None:
    (home, channel), (away, stays), _ = ears.channels.items()
    beside = channel + "-beside"
    ears.heard[beside] = []
    await ears.listener.subscribe(beside, ears.heard[beside].append)
    slot = slot_of(channel)
    source, target = home, away
    for number in range(2):
        ears.back.clear()
        await asyncio.to_thread(move, topology, slot, source, target)
        source, target = target, source
        await until(lambda: set(ears.back) == {channel, beside}, "the channels to be heard again")
        # A node that is told again that a slot is its own takes all channels away once more.
        places = (source, target)
        await until(lambda: [listeners_at(one, channel) for one in places] == [1, 0], "them to be at one place")  # noqa: B023
        for one in (channel, beside, stays):
            await ears.hears(one, f"moved {number}")
        assert set(ears.back) == {channel, beside}


@on_cluster
async def test_who_asks_the_wrong_node_finds_the_right_one(ears: Hearing, topology: Cluster) -> None:
    """As after a change that we have not heard of yet."""
    (_, channel), (_, other), _ = ears.channels.items()
    new = channel + "-new"
    nodes = ears.redis.nodes_manager
    nodes.slots_cache[slot_of(new)] = nodes.slots_cache[slot_of(other)]
    heard: list[str] = []
    await ears.listener.subscribe(new, heard.append)
    await until(lambda: new in ears.back, "the channel to be heard")
    await ears.redis.publish(new, "found")
    await until(lambda: heard == ["found"], "the message")


@on_cluster
async def test_who_leaves_and_comes_back_at_once_hears_and_need_not_look_again(
    ears: Hearing, topology: Cluster
) -> None:
    (server, channel), *_ = ears.channels.items()
    again: list[str] = []
    for _ in range(50):
        await asyncio.gather(
            ears.listener.unsubscribe(channel, ears.heard[channel].append),
            ears.listener.subscribe(channel, again.append),
        )
        await asyncio.gather(
            ears.listener.subscribe(channel, ears.heard[channel].append),
            ears.listener.unsubscribe(channel, again.append),
        )
    await ears.redis.publish(channel, "one")
    await until(lambda: ears.heard[channel] == ["one"], "the message")
    assert not ears.back
    await ears.listener.unsubscribe(channel, ears.heard[channel].append)
    await until(lambda: listeners_at(server, channel) == 0, "nobody to listen")
    assert not again
    assert ears.listener.hears_all


@on_cluster
async def test_a_primary_that_starts_again_is_heard_again(ears: Hearing, topology: Cluster) -> None:
    """Nobody takes its place here."""
    (home, channel), *others = ears.channels.items()
    home.kill()
    try:
        await until(lambda: not ears.listener.hears_all, "the loss to be noticed")
        new = channel + "-new"
        ears.heard[new] = []
        await ears.listener.subscribe(new, ears.heard[new].append)
        assert not any(one in ears.back for _, one in others)
    finally:
        home.start()
    await until(topology.is_whole, "the cluster to be whole", seconds=LONG_S)
    await until(lambda: {channel, new} <= set(ears.back), "the channels to be heard again", seconds=LONG_S)
    await ears.hears(channel, "back")
    await ears.hears(new, "back")
    await until(lambda: ears.listener.hears_all, "everything to be heard")


@pytest.mark.timeout(240)
@pytest.mark.parametrize("topology", ["replicated"], indirect=True)
@pytest.mark.parametrize("fate", ["killed", "stopped", "replaced"])
@pytest.mark.prove
async def test_the_replica_that_takes_over_is_heard(ears: Hearing, topology: Cluster, fate: str) -> None:
    dying, channel = next(iter(ears.channels.items()))
    others = [one for one in ears.channels.values() if one != channel]
    replica = topology.replica_of(dying)
    if fate == "killed":
        dying.kill()
    elif fate == "stopped":  # its connections stay open
        dying.send_signal(signal.SIGSTOP)
    else:
        replica.ask("CLUSTER FAILOVER")
    try:
        await until(lambda: replica.ask("ROLE")[0] == "master", "the replica to take over", seconds=LONG_S)
        await until(lambda: channel in ears.back, "the channel to be heard again", seconds=LONG_S)
        # The first to be asked may be the old primary, by a node that has not heard of the new one yet.
        await until(lambda: listeners_at(replica, channel) == 1, "the channel to be heard there", seconds=LONG_S)
        await ears.hears(channel, f"{fate}, and heard")
        for one in others:
            await ears.hears(one, f"{fate}, and heard as before")
        assert set(ears.back) == {channel}
    finally:
        if fate == "killed":
            dying.start()
        elif fate == "stopped":
            dying.send_signal(signal.SIGCONT)
    await asyncio.to_thread(wait_for, topology.is_whole, "the cluster to be whole", seconds=60)
    await until(lambda: ears.listener.hears_all, "everything to be heard", seconds=LONG_S)
    await ears.hears(channel, f"{fate}, and whole")


@on_cluster
@pytest.mark.parametrize("trouble", [TimeoutError("slow"), RuntimeError("the handler is closed")])
async def test_a_node_that_does_not_answer_once_is_neither_left_nor_given_up(
    ears: Hearing, monkeypatch: pytest.MonkeyPatch, trouble: Exception
) -> None:
    """It has missed nothing; and whatever the library raises, somebody goes on looking after the shards."""
    asked: list[bool] = []

    async def ask(node: ClusterNode) -> bool:
        asked.append(len(asked) < 3)  # of each of the three once, about
        if asked[-1]:
            raise trouble
        return await sees_it_well(node)

    monkeypatch.setattr("threadkit.storage.cluster.sees_it_well", ask)
    await until(lambda: asked.count(False) >= 3, "all to be asked again")
    assert ears.back == []
    for server, channel in ears.channels.items():
        server.ask("CLIENT KILL TYPE pubsub")
        await until(lambda: channel in ears.back, "the channel to be heard again")  # noqa: B023
    assert ears.listener.hears_all
