"""A store of an owner's own, which tests stop, slow down and start again."""

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.integration.server.program import wait_until
from threadkit.storage.client import StoreAddress
from threadkit.storage.hailing import ping
from threadkit.storage.store_program import find_program


class OutsideStore:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.socket = folder / "outside.sock"
        self.url = f"unix://{self.socket}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, *flags: str) -> "OutsideStore":
        self.folder.mkdir(parents=True, exist_ok=True)
        settings = ["--port", "0", "--unixsocket", str(self.socket), "--dir", str(self.folder), "--save", ""]
        durable = ["--appendonly", "yes", "--appendfsync", "always"]
        self.process = subprocess.Popen(
            [find_program().path, *settings, *durable, *flags], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        return self

    def wait_until_ready(self) -> "OutsideStore":
        wait_until(lambda: ping(StoreAddress("standalone", path=str(self.socket))), "the store")
        return self

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()


@contextlib.contextmanager
def outside_store(folder: Path) -> Iterator[OutsideStore]:
    store = OutsideStore(folder)
    try:
        yield store.start().wait_until_ready()
    finally:
        store.kill()
