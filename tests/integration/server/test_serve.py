"""The server as a program: it starts, it stops, and it survives being killed."""

import contextlib
import errno
import functools
import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import redis as sync_redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.folders import quick_folder
from tests.integration.server.program import (
    Server,
    environment,
    free_port,
    processes_of,
    refused,
    run,
    serving,
    wait_until,
)
from threadkit.errors import CannotStart
from threadkit.storage.bundled import prepare_folder
from threadkit.storage.room import CLOSED_BYTES
from threadkit.storage.store_program import find_program


@pytest.fixture
def folder() -> Iterator[Path]:
    with quick_folder() as parent:
        yield Path(parent) / "data"


def test_it_greets_with_address_snippet_and_owner_link_and_stops_cleanly(folder: Path) -> None:
    with serving(folder) as server:
        said = server.said
        assert f"ThreadKit is ready: http://localhost:{server.port}" in said
        assert re.search(r'<script async src="http://localhost:\d+/embed.js" data-project="tk_pub_\w+"></script>', said)
        assert re.search(r"http://localhost:\d+/setup\?token=\S{20,}", said)
        assert server.stop(signal.SIGINT) == 0
    assert processes_of(folder) == []
    assert json.loads((folder / "store.json").read_text())["kind"] == "valkey"
    assert (folder / "secret.key").stat().st_mode & 0o777 == 0o600


def test_the_demo_comes_with_sample_threads_once(folder: Path) -> None:
    with serving(folder, "--demo", "--workers", "2") as server:
        assert f"http://localhost:{server.port}/demo" in server.said
        key = re.findall(r"tk_pub_\w+", server.said)[0]
        assert key in httpx.get(f"{server.url}/demo/a-slower-loaf").text
        page = f"http://localhost:{server.port}/demo/a-slower-loaf"
        counted = {"url": f"{server.url}/v1/counts", "params": {"url": page}, "headers": {"projectid": key}}
        assert httpx.get(**counted).json()["counts"][page] > 15  # type: ignore[arg-type]
        assert server.stop() == 0
    with serving(folder) as server:
        assert httpx.get(f"{server.url}/demo").status_code == 404


def test_several_workers_share_the_store_and_all_stop(folder: Path) -> None:
    with serving(folder, "--workers", "2") as server:
        key = re.findall(r"tk_pub_\w+", server.said)[0]
        for _ in range(20):
            assert httpx.get(f"{server.url}/v1/site", headers={"projectid": key}).status_code == 200
        total = sum(
            float(line.split()[-1])
            for line in httpx.get(f"{server.url}/metrics").text.splitlines()
            if line.startswith("threadkit_http_requests_total") and 'route="/v1/site"' in line
        )
        assert total == 20, "the workers' meters add up"
        assert server.stop() == 0
    assert processes_of(folder) == []


def test_a_killed_server_leaves_no_process_behind(folder: Path) -> None:
    for workers in ("1", "2"):
        with serving(folder, "--workers", workers) as server:
            server.kill()
            wait_until(lambda: processes_of(folder) == [], "the store to end")
            wait_until(lambda: not _listens(server), "the workers to end")


def _listens(server: Server) -> bool:
    try:
        httpx.get(f"{server.url}/health", timeout=0.5)
    except httpx.HTTPError:
        return False
    return True


@pytest.mark.prove
def test_ten_kills_while_a_client_writes_lose_no_acknowledged_write(folder: Path) -> None:
    acknowledged: list[str] = []
    for cycle in range(10):
        with serving(folder) as server:
            stop = threading.Event()
            writer = threading.Thread(target=_write, args=(folder, cycle, acknowledged, stop))
            writer.start()
            wanted = (cycle + 1) * 200
            wait_until(functools.partial(_has, acknowledged, wanted), "some writes")
            server.kill()
            stop.set()
            writer.join(10)
            assert not writer.is_alive()
    with serving(folder), sync_redis.Redis(unix_socket_path=str(folder / "store.sock")) as client:
        assert client.scard("kill-test") >= len(acknowledged)
        lost = [
            item
            for item, found in zip(acknowledged, client.smismember("kill-test", acknowledged), strict=True)
            if not found
        ]
    assert lost == []


def _has(acknowledged: list[str], wanted: int) -> bool:
    return len(acknowledged) >= wanted


