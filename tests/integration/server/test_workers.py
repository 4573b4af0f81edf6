"""Several workers and their parent: what happens when one dies, at a bad time too."""

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import redis as sync_redis

from tests.folders import quick_folder
from tests.integration.server.outside import OutsideStore, outside_store
from tests.integration.server.program import Server, environment, serving, wait_until, workers_of
from threadkit.storage.keys import Keys


@pytest.fixture
def folder() -> Iterator[Path]:
    with quick_folder() as parent:
        yield Path(parent)


@contextlib.contextmanager
def with_workers(folder: Path, store: OutsideStore, *flags: str) -> Iterator[Server]:
    """Two workers, of which both have begun: each listens at the store."""
    env = environment(TMPDIR=str(folder))
    with (
        serving(folder / "data", "--workers", "2", "--redis-url", store.url, *flags, env=env) as server,
        sync_redis.Redis(unix_socket_path=str(store.socket), decode_responses=True) as client,
    ):
        wait_until(lambda: len(client.client_list(_type="pubsub")) >= 2, "both workers")
        yield server


def is_ready(server: Server) -> bool:
    with contextlib.suppress(httpx.HTTPError):
        return httpx.get(f"{server.url}/readyz", timeout=2).status_code == 200
    return False


def is_unready(server: Server) -> bool:
    with contextlib.suppress(httpx.HTTPError):
        return httpx.get(f"{server.url}/readyz", timeout=5).status_code == 503
    return False


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes() != b""  # nothing is left of one that nobody has waited for
    except OSError:
        return False


def kill_one(server: Server) -> int:
    """The first worker; returns when another one is in its place."""
    before = workers_of(server.process.pid)
    os.kill(before[0], signal.SIGKILL)
    wait_until(lambda: len(set(workers_of(server.process.pid)) - set(before)) == 1, "another worker")
    (fresh,) = set(workers_of(server.process.pid)) - set(before)
    return fresh


def test_a_worker_that_dies_while_the_store_is_away_is_replaced_when_it_is_back(folder: Path) -> None:
    with outside_store(folder / "store") as store, with_workers(folder, store) as server:
        store.kill()
        fresh = kill_one(server)
        wait_until(lambda: "store_awaited" in server.said, "the new worker to look for the store")
        wait_until(lambda: is_unready(server), "the other worker to answer")
        store.start().wait_until_ready()
        wait_until(lambda: is_ready(server), "the server to be ready again")
        assert fresh in workers_of(server.process.pid), "the same one, which waited"
        assert server.stop() == 0


@pytest.mark.prove
def test_a_server_whose_workers_wait_for_the_store_can_be_stopped(folder: Path) -> None:
    with outside_store(folder / "store") as store, with_workers(folder, store) as server:
        store.kill()
        kill_one(server)
        wait_until(lambda: "store_awaited" in server.said, "the new worker to look for the store")
        assert server.stop() == 0


@pytest.mark.prove
def test_workers_that_wait_for_the_store_end_with_their_parent(folder: Path) -> None:
    with outside_store(folder / "store") as store, with_workers(folder, store) as server:
        store.kill()
        fresh = kill_one(server)
        wait_until(lambda: "store_awaited" in server.said, "the new worker to look for the store")
        server.kill()
        wait_until(lambda: not is_running(fresh), "the waiting worker to end")


@pytest.mark.prove
def test_a_worker_that_hangs_keeps_no_other_from_being_replaced_and_the_server_from_stopping(folder: Path) -> None:
    with outside_store(folder / "store") as store, with_workers(folder, store) as server:
        killed, hanging = workers_of(server.process.pid)
        os.kill(hanging, signal.SIGSTOP)
        os.kill(killed, signal.SIGKILL)
        wait_until(lambda: set(workers_of(server.process.pid)) > {hanging}, "another worker", seconds=20)
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(40) == 0
        assert not is_running(hanging)


@pytest.mark.prove
def test_a_worker_that_cannot_start_is_tried_again_and_the_others_go_on(folder: Path) -> None:
    with outside_store(folder / "store") as store, with_workers(folder, store) as server:
        with sync_redis.Redis(unix_socket_path=str(store.socket), decode_responses=True) as client:
            stamp = Keys().shared.stamp()
            secret = client.hget(stamp, "secret")
            client.hset(stamp, "secret", "of another server")
            os.kill(workers_of(server.process.pid)[0], signal.SIGKILL)
            wait_until(lambda: "another_in_s" in server.said and '"status":3' in server.said, "a worker that gave up")
            assert server.process.poll() is None
            assert httpx.get(f"{server.url}/health").status_code == 200
            client.hset(stamp, "secret", str(secret))
        wait_until(lambda: len(workers_of(server.process.pid)) == 2, "a worker that starts")
        assert server.stop() == 0


def test_a_worker_that_is_replaced_keeps_to_the_settings_of_its_server(folder: Path) -> None:
    settings = folder / "mine.toml"
    settings.write_text('metrics_token = "the-one-from-the-start-of-the-server"\n')
    with outside_store(folder / "store") as store, with_workers(folder, store, "--config", str(settings)) as server:
        settings.write_text('metrics_token = "the-one-that-counts-after-a-restart-only"\n')
        for _ in range(2):
            kill_one(server)
        wait_until(lambda: is_ready(server), "the new workers")
        asked = {"authorization": "Bearer the-one-from-the-start-of-the-server"}
        for _ in range(10):
            assert httpx.get(f"{server.url}/metrics", headers=asked).status_code == 200
        assert server.stop() == 0


@pytest.mark.prove
def test_metrics_forget_the_sockets_of_a_dead_worker(folder: Path) -> None:
    def live_connections(server: Server) -> float:
        lines = httpx.get(f"{server.url}/metrics", timeout=5).text.splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith("threadkit_live_connections "))

    with outside_store(folder / "store") as store, with_workers(folder, store) as server:
        key = next(word for word in server.said.split('"') if word.startswith("tk_pub_"))
        page = {"key": key, "page_url": "http://localhost/a"}
        with httpx.stream("GET", f"{server.url}/v1/events", params=page, timeout=5) as events:
            assert events.status_code == 200, events.read()
            wait_until(lambda: live_connections(server) == 1, "the meter to count it")
            for _ in range(2):
                kill_one(server)
            wait_until(lambda: is_ready(server), "the new workers")
            assert live_connections(server) == 0
        assert server.stop() == 0


@pytest.mark.prove
def test_the_meters_of_a_killed_server_are_removed_by_the_next(folder: Path) -> None:
    def meters() -> list[Path]:
        return list(folder.glob("threadkit-meters-*"))

    with outside_store(folder / "store") as store:
        with with_workers(folder, store) as server:
            (left,) = meters()
            server.kill()
            wait_until(lambda: not is_ready(server), "its workers to end")
        with with_workers(folder, store) as server:
            assert len(meters()) == 1
            assert not left.exists()
            with with_workers_elsewhere(folder, store):
                assert len(meters()) == 2, "those of a server that runs are left alone"
            assert server.stop() == 0
        assert meters() == []


@contextlib.contextmanager
def with_workers_elsewhere(folder: Path, store: OutsideStore) -> Iterator[None]:
    env = environment(TMPDIR=str(folder), REDIS_KEY_PREFIX="second:")
    with serving(folder / "second", "--workers", "2", "--redis-url", store.url, env=env) as server:
        yield
        assert server.stop() == 0
