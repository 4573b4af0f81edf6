"""`threadkit worker` as a program: it starts, it stops, and it is killed under load."""

import contextlib
import functools
import json
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import redis as sync_redis

from tests.folders import quick_folder
from tests.integration.server.program import THREADKIT, Server, environment, program, run, serving


@pytest.fixture
def folder() -> Iterator[Path]:
    with quick_folder() as parent:
        yield Path(parent) / "data"


def wait_until(condition: Callable[[], Any], what: str, *, seconds: float = 15) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.02)


class Worker:
    def __init__(self, folder: Path, name: str) -> None:
        self._output = folder.parent / f"{name}.out"
        with self._output.open("w") as output:
            self.process = subprocess.Popen(
                [*THREADKIT, "worker", "--data", str(folder)],
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment(),
                start_new_session=True,
            )

    @property
    def said(self) -> str:
        return self._output.read_text()

    @property
    def events(self) -> list[str]:
        return [json.loads(line)["event"] for line in self.said.splitlines() if line.startswith("{")]

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(30)


@contextlib.contextmanager
def working(folder: Path, name: str = "worker") -> Iterator[Worker]:
    worker = Worker(folder, name)
    try:
        yield worker
    finally:
        if worker.process.poll() is None:
            worker.process.kill()
        worker.process.wait(10)


class Somebody:
    """A user of a running server, and the outbox of its site."""

    def __init__(self, server: Server) -> None:
        self._url = server.url
        secret, public = re.findall(r"tk_sec_\w+", server.said)[0], re.findall(r"tk_pub_\w+", server.said)[0]
        made = httpx.post(
            f"{server.url}/v1/admin/create-user", json={"name": "ada"}, headers={"projectid": secret}
        ).json()
        self._id, self._headers = made["user"]["id"], {"projectid": public}
        site = json.loads(run("site", "list", "--data", str(server.folder), "--json").stdout)[0]
        self.outbox = f"site:{site['id']}:outbox"

    @property
    def karma(self) -> int:
        return int(httpx.get(f"{self._url}/v1/users/{self._id}", headers=self._headers).json()["karma"])

    def has_karma(self, at_least: int) -> bool:
        return self.karma >= at_least

    def upvotes(self, client: sync_redis.Redis, number: int) -> None:
        event = json.dumps({"type": "karma", "user_id": self._id, "change": 1})
        with client.pipeline(transaction=False) as pipe:
            for _ in range(number):
                pipe.xadd(self.outbox, {"event": event})
            pipe.execute()


LEFT_ALONE = environment(THREADKIT_OUTBOX="worker")


def test_a_worker_does_what_the_server_leaves_to_it_and_stops_when_told(folder: Path) -> None:
    with (
        serving(folder, env=LEFT_ALONE) as server,
        sync_redis.Redis(unix_socket_path=str(folder / "store.sock")) as client,
    ):
        ada = Somebody(server)
        for number in (signal.SIGTERM, signal.SIGINT):
            before = ada.karma
            ada.upvotes(client, 3)
            (shown,) = json.loads(run("outbox", "--data", str(folder), "--json").stdout)
            assert (shown["waiting"], ada.karma) == (3, before), "the server leaves it alone"
            with working(folder) as worker:
                wait_until(functools.partial(ada.has_karma, before + 3), "karma")
                assert worker.stop(number) == 0
                assert worker.events == ["outbox_worker_started", "outbox_worker_stopped"]
        assert not client.exists(f"lock:{ada.outbox.split(':')[2]}:{ada.outbox.split(':')[1]}"), "its lease is given up"
        assert server.stop() == 0


def test_a_worker_without_a_store_says_what_to_do(folder: Path) -> None:
    result = program("worker", "--data", str(folder))
    assert result.returncode == 1
    assert "There is no data of ThreadKit in" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.prove
def test_a_worker_killed_under_load_leaves_totals_that_are_exact(folder: Path) -> None:
    with (
        serving(folder, env=LEFT_ALONE) as server,
        sync_redis.Redis(unix_socket_path=str(folder / "store.sock")) as client,
    ):
        ada = Somebody(server)
        added = 0
        enough = threading.Event()

        def load() -> None:
            nonlocal added
            while not enough.wait(0.02) and added < 1500:
                ada.upvotes(client, 20)
                added += 20

        writer = threading.Thread(target=load)
        writer.start()
        try:
            with working(folder, "killed") as worker:
                wait_until(lambda: ada.karma >= 50, "a worker at work")
                worker.process.kill()
                worker.process.wait(10)
            assert client.xlen(ada.outbox), "it was killed with work left"
            with working(folder, "next"), working(folder, "beside it"):
                wait_until(lambda: ada.karma >= 500, "others at work", seconds=40)
                enough.set()
                writer.join(10)
                wait_until(lambda: client.xlen(ada.outbox) == 0, "the rest", seconds=40)
        finally:
            enough.set()
            writer.join(10)
        assert ada.karma == added
        assert server.stop() == 0