def _write(folder: Path, cycle: int, acknowledged: list[str], stop: threading.Event) -> None:
    with (
        contextlib.suppress(sync_redis.RedisError),
        sync_redis.Redis(
            unix_socket_path=str(folder / "store.sock"), retry=Retry(NoBackoff(), 0), socket_timeout=5
        ) as client,
    ):
        number = 0
        while not stop.is_set():
            item = f"{cycle}-{number}"
            client.sadd("kill-test", item)
            acknowledged.append(item)
            number += 1


def test_the_store_is_started_again_when_it_dies(folder: Path) -> None:
    with serving(folder) as server:
        (store,) = [pid for pid in processes_of(folder) if pid != server.process.pid and "valkey" in _name(pid)]
        subprocess.run(["kill", "-9", str(store)], check=True)
        wait_until(lambda: httpx.get(f"{server.url}/health").status_code == 200 and _name(store) == "", "a new store")
        assert server.stop() == 0


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text()
    except OSError:
        return ""


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    """One that goes on, for tests that change nothing about it."""
    with quick_folder() as parent, serving(Path(parent) / "data") as server:
        yield server


def test_commands_work_beside_a_running_server(running: Server) -> None:
    where = ("--data", str(running.folder))
    made = run("site", "create", "Second", "second.example", "--json", *where)
    assert made.returncode == 0, made.stderr
    site = json.loads(made.stdout)
    asked = {"projectid": site["api_key_public"]}
    assert httpx.get(f"{running.url}/v1/site", headers=asked).json()["name"] == "Second"
    assert run("site", "set", "second.example", "name=Renamed", *where).returncode == 0
    wait_until(lambda: httpx.get(f"{running.url}/v1/site", headers=asked).json()["name"] == "Renamed", "the new name")


def test_roles_are_given_by_id_address_or_name(running: Server) -> None:
    secret = re.findall(r"tk_sec_\w+", running.said)[0]
    made = httpx.post(
        f"{running.url}/v1/admin/create-user",
        json={"name": "olga", "email": "olga@example.org"},
        headers={"projectid": secret},
    ).json()
    user_id = made["user"]["id"]
    where = ("--data", str(running.folder))
    for who, role in ((user_id, "owner"), ("olga@example.org", "moderator"), ("Olga", "admin")):
        assert run("role", "grant", "localhost", who, role, *where).returncode == 0
        listed = json.loads(run("role", "list", "localhost", "--json", *where).stdout)
        assert listed == [{"user_id": user_id, "name": "olga", "role": role}]
    assert run("role", "revoke", "localhost", "olga", *where).returncode == 0
    assert json.loads(run("role", "list", "localhost", "--json", *where).stdout) == []
    assert "there is nobody" in refused("role", "grant", "localhost", "ghost", "owner", *where)


def test_a_deep_folder_gets_loopback_and_a_password(folder: Path) -> None:
    deep = folder / ("d" * 60) / ("e" * 60)
    with serving(deep) as server:
        access = json.loads((deep / "store.access").read_text())
        assert (deep / "store.access").stat().st_mode & 0o777 == 0o600
        with sync_redis.Redis(port=access["port"]) as stranger, pytest.raises(sync_redis.AuthenticationError):
            stranger.ping()
        assert run("site", "list", "--data", str(deep)).returncode == 0
        assert server.stop() == 0


def test_an_orphaned_store_is_adopted(folder: Path) -> None:
    with serving(folder) as server:
        server.stop()
    binary = find_program().path
    orphan = subprocess.Popen([binary, str(folder / "store.conf")], stdout=subprocess.DEVNULL)
    try:
        wait_until((folder / "store.sock").exists, "the orphan")
        with serving(folder) as server, sync_redis.Redis(unix_socket_path=str(folder / "store.sock")) as client:
            assert client.info("server")["process_id"] == orphan.pid
            assert server.stop() == 0
        assert orphan.wait(10) == 0
    finally:
        orphan.kill()


def test_an_adopted_store_that_ends_is_replaced(folder: Path) -> None:
    with serving(folder) as server:
        server.stop()
    orphan = subprocess.Popen([find_program().path, str(folder / "store.conf")], stdout=subprocess.DEVNULL)
    try:
        wait_until((folder / "store.sock").exists, "the orphan")
        with sync_redis.Redis(unix_socket_path=str(folder / "store.sock")) as client:
            client.config_set("maxmemory", CLOSED_BYTES)  # as a server leaves it that is killed on a full disk
        with serving(folder) as server:
            orphan.kill()
            orphan.wait()
            wait_until(lambda: httpx.get(f"{server.url}/readyz").status_code == 503, "the server to notice")
            wait_until(lambda: httpx.get(f"{server.url}/readyz").status_code == 200, "another store")
            assert "has ended; starting another" in server.said
            assert server.stop() == 0
        assert processes_of(folder) == []
    finally:
        orphan.kill()


