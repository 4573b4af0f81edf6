"""A store of a hundred thousand comments is looked through within a minute, and served from a backup within five. The
short form has fewer comments and is held to nothing but that it works. G5, G27."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote
from urllib.request import Request, urlopen

import pytest

from tests.folders import quick_folder
from tests.integration.backup.stores import new_folder
from tests.integration.server.program import run, serving

IS_LONG = bool(os.environ.get("THREADKIT_SOAK"))
COMMENTS = 100_000 if IS_LONG else 1_000
LOOKED_THROUGH_WITHIN_S = 60 if IS_LONG else 120
SERVED_WITHIN_S = 300

pytestmark = [pytest.mark.prove, pytest.mark.timeout(1800 if IS_LONG else 300)]


@pytest.fixture
def parent() -> Iterator[Path]:
    with quick_folder() as folder:
        yield Path(folder)


def do(*words: str) -> str:
    done = run(*words, patience_s=900)
    assert done.returncode == 0, done.stdout[:2000] + done.stderr
    return done.stdout


def test_many_comments_are_looked_through_and_served_from_a_backup_in_time(parent: Path) -> None:
    folder = parent / "a"
    data = ("--data", str(folder))
    site = json.loads(do("site", "create", "Blog", "blog.example.org", "--json", *data))
    do("loadgen", "--site", site["id"], "--comments", str(COMMENTS), "--seed", "large", *data)
    with serving(folder):
        started = time.perf_counter()
        found = json.loads(do("doctor", "--deep", "--json", *data))
        looked_s = time.perf_counter() - started
    print(
        f"\nG5: {COMMENTS:,} comments looked through in {looked_s:.1f} s beside the server, {len(found['found'])} faults"
    )
    assert found["found"] == []

    do("backup", "create", *data)
    (backup,) = (folder / "backups").glob("*.backup")
    target = new_folder(parent, "b", like=folder)
    started = time.perf_counter()
    do("backup", "restore", str(backup), "--data", str(target))
    restored_s = time.perf_counter() - started
    with serving(target) as server:
        (page, *_) = json.loads(do("page", "list", "--site", site["id"], "--json", "--data", str(target)))
        asked = f"{server.url}/v1/comments?page_url={quote(page['url'], safe='')}"
        with urlopen(Request(asked, headers={"projectid": site["api_key_public"]}), timeout=30) as answer:
            shown = json.load(answer)
        served_s = time.perf_counter() - started
    print(f"\nG27: {COMMENTS:,} comments restored in {restored_s:.1f} s, answering after {served_s:.1f} s")
    assert shown["tree"]["c"]
    assert looked_s <= LOOKED_THROUGH_WITHIN_S
    assert served_s <= SERVED_WITHIN_S
