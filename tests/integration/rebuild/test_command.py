"""`threadkit rebuild` as an owner types it, beside a running server."""

import asyncio
import json
import signal
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from redis import Redis

from tests.folders import quick_folder
from tests.integration.server.program import Server, run, serving
from tests.integration.server.test_cli import json_of
from tests.wait import until


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with (
        quick_folder() as folder,
        serving(Path(folder) / "d") as s,
    ):
        yield s


@pytest.fixture(scope="module")
def site(server: Server) -> dict[str, str]:
    found = json_of("site", "create", "Shop", "shop.example.org", "auth.anonymous=yes", "--data", str(server.folder))
    assert isinstance(found, dict)
    return found


@pytest.fixture(scope="module")
def comments(server: Server, site: dict[str, str]) -> list[str]:
    headers = {"projectid": site["api_key_public"]}
    guest = httpx.post(f"{server.url}/v1/auth/anonymous", json={"name": "gast"}, headers=headers).json()
    headers["authorization"] = f"Bearer {guest['token']}"
    ids = []
    for text in ("one", "two", "three"):
        body = {"page_url": "https://shop.example.org/a", "content": text}
        answer = httpx.post(f"{server.url}/v1/comments", json=body, headers=headers)
        assert answer.status_code == 200, answer.text
        ids.append(answer.json()["comment"]["i"])
    return ids


def store(server: Server) -> Redis:
    (socket,) = server.folder.rglob("*.sock")
    return Redis(unix_socket_path=str(socket), decode_responses=True)


def test_check_tells_and_rebuild_mends(server: Server, comments: list[str]) -> None:
    data = ["--data", str(server.folder)]
    clean = run("rebuild", "--check", *data)
    assert (clean.returncode, clean.stderr) == (0, ""), "no progress bar where nobody looks"
    assert clean.stdout.startswith("Everything agrees: 3 comments, 1 pages, 0 votes, ")
    with store(server) as redis:
        redis.hset(f"comment:{comments[0]}", "reply_count", "8")
        checked = run("rebuild", "--check", *data)
        assert checked.returncode == 1
        assert f"reply_count: 1 wrong, e.g. comment {comments[0]}: 8 instead of 0" in checked.stdout
        assert redis.hget(f"comment:{comments[0]}", "reply_count") == "8"
        mended = run("rebuild", *data)
        assert mended.returncode == 0
        assert f"reply_count: 1 put right, e.g. comment {comments[0]}: 8 instead of 0" in mended.stdout
        assert redis.hget(f"comment:{comments[0]}", "reply_count") == "0"


def test_programs_can_read_what_it_says(server: Server, site: dict[str, str], comments: list[str]) -> None:
    with store(server) as redis:
        redis.delete(f"site:{site['id']}:comments")
    result = run("rebuild", "--check", "--json", "--site", "shop.example.org", "--data", str(server.folder))
    assert result.returncode == 1
    told = json.loads(result.stdout)
    assert (told["is_clean"], told["site_id"], told["comments"]) == (False, site["id"], 3)
    assert [(tally["kind"], tally["what"], tally["count"]) for tally in told["tallies"]] == [("comments", "missing", 3)]
    assert json_of("rebuild", "--data", str(server.folder))["is_clean"] is True  # type: ignore[index]


def test_an_unknown_site_is_a_sentence(server: Server) -> None:
    result = run("rebuild", "--site", "nope", "--data", str(server.folder))
    assert (result.returncode, result.stderr) == (1, "Error: There is no site 'nope'.\n")


def test_a_new_formula_is_shown_to_be_under_way(site: dict[str, str], server: Server, comments: list[str]) -> None:
    ranking = f"site:{site['id']}:ranking"
    asyncio.run(until(lambda: bool(store(server).exists(ranking)), "the server to note which formula it ranked with"))
    server.process.send_signal(signal.SIGSTOP)  # or it may be done before it can be shown
    try:
        result = run("site", "set", site["id"], "hot.decay_s=99", "--data", str(server.folder))
    finally:
        server.process.send_signal(signal.SIGCONT)
    assert "re-ranking 0 %" in result.stdout
