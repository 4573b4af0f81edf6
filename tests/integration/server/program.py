"""The real program in processes of its own, as an owner runs it."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
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


# Whatever the terminal of whoever runs the tests speaks.
IN_ENGLISH = {"LC_ALL": "C.UTF-8"}


def environment(**more: str) -> dict[str, str]:
    # A server that may not keep what it compiled starts a third slower.
    own = ("THREADKIT_", "REDIS_", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(own)}
    return kept | UNLIMITED | IN_ENGLISH | more


def run(
    *words: str, env: dict[str, str] | None = None, cwd: Path | None = None, patience_s: float = 60
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*THREADKIT, *words], capture_output=True, text=True, timeout=patience_s, env=env or environment(), cwd=cwd
    )


def command(*words: str, **env: str) -> str:
    """A command without a process of its own, for tests that are about something else; says what it printed."""
    with ThreadPoolExecutor(1) as thread:  # commands have a loop of their own, and the caller may be in one
        done = thread.submit(CliRunner(env=UNLIMITED | IN_ENGLISH | env).invoke, main, words).result(60)
    assert done.exit_code == 0, done.output
    return done.stdout


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


def processes_of(folder: Path) -> list[int]:
    """Processes that were started with this folder in their command line."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if str(folder).encode() in entry.read_bytes():
                found.append(int(entry.parent.name))
    return found