def test_what_a_killed_store_left_of_a_new_journal_is_removed(folder: Path) -> None:
    folder.mkdir(parents=True)
    left = folder / "temp-rewriteaof-bg-17.aof"
    left.write_bytes(b"half of a journal")
    with serving(folder) as server:
        assert not left.exists()
        assert server.stop() == 0


def test_the_health_check_of_the_image_asks_on_the_port_of_the_settings(running: Server) -> None:
    def check(port: int) -> int:
        env = environment(THREADKIT_PORT=str(port), THREADKIT_HOST="0.0.0.0", http_proxy="http://127.0.0.1:1")
        module = [sys.executable, "-m", "threadkit.health.container"]
        return subprocess.run(module, env=env, capture_output=True, check=False).returncode

    assert check(running.port) == 0
    assert check(free_port()) != 0


def test_a_taken_port_is_one_sentence(running: Server, folder: Path) -> None:
    said = refused("serve", "--port", str(running.port), "--data", str(folder))
    assert "Is another program using the port?" in said
    said = refused("serve", "--port", str(free_port()), "--data", str(running.folder))
    assert "already using the data folder" in said
    assert httpx.get(f"{running.url}/health").status_code == 200


def test_other_bad_luck_is_one_sentence_too(folder: Path, tmp_path: Path) -> None:
    port = ("--port", str(free_port()))
    assert "is not writable" in refused("serve", *port, "--data", "/proc/nowhere")
    assert "it looks like redis://" in refused("serve", *port, "--redis-url", "nonsense", "--data", str(folder))
    assert "cannot be reached" in refused("serve", *port, "--redis-url", "redis://127.0.0.1:1", "--data", str(folder))
    assert "port (flag): must be a whole number" in refused("serve", "--port", "99999", "--data", str(folder))
    assert "there is no such file" in refused("serve", "--config", str(tmp_path / "none.toml"))
    assert "There is no data of ThreadKit in" in refused("site", "show", "nope", "--data", str(folder))


def test_a_full_disk_is_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(CannotStart, match="is not writable: No space left on device"):
        prepare_folder(tmp_path / "data")


def test_data_of_a_newer_store_is_refused_with_what_to_do(folder: Path) -> None:
    with serving(folder) as server:
        server.stop()
    (folder / "store.json").write_text('{"kind": "valkey", "version": "99.0.0"}')
    sentence = refused("serve", "--port", str(free_port()), "--data", str(folder))
    assert "was written by valkey 99.0.0" in sentence
    assert "set store.binary to its path" in sentence


def test_an_outside_store_and_presets_of_the_first_site(folder: Path) -> None:
    with serving(folder) as inside:
        url = f"unix://{folder / 'store.sock'}"
        env = environment(
            REDIS_URL=url,
            REDIS_KEY_PREFIX="mine:",
            SITE_NAME="Preset",
            SITE_DOMAIN="preset.example",
            SITE_ID="0197b7a2-6f1c-7c3e-8a41-2d9f6c1e5b70",
            PROJECT_ID_PUBLIC="tk_pub_from_the_environment",
            THREADKIT_SECRET_KEY="tk_sec_from_the_environment",
        )
        with serving(folder.parent / "second", env=env) as server:
            answer = httpx.get(f"{server.url}/v1/site", headers={"projectid": "tk_pub_from_the_environment"}).json()
            assert (answer["name"], answer["id"]) == ("Preset", "0197b7a2-6f1c-7c3e-8a41-2d9f6c1e5b70")
            owner = httpx.get(
                f"{server.url}/v1/admin/sites/{answer['id']}", headers={"projectid": "tk_sec_from_the_environment"}
            )
            assert owner.status_code == 200
            assert "tk_sec_from_the_environment" not in server.said
            assert server.stop() == 0
        assert inside.process.poll() is None
        with sync_redis.Redis(unix_socket_path=str(folder / "store.sock"), decode_responses=True) as client:
            ours = [key for key in client.scan_iter() if "preset" in str(client.dump(key)) or key.startswith("mine:")]
            assert any(key.startswith("mine:site:") for key in ours)
