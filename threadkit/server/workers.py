"""The parent of several workers. It never ends unasked: a worker that died is replaced, however often it fails."""

import contextlib
import fcntl
import math
import os
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import structlog
from prometheus_client import multiprocess
from uvicorn.config import STARTUP_FAILURE, Config
from uvicorn.supervisors import Multiprocess
from uvicorn.supervisors.multiprocess import Process

log = structlog.get_logger()

PAUSE_S = 5.0
ENDS_WITHIN_S = 20.0
_METERS = "threadkit-meters-"


class Workers(Multiprocess):
    """Uvicorn's own parent gives up when one worker cannot start, and ends the others too."""

    def __init__(self, config: Config, sockets: list[socket.socket]) -> None:
        super().__init__(config, sockets=sockets)
        self._again_at: dict[int, float] = {}
        self._asked_at: dict[Process, float] = {}

    def keep_subprocess_alive(self) -> None:
        for place, process in enumerate(self.processes):
            if self.should_exit.is_set():
                return
            if self._lives(process):
                self._again_at.pop(place, None)
                continue
            if place not in self._again_at:
                self._again_at[place] = time.monotonic() + self._bury(process)
            if time.monotonic() >= self._again_at[place]:
                self.processes[place] = Process(self.config, self.sockets)
                self.processes[place].start()

    def join_all(self) -> None:
        """One that hangs does not hear that it is to end."""
        deadline = time.monotonic() + ENDS_WITHIN_S
        for process in self.processes:
            process.process.join(max(0.0, deadline - time.monotonic()))
            if process.process.is_alive():
                log.warning("worker_hangs", pid=process.pid)
                process.process.kill()
                process.process.join()

    def _lives(self, process: Process) -> bool:
        """Asked without waiting: one that hangs or is starting keeps nobody from being replaced, nor the server from
        stopping."""
        if not process.process.is_alive():
            return False
        try:
            if process not in self._asked_at:
                self._asked_at[process] = time.monotonic()
                process.parent_conn.send(b"ping")
            elif process.parent_conn.poll():
                process.parent_conn.recv()
                del self._asked_at[process]
        except (OSError, EOFError):
            return False
        return time.monotonic() - self._asked_at.get(process, math.inf) < self.config.timeout_worker_healthcheck

    def _bury(self, process: Process) -> float:
        """Says how many seconds to wait for another one."""
        self._asked_at.pop(process, None)
        process.kill()  # one that does not answer is still there
        process.join()
        if process.pid is not None:
            multiprocess.mark_process_dead(process.pid)  # type: ignore[no-untyped-call]
        pause_s = PAUSE_S if process.exitcode == STARTUP_FAILURE else 0.0
        log.warning("worker_ended", pid=process.pid, status=process.exitcode, another_in_s=pause_s)
        return pause_s


@contextlib.contextmanager
def shared_meters() -> Iterator[None]:
    """A folder in which the workers' meters add up. Those of servers that were killed are removed."""
    for left in Path(tempfile.gettempdir()).glob(f"{_METERS}*"):
        with contextlib.suppress(OSError), (left / "lock").open("r+") as abandoned:
            fcntl.flock(abandoned, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(left, ignore_errors=True)
    folder, lock = _locked_folder()
    with lock:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder)
        try:
            yield
        finally:
            del os.environ["PROMETHEUS_MULTIPROC_DIR"]
            shutil.rmtree(folder, ignore_errors=True)


def _locked_folder() -> tuple[Path, IO[str]]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_METERS))
        lock = (folder / "lock").open("w")
        fcntl.flock(lock, fcntl.LOCK_EX)
        if folder.exists():  # another server that starts just now may have taken it for one that was left
            return folder, lock
        lock.close()
