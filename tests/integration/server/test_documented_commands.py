"""Each command in docs/ does what it is there for, and the steps for restoring and moving work as they are written."""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.folders import quick_folder
from tests.integration.server.every_command import all_commands
from tests.integration.server.outside import outside_store
from tests.integration.server.program import command, environment, program, run

ROOT = Path(__file__).parents[3]
_COMMAND = re.compile(r"^(?:sudo -u threadkit (?:env \S+ )?)?(?:\S*/bin/)?threadkit (.+)|.* threadkit threadkit (.+)")
_BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
# What is not there, or needs what is not there, ends in a sentence.
REFUSED = {
    "backup restore": "holds data already",
    "backup create --encrypt": "",  # asks for a passphrase, and nobody is there
    "copy": "cannot be reached",
    "outbox retry 1765000000000-0": "1765000000000-0",
    "outbox drop 1765000000000-0": "1765000000000-0",
    "worker": "",
}


@dataclass(frozen=True)
class Documented:
    where: str
    words: str


def blocks(path: Path) -> list[str]:
    return [block.replace("\\\n", " ") for block in _BLOCK.findall(path.read_text())]


def documented() -> list[Documented]:
    found = []
    for path in sorted((ROOT / "docs").rglob("*.md")):
        for block in blocks(path):
            for line in block.splitlines():
                match = _COMMAND.match(re.sub(r"\s+#.*", "", line).strip())
                if match:
                    found.append(Documented(path.name, " ".join((match[1] or match[2]).split())))
    return found


@dataclass(frozen=True)
class Place:
    parent: Path
    url: str
    backup: Path

    @property
    def data(self) -> Path:
        return self.parent / "data"


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    with quick_folder() as folder, outside_store(Path(folder) / "outside") as store:
        parent = Path(folder)
        where = ("--data", str(parent / "data"), "--redis-url", store.url)
        command("site", "create", "Blog", "blog.example.org", *where)
        for page in ("old", "new", "heated", "first"):
            words = (
                "--page-url",
                f"https://blog.example.org/{page}",
                "--comments",
                "2",
                "--users",
                "2",
                "--votes",
                "0",
            )
            command("loadgen", "--site", "blog.example.org", *words, "--yes", *where)
        made = json.loads(command("backup", "create", "--json", *where))
        yield Place(parent, store.url, Path(made["file"]))


def test_there_are_commands_in_the_docs() -> None:
    assert len(documented()) > 25
    assert {"backup restore", "copy", "page move", "site set"} <= {name_of(one.words) for one in documented()}


def name_of(words: str) -> str:
    known = [name for name in all_commands() if f"{words} ".startswith(f"{name} ")]
    return max(known, key=len, default="")


@pytest.mark.parametrize("one", documented(), ids=lambda one: f"{one.where}: {one.words}")
def test_each_command_in_the_docs(place: Place, one: Documented) -> None:
    words = one.words.replace("/var/lib/threadkit", str(place.data)).replace("/mnt/usb", str(place.parent / "usb"))
    words = re.sub(r"FILE|\S*\.backup\b", str(place.backup), words)
    words = words.replace("SITE", "blog.example.org").replace("NAME", "ada0").replace("10.0.0.", "127.0.0.")
    words = words.replace("requirements.lock", str(ROOT / "requirements.lock"))
    if name_of(one.words) == "page move":  # to where nobody has written
        words = words.replace("/old", "/first").replace("/new", "/second")
    env = environment(REDIS_URL=place.url, THREADKIT_DATA=str(place.data))
    runs = program if name_of(one.words) == "worker" else run
    if runs is program:
        words = "worker --help"
    done = runs(*shlex.split(words), env=env, cwd=place.parent)
    assert "Traceback" not in done.stderr, done.stderr
    refusal = next((said for start, said in REFUSED.items() if one.words.startswith(start)), None)
    if refusal is None:
        assert done.returncode == 0, done.stdout + done.stderr
    elif done.returncode:
        assert refusal in done.stderr


@dataclass(frozen=True)
class Machine:
    """Folders as a server has them: settings here, data there."""

    etc: Path
    data: Path

    def do(self, step: str) -> str:
        """What the docs say, without the service and without another user."""
        lines = [line for line in step.splitlines() if "systemctl" not in line]
        script = "\n".join(lines).replace("sudo -u threadkit ", "").replace("sudo ", "")
        for theirs, ours in {
            "/opt/threadkit/.venv/bin/threadkit": f"{sys.executable} -m threadkit",
            "/var/lib/threadkit": str(self.data),
            "/etc/threadkit": str(self.etc),
        }.items():
            script = script.replace(theirs, ours)
        env = environment(PYTHONPATH=str(ROOT))
        done = subprocess.run(["bash", "-e"], input=script, env=env, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
        return done.stdout


@pytest.fixture
def machine() -> Iterator[Machine]:
    with quick_folder() as folder:
        etc, data = Path(folder) / "etc", Path(folder) / "data"
        etc.mkdir()
        (etc / "passphrase").write_text("a passphrase that is long enough\n")
        settings = f'key_prefix = "blog:"\n[backup]\npassphrase_file = "{etc / "passphrase"}"\n'
        (etc / "threadkit.toml").write_text(settings)
        where = ("--config", str(etc / "threadkit.toml"), "--data", str(data))
        command("site", "create", "Blog", "blog.example.org", *where)
        command("backup", "create", *where)
        yield Machine(etc, data)


def step_with(document: str, words: str) -> str:
    (found,) = [block for block in blocks(ROOT / "docs" / document) if words in block and "systemctl" in block]
    return str(found)


def sites_of(machine: Machine, *more: str) -> str:
    settings = str(machine.etc / "threadkit.toml")
    return command("site", "list", "--config", settings, "--data", str(machine.data), *more)


def test_the_steps_for_restoring_work_as_written(machine: Machine) -> None:
    (backup,) = machine.data.glob("backups/*.backup")
    machine.do(re.sub(r"threadkit-\d{8}-\d{6}\.backup", backup.name, step_with("backups.md", "backup restore")))
    assert (machine.data / "appendonlydir.old").exists()
    assert "blog.example.org" in sites_of(machine)


def test_the_steps_for_moving_work_as_written(machine: Machine) -> None:
    step = step_with("install.md", "copy --data")
    with outside_store(machine.etc.parent / "outside") as target:
        machine.do(re.sub(r"redis\+cluster://\S+", target.url, step))
        assert "blog.example.org" in sites_of(machine, "--redis-url", target.url)
