"""Each command in bad places: beside a server whose people have hostile names, in an empty folder, in the wrong folder,
on a full disk. A new command gets its row in every_command.py."""

import json
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from redis import Redis

from tests.faults.between import COMPILER
from tests.faults.disk import Disk
from tests.folders import quick_folder
from tests.integration.server.every_command import (
    ANYWHERE,
    IN_PROCESS,
    MAKES_DATA,
    NEEDS_FILE,
    ROWS,
    Row,
    all_commands,
)
from tests.integration.server.in_one_process import run_all
from tests.integration.server.program import command, environment, program, run, serving
from threadkit.terminal import printable

HOSTILE = "[/x] [red]hi[/] :smile: \x1b]0;owned\x07\x1b[2J\x9b31m\u202etxt\r谢谢"
PAGE = "https://blog.example.org/a"


@dataclass(frozen=True)
class World:
    """A folder with a site, somebody, two pages, a backup and a file with labelled words, all of them with bad names."""

    folder: Path
    site: str
    user: str
    backup: Path
    words: Path

    def words_of(self, row: Row) -> list[str]:
        things = {
            "site": self.site,
            "user": self.user,
            "page": PAGE,
            "other_page": f"{PAGE}/other",
            "backup": str(self.backup),
            "words": str(self.words),
        }
        if "{victim}" in row.words:
            things["victim"] = new_site(self.folder, "Victim")
        return [word.format(**things) for word in row.words.split()]


def new_site(folder: Path, name: str) -> str:
    made = command("site", "create", name, "blog.example.org", "--json", "--data", str(folder))
    return str(json.loads(made)["id"])


def world_in(folder: Path) -> World:
    site = new_site(folder, "[/x] [red]hi[/]")
    for page in (PAGE, f"{PAGE}/other"):
        few = ("--comments", "2", "--users", "2", "--votes", "0", "--yes")
        command("loadgen", "--site", site, "--page-url", page, *few, "--data", str(folder))
    backup = Path(json.loads(command("backup", "create", "--json", "--data", str(folder)))["file"])
    words = folder.parent / "words.csv"
    words.write_text(f'text,spam\n"buy {HOSTILE} now",1\nthank you,0\n')
    return World(folder, site, "", backup, words)


def with_hostile_names(world: World, store: Redis) -> World:
    """As no door lets them in, but an older version may have."""
    store.hset(f"site:{world.site}:config", "name", HOSTILE)
    people = [key.decode() for key in store.scan_iter("user:" + "?" * 36)]
    for key in people:
        store.hset(key, "name", f"{HOSTILE}{key[-4:]}")
    for page in store.scan_iter("page:" + "?" * 36):
        store.hset(page, "title", f"{HOSTILE}\n")
    return World(world.folder, world.site, people[0].removeprefix("user:"), world.backup, world.words)


@pytest.fixture(scope="module")
def parent() -> Iterator[Path]:
    with quick_folder() as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def world(parent: Path) -> Iterator[World]:
    with serving(parent / "data") as server:
        made = world_in(server.folder)
        with Redis(unix_socket_path=str(server.folder / "store.sock")) as store:
            yield with_hostile_names(made, store)


@pytest.fixture(scope="module")
def file(parent: Path) -> Path:
    made = parent / "file.backup"
    made.write_bytes(b"nothing of ours")
    return made


def named(row: Row) -> str:
    return row.words


def test_every_command_is_in_the_table() -> None:
    assert {row.name for row in ROWS} == set(all_commands())


@pytest.mark.parametrize("row", IN_PROCESS, ids=named)
def test_beside_a_server_whatever_people_are_called(world: World, row: Row) -> None:
    words, where = world.words_of(row), ("--data", str(world.folder))
    for more in [(), ("--json",)] if row.has_json and row.is_reading else [()]:
        done = run(*words, *more, *where)
        assert "Traceback" not in done.stderr, done.stderr
        assert done.returncode == row.code, done.stdout + done.stderr
        if done.returncode == 1 and not done.stdout:
            assert done.stderr.startswith("Error: ")
        said = done.stdout + done.stderr
        assert not [sign for sign in said if sign != "\n" and unicodedata.category(sign) in ("Cc", "Cf", "Zl", "Zp")]
        if more and done.stdout:
            json.loads(done.stdout)


