"""`threadkit loadgen` and `threadkit memory` as an owner types them (rows S3-95, S3-96)."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.folders import quick_folder
from tests.integration.server.program import run
from threadkit.storage.footprint import Of, kind_of
from threadkit.storage.keys import SCHEMA, Kind

KINDS = ("user", "comment", "vote", "session", "notification")


@pytest.fixture(scope="module")
def data() -> Iterator[str]:
    """A site with made-up comments on it."""
    with quick_folder() as folder:
        made = run("site", "create", "Blog", "blog.example.org", "--data", folder)
        assert made.returncode == 0, made.stderr
        words = ("--comments", "300", "--users", "100", "--votes", "500", "--pages", "8", "--seed", "one")
        filled = run("loadgen", "--site", "Blog", *words, "--data", folder)
        assert filled.returncode == 0, filled.stderr
        assert "Blog now has 300 more comments" in filled.stdout
        assert "the seed was one" in filled.stdout
        yield folder


def json_of(*words: str) -> Any:
    result = run(*words, "--json")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_a_site_with_comments_is_left_alone_unless_told_so(data: str) -> None:
    refused = run("loadgen", "--site", "Blog", "--comments", "10", "--data", data)
    assert refused.returncode == 1
    assert refused.stderr.startswith("Error: Blog has 300 comments. Give --yes")
    json_of("site", "create", "Second", "second.example.org", "--data", data)
    words = ("--comments", "10", "--page-url", "https://second.example.org/a", "--data", data)
    assert json_of("loadgen", "--site", "Second", *words)["pages"] == 1
    assert json_of("loadgen", "--site", "Second", "--yes", *words)["comments"] == 10


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--site", "nope", "--comments", "5"], "There is no site 'nope'."),
        (["--site", "Blog", "--yes", "--comments", "2", "--users", "3", "--votes", "7"], "users × comments"),
        (["--site", "Blog", "--yes", "--comments", "2", "--pages", "2", "--page-url", "x"], "together with --page-url"),
        (["--site", "Blog", "--yes", "--comments", "2", "--page-url", "x" * 3000], "1 to 2000 characters"),
        (["--site", "Blog", "--yes", "--comments", "2", "--until", "2999-01-01"], "between 1980 and now"),
    ],
)
def test_what_cannot_be_made_is_one_sentence(data: str, words: list[str], sentence: str) -> None:
    result = run("loadgen", *words, "--data", data)
    assert result.returncode == 1
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr


def test_the_memory_report_names_every_kind(data: str) -> None:
    """S3-95: bytes per user, comment, vote, session, notification, from real data."""
    printed = run("memory", "--data", data)
    assert printed.returncode == 0, printed.stderr
    assert all(f"\n{kind} " in printed.stdout for kind in KINDS)
    kinds = {line["kind"]: line for line in json_of("memory", "--data", data)["kinds"]}
    for kind in ("user", "comment", "vote"):
        assert kinds[kind]["bytes_each"] > 100
        assert kinds[kind]["index_bytes"] > 0
    assert kinds["vote"]["count"] >= 500
    assert kinds["session"]["bytes_each"] is None, "nobody has signed in"


def test_the_report_accounts_for_nearly_all_that_the_store_takes(data: str) -> None:
    report = json_of("memory", "--data", data)
    assert report["bytes"] == sum(line["record_bytes"] + line["index_bytes"] for line in report["kinds"])
    assert report["bytes"] < report["used_memory"] < report["bytes"] + 4_000_000


def test_an_estimate_is_the_measured_size_times_the_number(data: str) -> None:
    report = json_of("memory", "--comments", "10000", "--votes", "20000", "--sessions", "5", "--data", data)
    each = {line["kind"]: line["bytes_each"] for line in report["kinds"]}
    estimate = report["estimate"]
    assert estimate["for"] == {"comments": 10000, "votes": 20000, "sessions": 5}
    assert estimate["bytes"]["comments"] == pytest.approx(each["comment"] * 10_000, rel=0.001)
    assert estimate["bytes"]["votes"] == pytest.approx(each["vote"] * 20_000, rel=0.001)
    assert estimate["bytes"]["sessions"] is None
    assert estimate["total_bytes"] == estimate["bytes"]["comments"] + estimate["bytes"]["votes"]
    printed = run("memory", "--estimate", "--sessions", "5", "--data", data).stdout
    assert "nothing there to measure" in printed


def test_one_sites_share_leaves_out_the_others_and_all_people(data: str) -> None:
    site = json_of("site", "create", "Third", "third.example.org", "--data", data)
    json_of("loadgen", "--site", "Third", "--comments", "20", "--users", "5", "--votes", "9", "--data", data)
    kinds = {line["kind"]: line for line in json_of("memory", "--site", site["id"], "--data", data)["kinds"]}
    assert (kinds["comment"]["count"], kinds["vote"]["count"], kinds["site"]["count"]) == (20, 9, 1)
    assert kinds["user"]["count"] == 0


def test_every_key_of_the_schema_has_its_kind() -> None:
    by_kind: dict[Of, set[str]] = {kind: set() for kind in Of}
    for entry in SCHEMA:
        if entry.kind is not Kind.CHANNEL:
            by_kind[kind_of(entry)].add(entry.name)
    assert {"comment", "page_hot", "replies", "comments_of"} <= by_kind[Of.COMMENT]
    assert {"profile", "email", "username", "applied"} <= by_kind[Of.USER]
    assert by_kind[Of.VOTE] == {"vote", "page_votes", "voted_pages"}
    assert {"session", "sessions", "provider_session"} <= by_kind[Of.SESSION]
    assert "unread" in by_kind[Of.NOTIFICATION]


@pytest.mark.prove
def test_the_bench_runs_and_writes_its_figures(tmp_path: Path) -> None:
    """S3-95, S3-96: a run too short to mean anything, but of all its parts."""
    file = tmp_path / "latest.json"
    words = ["--quick", "--only", "read,vote", "--rounds", "1", "--seconds", "0.2", "--json", str(file)]
    result = subprocess.run(
        [sys.executable, "-m", "tests.bench", *words], capture_output=True, text=True, timeout=100, cwd=_root()
    )
    assert result.returncode == 0, result.stdout + result.stderr
    written = json.loads(file.read_text())
    assert [figure["row"] for figure in written["figures"]] == ["read", "read", "read", "vote"]
    assert written["failed"] == []
    assert all(figure["ours"] > 0 and figure["floor"] > 0 for figure in written["figures"])
    assert written["machine"]["cpus"]
    assert all(figure["work"][:20] in result.stdout for figure in written["figures"])


def _root() -> Path:
    return Path(__file__).parents[3]
