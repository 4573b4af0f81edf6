"""SIGKILL during the chores of a store: while it writes its journal anew, while a backup is put back, and while indexes are
mended. What was acknowledged is there, and a chore that is begun again comes to its end. THREADKIT_SOAK=1 makes it twenty
times each (or THREADKIT_KILLS). K5, G1; the deletion of accounts has its own in tests/integration/erasing."""

import asyncio
import contextlib
import copy
import dataclasses
import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path

import pytest
import pytest_asyncio
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from tests.faults.crew import Crew
from tests.faults.test_kills import children_of, kill_everything, kill_server, kill_store
from tests.folders import disk_folder
from tests.integration.backup.stores import backup_of, do, new_folder, refused
from tests.integration.server.program import THREADKIT, Server, environment, run

IS_LONG = bool(os.environ.get("THREADKIT_SOAK"))
TIMES = int(os.environ.get("THREADKIT_KILLS", 20 if IS_LONG else 1))
COMMENTS = 2000 if IS_LONG else 600
# A busy disk may take its time with what is written in large pieces.
PATIENT = environment(THREADKIT_STORE_COMMAND_TIMEOUT_S="60", THREADKIT_STORE_WAIT_FOR_CONNECTION_S="60")

pytestmark = pytest.mark.timeout(7200 if IS_LONG else 900)


@pytest.fixture
def dice() -> random.Random:
    seed = int(os.environ.get("THREADKIT_SEED", random.randrange(1_000_000)))
    print(f"seed {seed}")
    return random.Random(seed)


@pytest.fixture
def parent() -> Iterator[Path]:
    with disk_folder() as folder:
        yield Path(folder)


def store_in(folder: Path) -> Redis:
    at_once = Retry(NoBackoff(), 0)  # a second between tries would be too late
    return Redis(unix_socket_path=str(folder / "store.sock"), decode_responses=True, retry=at_once)