@pytest.mark.parametrize("words", ["site list", "page list --site {site}", "user show {user}", "config show"])
def test_what_is_piped_is_whole(world: World, words: str) -> None:
    said = run(*words.format(site=world.site, user=world.user).split(), "--data", str(world.folder)).stdout
    assert "…" not in said
    shown = {"site list": world.site, "user show {user}": world.user, "config show": str(world.folder)}
    assert shown.get(words, "https://blog.example.org/") in said
    if words != "config show":
        assert printable(HOSTILE) in said


@pytest.mark.parametrize("row", IN_PROCESS, ids=named)
def test_in_an_empty_folder_nothing_is_left_behind(tmp_path: Path, file: Path, row: Row) -> None:
    words = row.words.format(
        site="blog.example.org",
        victim="blog.example.org",
        user="ada",
        page=PAGE,
        other_page=PAGE,
        backup=file,
        words=file,
    )
    done = run(*words.split(), cwd=tmp_path)
    assert "Traceback" not in done.stderr, done.stderr
    if row.kind == MAKES_DATA:
        assert done.returncode == 0
        return
    assert list(tmp_path.iterdir()) == []
    if row.kind == ANYWHERE:
        assert done.returncode == 0, done.stderr
    else:
        assert done.returncode == 1
        assert done.stderr.startswith("Error: ")
        if row.kind != NEEDS_FILE:
            assert f"There is no data of ThreadKit in {tmp_path / 'data'}" in done.stderr


@pytest.mark.parametrize(
    "row", [row for row in IN_PROCESS if not row.kind and row.name not in ("copy", "doctor")], ids=named
)
def test_without_the_secret_of_a_store_nothing_is_left_behind(world: World, tmp_path: Path, row: Row) -> None:
    """In the wrong folder, with the right store."""
    url = f"unix://{world.folder / 'store.sock'}"
    words = row.words.format(site=world.site, victim=world.site, user=world.user, page=PAGE, other_page=PAGE)
    done = run(*words.split(), "--redis-url", url, cwd=tmp_path)
    assert (done.returncode, list(tmp_path.iterdir())) == (1, [])
    assert f"There is no secret.key of ThreadKit in {tmp_path / 'data'}" in done.stderr


@pytest.mark.parametrize("words", ["doctor", "doctor --deep"])
def test_the_doctor_looks_at_any_store_and_leaves_nothing_behind(world: World, tmp_path: Path, words: str) -> None:
    done = run(*words.split(), "--redis-url", f"unix://{world.folder / 'store.sock'}", cwd=tmp_path)
    assert (done.returncode, done.stderr, list(tmp_path.iterdir())) == (1, "", [])
    assert words != "doctor" or "another server secret" in done.stdout


def test_processes_say_so_too(world: World, tmp_path: Path) -> None:
    url = f"unix://{world.folder / 'store.sock'}"
    assert "There is no data of ThreadKit" in program("worker", cwd=tmp_path).stderr
    assert "There is no secret.key of ThreadKit" in program("worker", "--redis-url", url, cwd=tmp_path).stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.prove
@pytest.mark.skipif(COMPILER is None, reason="there is no C compiler, see .ci/run")
@pytest.mark.timeout(600)
def test_on_a_full_disk_each_says_what_it_can_and_leaves_nothing_behind() -> None:
    with quick_folder() as folder:
        made = world_in(Path(folder) / "data")
        disk = Disk(Path(folder) / "disk", made.folder)
        disk.has_only(0)
        before = {path.name for path in made.folder.rglob("*")}
        things = {"site": made.site, "victim": made.site, "user": "ada0", "page": PAGE, "other_page": PAGE}
        files = {"backup": made.backup, "words": made.words}
        said = [row.words.format(**things, **files).split() for row in IN_PROCESS]
        where = ["--data", str(made.folder)]
        done = run_all([words + where for words in said], environment(**disk.environment), patience_s=500)
        for row, each in zip(IN_PROCESS, done, strict=True):
            assert "Traceback" not in each.stderr, (row.words, each.stderr)
            is_told = each.returncode == 1 and ("Error: " in each.stderr or row.name == "doctor")
            if row.is_reading and row.name != "doctor":
                assert each.returncode == row.code or "{user}" in row.words, (row.words, each.stderr)
            else:
                assert is_told or each.returncode == 0, (row.words, each.stderr)
        left = {path.name for path in made.folder.rglob("*")} - before
        assert not left - {"server.lock", "store.lock", "store.running"}
