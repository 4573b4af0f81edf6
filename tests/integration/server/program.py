"""The real program in processes of its own, as an owner runs it."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import httpx
from click.testing import CliRunner

from threadkit.cli import main

THREADKIT = [sys.executable, "-m", "threadkit"]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


# Tests are quicker than people; what limits do has tests of its own.
UNLIMITED = {"THREADKIT_LIMITS_ENABLED": "false", "THREADKIT_LIMITS_REQUESTS_AT_ONCE": "1000"}
# A busy machine keeps stores waiting too.
PATIENT = {"THREADKIT_STORE_SILENT_AFTER_S": "2"}


# Whatever the terminal of whoever runs the tests speaks.
IN_ENGLISH = {"LC_ALL": "C.UTF-8"}


def environment(**more: str) -> dict[str, str]:
    # A server that may not keep what it compiled starts a third slower.
    own = ("THREADKIT_", "REDIS_", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(own)}
    return kept | UNLIMITED | PATIENT | IN_ENGLISH | more


@dataclass
class Done:
    """What a command said, and how it ended."""

    returncode: int
    stdout: str
    stderr: str


def run(*words: str, env: dict[str, str] | None = None, cwd: Path | None = None, patience_s: float = 60) -> Done:
    """A command without a process of its own, which would cost half a second. `serve` and `worker` need one."""
    assert words[0] not in ("serve", "worker") or "--help" in words, "use program()"
    others = dict.fromkeys(os.environ)
    runner = CliRunner(env=others | (env or environment()))
    with ThreadPoolExecutor(1) as thread, contextlib.chdir(cwd or Path.cwd()):
        # Commands have a loop of their own, and the caller may be in one.
        result = thread.submit(runner.invoke, main, words).result(patience_s)
    unforeseen = "" if result.exception is None or isinstance(result.exception, SystemExit) else result.exc_info
    trace = "".join(traceback.format_exception(*unforeseen)) if unforeseen else ""
    return Done(result.exit_code, result.stdout, result.stderr + trace)


def command(*words: str, **env: str) -> str:
    """A command of which one only wants that it works; says what it printed."""
    done = run(*words, env=environment(**env))
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def program(
    *words: str, env: dict[str, str] | None = None, cwd: Path | None = None, patience_s: float = 60
) -> subprocess.CompletedProcess[str]:
    """A command as its owner runs it."""
    return subprocess.run(
        [*THREADKIT, *words], capture_output=True, text=True, timeout=patience_s, env=env or environment(), cwd=cwd
    )


def refused(*words: str, env: dict[str, str] | None = None, cwd: Path | None = None) -> str:
    """A command that must end with one sentence."""
    result = (program if words[0] in ("serve", "worker") else run)(*words, env=env, cwd=cwd)
    assert result.returncode == 1, result.stdout + result.stderr
    assert "Traceback" not in result.stderr
    assert result.stderr.startswith("Error: ")
    return result.stderr


class Server:
    """`threadkit serve` on a free port."""

    def __init__(self, folder: Path, *flags: str, env: dict[str, str] | None = None) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._output = folder.parent / f"{folder.name}.out"
        with self._output.open("w") as output:
            self.process = subprocess.Popen(
                [*THREADKIT, "serve", "--data", str(folder), "--port", str(self.port), *flags],
                stdout=output,
                stderr=subprocess.STDOUT,
                env=env or environment(),
                start_new_session=True,
            )

    @property
    def said(self) -> str:
        return self._output.read_text()

    def wait_until_ready(self) -> "Server":
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            assert self.process.poll() is None, self.said
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(f"{self.url}/health", timeout=1).status_code == 200:
                    return self
            time.sleep(0.02)
        raise AssertionError(f"not ready within 30 s: {self.said}")

    def stop(self, number: int = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(30)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(10)


@contextlib.contextmanager
def serving(folder: Path, *flags: str, env: dict[str, str] | None = None) -> Iterator[Server]:
    server = Server(folder, *flags, env=env)
    try:
        yield server.wait_until_ready()
    finally:
        if server.process.poll() is None:
            server.kill()


def wait_until(condition: Callable[[], bool], what: str, *, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.02)


def workers_of(pid: int) -> list[int]:
    """The processes that answer: children of the server, without its store and its helpers."""
    found = []
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
            if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes():
                found.append(int(child))
    return found


def processes_of(folder: Path) -> list[int]:
    """Processes that were started with this folder in their command line."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if str(folder).encode() in entry.read_bytes():
                found.append(int(entry.parent.name))
    return found