def wait_for(condition: Callable[[], bool], what: str, *, seconds: float = 60) -> None:
    """Without a pause: what is waited for may be over in a moment."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} s in vain for {what}"


@contextlib.contextmanager
def started(*words: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [*THREADKIT, *words], env=PATIENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


# --- The journal is written anew ----------------------------------------------------------------------------------------


class Rewriting:
    """Has the store write its journal anew, and kills it, its helper or everything at any moment of that."""

    def __init__(self, crew: Crew, dice: random.Random) -> None:
        self._crew = crew
        self._dice = dice
        self.in_the_middle = 0

    def __call__(self, server: Server) -> None:
        with store_in(self._crew.folder) as store:
            # Slow enough to be hit, or so quick that the kill comes while files change their names.
            is_slow = self._dice.random() < 0.7
            store.config_set("rdb-key-save-delay", 5000 if is_slow else 0)
            store.bgrewriteaof()
            before, more = self._crew.acknowledged, self._dice.randrange(15)
            wait_for(lambda: self._is_under_way(store) or not is_slow, "the journal to be written anew")
            wait_for(lambda: self._crew.acknowledged >= before + more, "people to go on writing")
            self.in_the_middle += self._is_under_way(store)
        self._dice.choice([self._kill_helper, kill_store, kill_everything])(server)

    @staticmethod
    def _is_under_way(store: Redis) -> bool:
        return bool(store.info("persistence")["aof_rewrite_in_progress"])

    @staticmethod
    def _kill_helper(server: Server) -> None:
        """The process that writes the new file."""
        for pid, name in children_of(server.process.pid):
            for helper, _ in children_of(pid) if "valkey" in name or "redis" in name else ():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(helper, signal.SIGKILL)


async def test_nothing_is_lost_by_a_kill_while_the_journal_is_written_anew(parent: Path, dice: random.Random) -> None:
    crew = Crew(parent / "data", dice, env=PATIENT)
    harm = Rewriting(crew, dice)
    for _ in range(TIMES):
        await crew.live(harm)
    await crew.last_look()
    assert harm.in_the_middle > 0 or TIMES < 10
    print(
        f"G1: {TIMES} kills around a rewrite of the journal ({harm.in_the_middle} in the middle of it), "
        f"{crew.acknowledged:,} acknowledged writes, 0 lost"
    )


# --- Commands that write much -------------------------------------------------------------------------------------------


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def much() -> AsyncIterator[Crew]:
    """A crew that has written something, among so much else that every chore takes a while."""
    with disk_folder() as folder:
        crew = Crew(Path(folder) / "data", random.Random(1), env=PATIENT)
        await crew.live(kill_server)
        data = ("--data", str(crew.folder))
        do("site", "create", "Filler", "filler.example.org", *data)
        shape = ("--comments", str(COMMENTS), "--users", "200", "--votes", "500", "--pages", "40", "--seed", "one")
        done = run("loadgen", "--site", "Filler", *shape, *data, env=PATIENT, patience_s=300)
        assert done.returncode == 0, done.stderr
        yield crew


@pytest.fixture
def crew(much: Crew, parent: Path, dice: random.Random) -> Crew:
    """The same with a folder of its own."""
    folder = parent / "data"
    shutil.copytree(much.folder, folder, ignore=shutil.ignore_patterns("*.sock"))
    return dataclasses.replace(much, folder=folder, dice=dice, writers=copy.deepcopy(much.writers))


def kill_all_of(process: subprocess.Popen[bytes]) -> None:
    """A command and the store it started."""
    stores = [pid for pid, _ in children_of(process.pid)]
    for pid in (process.pid, *stores):
        os.kill(pid, signal.SIGKILL)


def kill_its_store(process: subprocess.Popen[bytes]) -> None:
    (store,) = [pid for pid, _ in children_of(process.pid)]
    os.kill(store, signal.SIGKILL)


async def test_a_restore_that_was_killed_is_served_by_nobody_and_can_be_begun_again(
    crew: Crew, parent: Path, dice: random.Random
) -> None:
    backup, original = backup_of(crew.folder), crew.folder
    for number in range(TIMES):
        crew.folder = new_folder(parent, f"b{number}", like=original)
        words = ("backup", "restore", str(backup), "--data", str(crew.folder))
        kill_at(words, crew.folder, dice.randrange(100, COMMENTS), dice.choice([kill_all_of, kill_its_store]))
        assert "not put back to the end" in refused("serve", "--port", "0", "--data", str(crew.folder))
        done = run(*words, env=PATIENT, patience_s=300)
        assert done.returncode == 0, done.stderr
        await crew.last_look()
    print(
        f"G1: {TIMES} kills of a restore (the command with its store, or the store alone), all finished by the next one"
    )


def kill_at(words: Sequence[str], folder: Path, few: int, kill: Callable[[subprocess.Popen[bytes]], None]) -> None:
    """When so many keys are there."""
    is_killed = False
    with store_in(folder) as store, started(*words) as process:

        def keys() -> int:
            assert is_killed or process.poll() is None, "it was over before it could be killed"
            with contextlib.suppress(RedisError):
                return int(store.dbsize())
            return 0

        wait_for(lambda: keys() > few, "some keys to be there")
        kill(process)
        is_killed = True
        assert process.wait(120) != 0, "what was cut off may not call itself done"
        wait_for(lambda: keys() == 0, "the store to end with its starter")


@pytest.mark.parametrize("command", ["doctor --deep --repair", "rebuild"])
async def test_mending_that_was_killed_is_finished_by_the_next(command: str, crew: Crew, dice: random.Random) -> None:
    halves = 0
    words = (*command.split(), "--data", str(crew.folder))
    for _ in range(TIMES):
        async with crew.serving() as (server, _):
            share = await asyncio.to_thread(
                kill_while_mending, words, server, dice.uniform(0, 0.5), dice.random() < 0.5
            )
            halves += share < 1
        async with crew.serving() as (_, http):
            done = await asyncio.to_thread(lambda: run(*words, env=PATIENT, patience_s=300))
            assert done.returncode == 0, done.stdout + done.stderr
            await crew.look(http, older=None)
            await asyncio.to_thread(crew.ask_the_doctor)
    assert halves > 0 or TIMES < 10, "killed too late to show anything"
    print(
        f"G1: {TIMES} kills of `threadkit {command}` (the command, or server and store), {halves} half way, "
        "all finished by the next one"
    )


def kill_while_mending(words: Sequence[str], server: Server, share: float, is_all: bool) -> float:
    """When a share of an index is there again; says how much of it was when nothing moved any more."""
    with store_in(server.folder) as store:
        sizes = {str(key): int(store.zcard(key)) for key in store.scan_iter("site:*:comments")}
        largest = max(sizes, key=lambda key: sizes[key])

        def mended() -> float:
            return int(store.zcard(largest)) / sizes[largest]

        drop_indexes(store)
        with started(*words) as process:
            wait_for(lambda: mended() > share, "some of the index to be there again")
            if is_all:
                reached = mended()
                kill_everything(server)
                assert process.wait(120) != 0, "what was cut off may not call itself done"
                return reached
            process.kill()
            process.wait()
        return mended()


def drop_indexes(store: Redis) -> None:
    """All that can be made again from the comments and pages themselves."""
    patterns = ("page:*:comments:*", "page:*:roots:*", "comment:*:replies*", "site:*:comments", "user:*:comments")
    store.unlink(*(key for pattern in patterns for key in store.scan_iter(pattern, count=1000)))
