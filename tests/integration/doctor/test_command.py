"""`threadkit doctor` as an owner types it: beside a running server, alone, and on a store that no server would take."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis

from tests.folders import quick_folder
from tests.integration.server.program import Server, command, environment, run, serving


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with (
        quick_folder() as folder,
        serving(Path(folder) / "d") as s,
    ):
        yield s


def store_of(server: Server) -> Redis:
    (socket,) = server.folder.rglob("*.sock")
    return Redis(unix_socket_path=str(socket), decode_responses=True)


def test_a_server_that_was_just_started_is_healthy(server: Server) -> None:
    result = run("doctor", "--data", str(server.folder))
    # The disk of the machine the tests run on is not ours to judge.
    lines = [line for line in result.stdout.splitlines() if "Disk space" not in line]
    assert not any(line.startswith("bad") for line in lines), result.stdout
    assert any(line.startswith("ok      Store: ") for line in lines)
    assert any(line.startswith("warning Mail: ") for line in lines)
    assert "        → Set mail.host and mail.sender." in lines
    assert any("My site" in line for line in lines), "and what concerns the site"


def test_it_speaks_the_language_of_the_terminal(server: Server) -> None:
    german = run("doctor", "--data", str(server.folder), env=environment(LC_ALL="de_DE.UTF-8"))
    assert "warning E-Mail: Es ist kein Mailserver eingestellt" in german.stdout
    told = run("doctor", "--json", "--data", str(server.folder), env=environment(LC_ALL="", LANG="ru_RU.UTF-8"))
    assert "Хранилище" in {check["title"] for check in json.loads(told.stdout)["checks"]}


def test_programs_can_read_what_it_says_and_red_is_exit_code_1(server: Server) -> None:
    with store_of(server) as redis:
        redis.config_set("maxmemory-policy", "allkeys-lru")
        try:
            result = run("doctor", "--json", "--data", str(server.folder))
        finally:
            redis.config_set("maxmemory-policy", "noeviction")
    told = json.loads(result.stdout)
    assert (result.returncode, told["is_healthy"]) == (1, False)
    found = {check["id"]: check for check in told["checks"]}
    assert found["memory_policy"]["state"] == "bad"
    assert found["memory_policy"]["fix"] == "Set maxmemory-policy noeviction in the store's configuration."
    assert found["proxy"]["state"] == "unknown", "no browser asked"
    assert {"origins", "sign_in", "indexes", "outbox"} <= set(found)


def test_it_works_alone_and_on_a_store_that_is_away(tmp_path: Path) -> None:
    with quick_folder() as folder:
        where = ("--data", str(Path(folder) / "d"))
        command("site", "create", "Blog", "blog.example.org", *where)
        alone = run("doctor", "--json", *where)
        found = {check["id"]: check["state"] for check in json.loads(alone.stdout)["checks"]}
        assert (found["store"], found["persistence"]) == ("ok", "ok")
    away = run(
        "doctor",
        "--json",
        "--redis-url",
        "redis://127.0.0.1:1",
        "--data",
        str(tmp_path),
        env=environment(),
        cwd=tmp_path,
    )
    assert away.returncode == 1, away.stderr
    found = {check["id"]: check["state"] for check in json.loads(away.stdout)["checks"]}
    assert (found["store"], found["persistence"]) == ("bad", "unknown")
