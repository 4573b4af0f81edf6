"""Two servers, one of them with three workers, and two outbox workers on one store that has its bad days while people write.
THREADKIT_SOAK=1 walks three times. G15.

Those who write keep a book of what they were told is saved. Afterwards it is all there, but for what a primary confirmed in
the moment in which it went, and nothing disagrees.
"""

import asyncio
import contextlib
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from tests.faults.crew import NOTHING_HELD
from tests.faults.divided import DividedGroup, divided_group
from tests.folders import quick_folder
from tests.integration.server.program import THREADKIT, Server, command, environment, run, workers_of
from tests.integration.topologies.servers import DURABLE, MASTER, Cluster, free_ports, running, wait_for
from tests.integration.topologies.servers import Server as Node
from tests.integration.topologies.test_moving_slots import move_at_once
from tests.wait import until
from threadkit.ids import CommentId, SiteId
from threadkit.settings import StoreTuning
from threadkit.storage.client import Store, parse_url
from threadkit.storage.keys import Keys

IS_LONG = bool(os.environ.get("THREADKIT_SOAK"))
TIMES = 3 if IS_LONG else 1
WRITERS = 4
BACK_WITHIN_S = 60
# What a primary confirmed and no replica had yet.
MOMENT_S = 1.2

pytestmark = [pytest.mark.prove, pytest.mark.timeout(1800 if IS_LONG else 300)]


class Ground:
    """A store of some kind, and what can happen to it."""

    url: str
    is_tagged = False

    @property
    def harms(self) -> list[Callable[[], None]]:
        raise NotImplementedError


class OneStore(Ground):
    def __init__(self, folder: Path) -> None:
        (port,) = free_ports(1)
        self.node = Node(folder / "node", port, *DURABLE)
        self.node.start()
        self.url = f"redis://127.0.0.1:{port}"

    @property
    def harms(self) -> list[Callable[[], None]]:
        return [self.hang, self.kill]

    def hang(self) -> None:
        with stopped(self.node):
            time.sleep(1)

    def kill(self) -> None:
        self.node.kill()
        time.sleep(0.5)
        self.node.start()


class BehindSentinels(Ground):
    def __init__(self, group: DividedGroup) -> None:
        self.group = group
        self.url = group.url

    @property
    def harms(self) -> list[Callable[[], None]]:
        return [self.planned_failover, self.hang]

    def planned_failover(self) -> None:
        self.group.sentinels[0].ask("SENTINEL", "FAILOVER", MASTER)
        self.follow()

    def hang(self) -> None:
        with stopped(self.group.primary):
            wait_for(lambda: bool(self.group.successor()), "a replica to take over", seconds=60)
        self.follow()

    def follow(self) -> None:
        wait_for(lambda: bool(self.group.successor()), "a replica to take over", seconds=60)
        self.group.join()


class OnCluster(Ground):
    is_tagged = True

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.url = cluster.url
        self.home_key = ""

    @property
    def harms(self) -> list[Callable[[], None]]:
        return [self.planned_failover, self.hang, self.move, self.kill]

    @property
    def home(self) -> Node:
        return self.cluster.home_of(self.home_key)

    def planned_failover(self) -> None:
        old = self.home
        self.cluster.replica_of(old).ask("CLUSTER FAILOVER")
        self.follow(old)

    def hang(self) -> None:
        old = self.home
        replica = self.cluster.replica_of(old)
        with stopped(old):
            wait_for(lambda: replica.ask("ROLE")[0] == "master", "the replica to take over", seconds=60)
        self.follow(old)

    def kill(self) -> None:
        old = self.home
        replica = self.cluster.replica_of(old)
        old.kill()
        wait_for(lambda: replica.ask("ROLE")[0] == "master", "the replica to take over", seconds=60)
        old.start()
        self.follow(old)

    def move(self) -> None:
        source = self.home
        target = next(server for server in self.cluster.primaries if server is not source)
        slot = int(source.ask("CLUSTER KEYSLOT", self.home_key))
        move_at_once(slot, source, target)
        move_at_once(slot, target, source)

    def follow(self, old: Node) -> None:
        wait_for(lambda: old.ask("ROLE")[0] == "slave", "the old primary to follow", seconds=60)
        wait_for(self.cluster.is_whole, "the cluster to be whole", seconds=60)


@contextlib.contextmanager
def stopped(node: Node) -> Iterator[None]:
    node.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        node.send_signal(signal.SIGCONT)


@pytest.fixture(params=["one store", "sentinels", "cluster"])
def ground(request: pytest.FixtureRequest) -> Iterator[Ground]:
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(quick_folder()))
        if request.param == "cluster":
            yield OnCluster(stack.enter_context(running(Cluster, replicas=True, patience_ms=2000)))
        elif request.param == "sentinels":
            yield BehindSentinels(stack.enter_context(divided_group()))
        else:
            one = OneStore(folder)
            stack.callback(one.node.kill)
            yield one


