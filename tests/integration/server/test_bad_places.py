"""Folders, files and settings as owners have them on bad days: a sentence, and nothing lost."""

import fcntl
import json
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis as sync_redis

from tests.folders import quick_folder
from tests.integration.server.outside import OutsideStore
from tests.integration.server.program import refused, run, wait_until
from threadkit.settings import Settings
from threadkit.storage import bundled, hailing
from threadkit.storage.bundled import BundledStore, address_in
from threadkit.storage.client import StoreAddress
from threadkit.storage.store_program import find_program


@pytest.fixture
def parent() -> Iterator[Path]:
    with quick_folder() as folder:
        yield Path(folder)


def made_in(folder: Path, *words: str) -> None:
    done = run("site", "create", "Blog", "blog.example.org", "--data", str(folder), *words)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ['with "quotes"', "back\\slash", "tab\tand é 谢谢", "$(touch x) 'n'"])
def test_a_folder_may_have_any_name(parent: Path, name: str) -> None:
    made_in(parent / name)
    assert "blog.example.org" in run("site", "list", "--data", str(parent / name)).stdout


def slow_program(parent: Path, *flags: str) -> Path:
    """A store that takes its time with each key it reads."""
    script = parent / "slow-valkey"
    script.write_text(f'#!/bin/sh\nexec {find_program().path} "$@" {" ".join(flags)}\n')
    script.chmod(0o755)
    return script


def test_a_store_that_loads_for_long_is_waited_for_and_says_how_far_it_is(
    parent: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = parent / "data"
    made_in(folder)
    store = BundledStore(Settings(data=str(folder)))
    store.start()
    with sync_redis.Redis(unix_socket_path=str(folder / "store.sock")) as client:
        client.mset({f"page:{number}:views": "1" for number in range(2000)})
        client.bgrewriteaof()
        wait_until(lambda: client.info("persistence")["aof_rewrite_in_progress"] == 0, "the rewrite")
        wait_until(lambda: client.info("persistence")["aof_rewrite_scheduled"] == 0, "the rewrite")
    store.stop()
    monkeypatch.setattr(bundled, "START_TIMEOUT_S", 0.3)
    monkeypatch.setattr(bundled, "TELL_EVERY_S", 0.2)
    slow = BundledStore(Settings(data=str(folder), redis_server=str(slow_program(parent, "--key-load-delay", "1000"))))
    slow.start()
    try:
        assert hailing.loading(slow.address) is None
        assert "The store reads its data: " in capfd.readouterr().err
    finally:
        slow.stop()


def test_an_outside_store_that_loads_is_waited_for(parent: Path) -> None:
    outside = OutsideStore(parent / "outside")
    outside.start().wait_until_ready()
    where = ("--redis-url", outside.url, "--data", str(parent / "data"))
    try:
        assert run("site", "create", "Blog", "blog.example.org", *where).returncode == 0
        with sync_redis.Redis(unix_socket_path=str(outside.socket)) as client:
            client.mset({f"page:{number}:views": "1" for number in range(2000)})
            client.bgrewriteaof()
            wait_until(lambda: client.info("persistence")["aof_rewrite_in_progress"] == 0, "the rewrite")
        outside.kill()
        outside.start("--key-load-delay", "1000")
        address = StoreAddress("standalone", path=str(outside.socket))
        wait_until(lambda: hailing.loading(address) is not None, "the store to read its data")
        done = run("site", "list", *where)
        assert "blog.example.org" in done.stdout, done.stderr
    finally:
        outside.kill()


class Stranger:
    """Somebody who listens where our store used to, and writes down what is said."""

    def __init__(self, port: int) -> None:
        self.heard = b""
        self._listening = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(0.3)
                try:
                    self.heard += connection.recv(4096)
                    connection.sendall(b"-ERR who are you\r\n")
                except OSError:
                    pass

    def close(self) -> None:
        self._listening.close()


def test_a_port_that_somebody_else_took_is_left_and_no_password_said(parent: Path) -> None:
    deep = parent / ("d" * 60) / ("e" * 60)
    made_in(deep)
    before = json.loads((deep / "store.access").read_text())
    stranger = Stranger(before["port"])
    try:
        done = run("site", "list", "--data", str(deep))
        assert "blog.example.org" in done.stdout, done.stderr
        assert before["password"].encode() not in stranger.heard
        assert json.loads((deep / "store.access").read_text())["port"] != before["port"]
    finally:
        stranger.close()


def test_an_orphaned_store_behind_a_port_is_adopted(parent: Path) -> None:
    deep = parent / ("d" * 60) / ("e" * 60)
    made_in(deep)
    with (deep / bundled.RUNNING).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        orphan = subprocess.Popen(
            [find_program().path, str(deep / "store.conf")], stdout=subprocess.DEVNULL, pass_fds=[lock.fileno()]
        )
    try:
        wait_until(lambda: hailing.ping(address_in(deep)), "the orphan")
        store = BundledStore(Settings(data=str(deep)))
        store.start()
        with sync_redis.Redis(port=address_in(deep).hosts[0][1], password=address_in(deep).password) as client:
            assert client.info("server")["process_id"] == orphan.pid
        store.stop()
        assert orphan.wait(10) == 0
    finally:
        orphan.kill()


def test_a_secret_that_is_no_text_is_one_sentence(parent: Path) -> None:
    (parent / "secret.key").write_bytes("schlüssel".encode() * 10)
    assert "does not hold a secret" in refused("site", "create", "Blog", "blog.example.org", "--data", str(parent))


def test_settings_may_begin_with_a_mark_of_their_encoding(parent: Path) -> None:
    (parent / "bom.toml").write_bytes(b'\xef\xbb\xbfpublic_url = "https://comments.example.org"\n')
    done = run("config", "check", "--config", str(parent / "bom.toml"), "--data", str(parent / "data"))
    assert "The settings are fine." in done.stdout, done.stderr


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ('public_url = "https://[x"', "public_url: must be the address people use"),
        ('public_url = "https://x:99999"', "public_url: must be the address people use"),
        ('redis_url = "redis//localhost"', "redis_url cannot be understood"),
        ('redis_server = "/bin/true"', "not a Valkey or Redis server"),
        ('host = "no such host"', "nothing can listen on 'no such host'"),
        ('[mail]\nhost = "smtp..example.org"', "mail.host: must be the name or address of a mail server"),
        ('[mail]\nhost = "smtp.example.org"\nsender = "nobody"', "mail.sender: must be an address"),
        ('[sms]\nurl = "https://[x"', "sms.url: must be an address"),
        ('[oidc]\nissuer = "accounts.example.org"', "oidc.issuer: must be an address"),
        ('[backup]\npassphrase_file = "/nowhere/at/all"', "/nowhere/at/all"),
        ('[backup]\nfolder = "/dev/null/backups"', "backup.folder: /dev/null is no folder"),
        ('data = "/dev/null/data"', "data: /dev/null is no folder"),
    ],
)
def test_config_check_finds_what_a_server_would_stumble_over(parent: Path, settings: str, sentence: str) -> None:
    (parent / "mine.toml").write_text(settings)
    said = refused("config", "check", "--config", str(parent / "mine.toml"), cwd=parent)
    assert sentence in said
