"""The keeper of the bundled store: it starts one and no more, tells it what the disk demands, and stays at its post."""

import errno
import io
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from redis import Redis

from tests.folders import disk_folder
from tests.integration.server.program import processes_of
from tests.integration.topologies.servers import wait_for
from threadkit.settings import Settings
from threadkit.storage import bundled as module
from threadkit.storage.bundled import BundledStore, prepare_folder, write_config
from threadkit.storage.client import StoreAddress
from threadkit.storage.hailing import limit_memory
from threadkit.storage.room import CLOSED_BYTES, Room
from threadkit.storage.store_program import find_program

MB = 10**6


@pytest.fixture
def folder() -> Iterator[Path]:
    with disk_folder() as found:
        yield Path(found) / "d"


@pytest.fixture
def store(folder: Path) -> Iterator[BundledStore]:
    found = BundledStore(Settings(data=str(folder)))
    yield found
    found.stop()


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Sets how many MB are free, of 100 that are needed."""
    free = [1000]
    monkeypatch.setattr(module, "room_in", lambda *_, **__: Room(free[0] * MB, 0, 100 * MB))
    monkeypatch.setattr(module, "LOOK_AT_ROOM_S", 0.05)

    def change(to: int) -> None:
        free[0] = to

    return change


class FullDisk(io.StringIO):
    """A log where nothing fits any more."""

    def write(self, text: str) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def ask(store: BundledStore, *words: str) -> dict[str, str]:
    with Redis(unix_socket_path=store.address.path, decode_responses=True) as client:
        found: dict[str, str] = client.execute_command(*words)
        return found


def pid_of(store: BundledStore) -> int:
    return int(ask(store, "INFO", "server")["process_id"])


def limit_of(store: BundledStore) -> int:
    return int(ask(store, "CONFIG", "GET", "maxmemory")["maxmemory"])


def test_beside_one_that_does_not_answer_no_other_is_started(folder: Path, store: BundledStore) -> None:
    prepare_folder(folder)
    orphan = subprocess.Popen([find_program().path, str(write_config(folder))], stdout=subprocess.DEVNULL)
    wait_for(lambda: (folder / "store.sock").exists() and pid_of(store) == orphan.pid, "the first store")
    orphan.send_signal(signal.SIGSTOP)
    starting = threading.Thread(target=store.start)
    starting.start()
    starting.join(3)
    assert starting.is_alive()
    assert processes_of(folder) == [orphan.pid]
    orphan.send_signal(signal.SIGCONT)
    starting.join(30)
    assert not starting.is_alive()
    assert pid_of(store) == orphan.pid
    store.stop()
    orphan.wait(30)


def test_a_store_is_started_again_though_nobody_can_be_told(
    store: BundledStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.start()
    first = pid_of(store)
    with monkeypatch.context() as with_full_disk:
        with_full_disk.setattr(sys, "stderr", FullDisk())
        os.kill(first, signal.SIGKILL)
        wait_for(lambda: pid_of(store) != first, "another store")


def test_a_store_is_closed_and_opened_as_the_room_demands_and_not_at_every_little_change(
    store: BundledStore, room: Callable[[int], None], capsys: pytest.CaptureFixture[str]
) -> None:
    store.start()
    store.watch_room()
    room(99)
    wait_for(lambda: limit_of(store) == CLOSED_BYTES, "the store to be closed")
    room(101)
    os.kill(pid_of(store), signal.SIGKILL)  # the next one is closed from its first moment
    wait_for(lambda: limit_of(store) == CLOSED_BYTES, "the store to be closed again")
    room(120)
    wait_for(lambda: limit_of(store) == 0, "the store to be opened")
    said = capsys.readouterr().err
    assert said.count("Too little room") == 1
    assert said.count("There is room on the disk again") == 1


def test_a_store_that_was_too_slow_to_be_closed_does_not_stay_closed(
    store: BundledStore, room: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told to, does not say in time that it did, and does it when there is room again."""
    told: list[tuple[int, bool]] = []

    def tell(address: StoreAddress, limit: int) -> bool:
        told.append((limit, limit_memory(address, limit)))
        return told[-1][1]

    monkeypatch.setattr(module, "limit_memory", tell)
    store.start()
    pid = pid_of(store)
    store.watch_room()
    os.kill(pid, signal.SIGSTOP)
    room(50)
    wait_for(lambda: bool(told), "it to be told in vain")
    room(1000)
    os.kill(pid, signal.SIGCONT)
    wait_for(lambda: told[-1] == (0, True), "it to be told that it may open")
    assert told[0] == (CLOSED_BYTES, False)
    assert limit_of(store) == 0


def test_one_that_was_stopped_twice_ends_nobody_elses(folder: Path, store: BundledStore) -> None:
    store.start()
    store.stop()
    other = BundledStore(Settings(data=str(folder)))
    other.start()
    try:
        store.stop()
        assert pid_of(other)
    finally:
        other.stop()