@dataclass
class Book:
    """What people were told is saved, and when."""

    confirmed: dict[str, tuple[str, float]] = field(default_factory=dict)
    refused: int = 0
    unheard: int = 0
    """Somebody lost the connection, with a server that was killed."""
    is_over: bool = False

    async def write(self, urls: list[str], public: str, token: str, name: str) -> None:
        headers = {"projectid": public, "authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(timeout=30) as http:
            number = 0
            while not self.is_over:
                number += 1
                body = {"page_url": "https://localhost/walk", "content": f"{name} {number}"}
                try:
                    answer = await http.post(f"{urls[number % len(urls)]}/v1/comments", json=body, headers=headers)
                except httpx.HTTPError:
                    self.unheard += 1
                    continue
                if answer.status_code == 200:
                    self.confirmed[answer.json()["comment"]["i"]] = (body["content"], time.monotonic())
                else:
                    assert answer.status_code == 503, answer.text
                    self.refused += 1
                await asyncio.sleep(0.03)


@contextlib.contextmanager
def outbox_worker(folder: Path, env: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [*THREADKIT, "worker", "--data", str(folder)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=env,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@contextlib.asynccontextmanager
async def people(server: Server, env: dict[str, str], book: Book, urls: list[str]) -> AsyncIterator[SiteId]:
    public, secret = (re.findall(rf"tk_{kind}_\w+", server.said)[0] for kind in ("pub", "sec"))
    site = json.loads(await asyncio.to_thread(command, "site", "set", public, *NOTHING_HELD, "--json", **env))
    tasks = []
    async with httpx.AsyncClient(base_url=server.url, headers={"projectid": secret}) as http:
        for number in range(WRITERS):
            made = (await http.post("/v1/admin/create-user", json={"name": f"writer{number}"})).json()
            tasks.append(asyncio.create_task(book.write(urls, public, made["token"], f"writer{number}")))
    try:
        yield SiteId(site["id"])
    finally:
        book.is_over = True
        await asyncio.gather(*tasks)


async def test_what_was_confirmed_is_there_after_all_that_can_happen(ground: Ground, tmp_path: Path) -> None:
    own = {"REDIS_URL": ground.url, "THREADKIT_SECRET": "a secret of these servers, long enough"}
    # As little patience as an owner's servers have.
    env = environment(**own, THREADKIT_STORE_SILENT_AFTER_S="0.25")
    book, went_at = Book(), []
    with contextlib.ExitStack() as stack:
        servers = [Server(tmp_path / f"server{count}", "--workers", str(count), env=env) for count in (1, 3)]
        for server in servers:
            stack.callback(server.kill)
        for server in servers:
            await asyncio.to_thread(server.wait_until_ready)
        first = next(server for server in servers if "tk_sec_" in server.said)
        workers = [stack.enter_context(outbox_worker(tmp_path / f"worker{number}", env)) for number in range(2)]
        async with people(first, own, book, [server.url for server in servers]) as site_id:
            keys = Keys("", tagged=ground.is_tagged).site(site_id)
            if isinstance(ground, OnCluster):
                ground.home_key = keys.config()
            harms = [
                *ground.harms,
                lambda: os.kill(workers_of(servers[1].process.pid)[0], signal.SIGKILL),
                workers[0].kill,
            ]
            for harm in harms * TIMES:
                await goes_on(book)
                went_at.append(time.monotonic())
                await asyncio.to_thread(harm)
                await goes_on(book)
        store = Store(parse_url(ground.url), StoreTuning())
        try:
            told = {
                comment: await store.redis.hget(keys.comment(CommentId(comment)), "content")
                for comment in book.confirmed
            }
        finally:
            await store.close()
        gone = [at for comment, (text, at) in book.confirmed.items() if told[comment] != text]
        # The doctor says so itself while effects are under way.
        await until(lambda: asyncio.to_thread(agrees, "rebuild", "--check", **own), "nothing to rebuild", seconds=60)
        done = await asyncio.to_thread(run, "doctor", "--deep", "--json", env=environment(**own))
    print(
        f"\nG15: {type(ground).__name__}: {len(harms) * TIMES} harms, {len(book.confirmed)} comments confirmed, {book.refused} "
        f"refused, {book.unheard} unheard, {len(gone)} lost"
    )
    assert not [at for at in gone if not any(-MOMENT_S < at - went < MOMENT_S for went in went_at)]
    assert not gone or not isinstance(ground, OneStore)
    assert done.returncode == 0, done.stdout[:4000] + done.stderr


async def goes_on(book: Book) -> None:
    confirmed = len(book.confirmed)
    await until(lambda: len(book.confirmed) > confirmed + 20, "people to go on writing", seconds=BACK_WITHIN_S)


def agrees(*words: str, **env: str) -> bool:
    return run(*words, env=environment(**env)).returncode == 0
