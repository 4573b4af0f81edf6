"""What a measurement needs around it: our server as a program, bare servers beside it, data in both."""

import asyncio
import base64
import contextlib
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import redis as sync_redis

from tests.bench.client import Client
from tests.integration.server.program import Server, environment, free_port
from threadkit.ids import SiteId
from threadkit.keyring import open_keyring
from threadkit.loadgen.service import Load, LoadService
from threadkit.loadgen.shapes import MadePage
from threadkit.pages.model import page_id_of
from threadkit.services import Services, build
from threadkit.settings import Settings
from threadkit.sites.model import Site
from threadkit.storage.bundled import BundledStore, address_in
from threadkit.storage.client import Store
from threadkit.storage.keys import Keys

SITE_ID = SiteId("0197b7a2-6f1c-7c3e-8a41-2d9f6c1e5b70")
DOMAIN = "bench.example"
PUBLIC_KEY = "tk_pub_of_the_benchmark"
SECRET_KEY = "tk_sec_of_the_benchmark"
SECRET = "a secret of the benchmark, long enough"
UNTIL_MS = 1_760_000_000_000
PATIENCE_S = 300.0


@dataclass(frozen=True)
class Pace:
    """How long everything takes: more rounds and longer ones give steadier numbers."""

    rounds: int
    seconds: float
    connections: int
    is_quick: bool
    sockets: int = 1000
    """On the live page."""


@dataclass(frozen=True)
class Running:
    """A server in a process of its own."""

    port: int
    pid: int


@dataclass(frozen=True)
class Person:
    id: str
    token: str


def page_url(name: str) -> str:
    return f"https://{DOMAIN}/{name}"


def pages(name: str, count: int, comments: int) -> tuple[MadePage, ...]:
    return tuple(MadePage(page_url(f"{name}-{number}"), name, comments) for number in range(count))


# Everything is counted as on a fresh install, but nobody reaches a limit.
LIMITS = {
    "THREADKIT_LIMITS_ENABLED": "true",
    "THREADKIT_LIMITS_POST_EVERY_S": "0",
    **dict.fromkeys(
        (
            "THREADKIT_LIMITS_IP_READS_PER_MINUTE",
            "THREADKIT_LIMITS_IP_WRITES_PER_MINUTE",
            "THREADKIT_LIMITS_USER_READS_PER_MINUTE",
            "THREADKIT_LIMITS_USER_WRITES_PER_MINUTE",
            "THREADKIT_LIMITS_COSTLY_PER_MINUTE",
            "THREADKIT_LIMITS_COSTLY_PER_DAY",
            "THREADKIT_LIMITS_POSTS_PER_TEN_MINUTES",
        ),
        "1000000",
    ),
}


class Subject:
    """`threadkit serve` with a folder of its own and, but for limits, the settings a fresh install has."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.port = server.port
        self.running = Running(server.port, server.process.pid)
        self.folder = server.folder
        self._store = sync_redis.Redis(unix_socket_path=str(server.folder / "store.sock"), decode_responses=True)
        self._loads = 0

    def load(self, wanted: Sequence[MadePage], *, users: int = 200, votes: int = 0) -> None:
        """Put comments on pages, and wait until all of it has had its effects."""
        self._loads += 1
        load = Load(tuple(wanted), users=users, votes=votes, seed=f"bench {self._loads}", until_ms=UNTIL_MS)
        asyncio.run(fill(self.folder, load))
        self.rest()

    def people(self, count: int) -> list[Person]:
        """Signed-in people, made through the API."""
        found = []
        with httpx.Client(base_url=self._server.url, headers={"projectid": SECRET_KEY}, timeout=30) as http:
            for _ in range(count):
                self._loads += 1
                answer = http.post("/v1/admin/create-user", json={"name": f"bench-{self._loads}"})
                answer.raise_for_status()
                found.append(Person(answer.json()["user"]["id"], answer.json()["token"]))
        return found

    def comment_ids(self, url: str) -> list[str]:
        return comment_ids(self.folder, url)

    def waiting(self) -> int:
        """Entries of the outbox that had no effect yet."""
        return int(self._store.xlen(Keys().site(SITE_ID).outbox()))

    def rest(self) -> None:
        """Wait until nothing of what was asked before is still being worked on."""
        deadline = time.monotonic() + PATIENCE_S
        while self.waiting():
            if time.monotonic() > deadline:
                raise TimeoutError("the outbox does not get empty")
            time.sleep(0.01)

    def memory(self) -> int:
        return int(self._store.info("memory")["used_memory"])

    def store_cpu_s(self) -> float:
        """What the store has used so far."""
        used = self._store.info("cpu")
        return float(used["used_cpu_user"]) + float(used["used_cpu_sys"])


def comment_ids(folder: Path, url: str) -> list[str]:
    """The comments of a page, oldest first."""
    key = Keys().site(SITE_ID).page_new(page_id_of(SITE_ID, url))
    with sync_redis.Redis(unix_socket_path=str(folder / "store.sock"), decode_responses=True) as store:
        return [str(found) for found in store.zrange(key, 0, -1)]


def request(method: str, path: str, *, body: Any = None, token: str | None = None, **headers: str) -> bytes:
    """A request as a browser on the site would send it."""
    content = b"" if body is None else json.dumps(body).encode()
    lines = {
        "host": "comments.bench.example",
        "projectid": PUBLIC_KEY,
        "origin": f"https://{DOMAIN}",
        "referer": f"https://{DOMAIN}/",
        "user-agent": "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0",
        "accept": "application/json",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    if token:
        lines["authorization"] = f"Bearer {token}"
    if content:
        lines |= {"content-type": "application/json", "content-length": str(len(content))}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + content


def get_page(url: str, **headers: str) -> bytes:
    return request("GET", f"/v1/comments?page_url={quote(url, safe='')}", **headers)


@dataclass(frozen=True)
class Answer:
    status: int
    headers: list[tuple[str, str]]
    body: bytes
    raw: bytes


class Caller:
    """One connection, one request at a time, timed from the first byte out to the last byte in."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, sent: bytes) -> tuple[Answer, float]:
        started = time.perf_counter()
        self._socket.sendall(sent)
        data = b""
        while (end := data.find(b"\r\n\r\n")) < 0:
            data += self._read()
        first, *lines = data[:end].decode("latin-1").split("\r\n")
        headers = [(name, value) for name, _, value in (line.partition(": ") for line in lines)]
        status = int(first.split()[1])
        length = 0 if status == 304 else int(dict(headers)["content-length"])
        parts, missing = [data[end + 4 :]], length - (len(data) - end - 4)
        while missing > 0:
            parts.append(self._read())
            missing -= len(parts[-1])
        body = b"".join(parts)
        took = time.perf_counter() - started
        return Answer(status, headers, body, data[: end + 4] + body), took

    def _read(self) -> bytes:
        data = self._socket.recv(1 << 20)
        if not data:
            raise ConnectionError("the server closed the connection")
        return data

    def close(self) -> None:
        self._socket.close()


class Stage:
    """Everything one run of the benchmark starts, and ends again."""

    def __init__(self, pace: Pace) -> None:
        self.pace = pace
        self._ends = contextlib.ExitStack()
        self.folder = Path(tempfile.mkdtemp(prefix="tkb-"))
        self._ends.callback(shutil.rmtree, self.folder, ignore_errors=True)
        self._subject: Subject | None = None
        self._client: Client | None = None
        self._names = 0

    def close(self) -> None:
        self._ends.close()

    @property
    def client(self) -> Client:
        if self._client is None:
            self._client = Client(self.pace.connections)
            self._ends.callback(self._client.close)
        return self._client

    @property
    def subject(self) -> Subject:
        if self._subject is None:
            self._subject = self._ends.enter_context(self.new_subject())
        return self._subject

    @contextlib.contextmanager
    def new_subject(self, **more: str) -> Iterator[Subject]:
        """`more` goes into its environment."""
        env = environment(
            SITE_NAME="Bench",
            SITE_DOMAIN=DOMAIN,
            SITE_ID=SITE_ID,
            PROJECT_ID_PUBLIC=PUBLIC_KEY,
            THREADKIT_SECRET_KEY=SECRET_KEY,
            THREADKIT_SECRET=SECRET,
            **LIMITS | more,
        )
        server = Server(self.new_folder(), env=env)
        try:
            yield Subject(server.wait_until_ready())
        finally:
            server.stop()

    def new_folder(self) -> Path:
        self._names += 1
        return self.folder / str(self._names)

    @contextlib.contextmanager
    def floor(self, kind: str, needs: dict[str, Any]) -> Iterator[Running]:
        """A bare server."""
        file = self.new_folder().with_suffix(".json")
        file.write_text(json.dumps(needs))
        port = free_port()
        process = subprocess.Popen([sys.executable, "-m", "tests.bench.floors", kind, str(port), str(file)])
        try:
            _wait_for_port(port, process)
            yield Running(port, process.pid)
        finally:
            process.terminate()
            process.wait(20)

    @contextlib.contextmanager
    def floor_like(self, answer: Answer) -> Iterator[Running]:
        """A bare server that answers everything exactly like this."""
        # The server software adds the date itself.
        headers = [(name, value) for name, value in answer.headers if name != "date"]
        needs = {"status": answer.status, "headers": headers, "body": base64.b64encode(answer.body).decode()}
        with self.floor("answer", needs) as floor:
            yield floor

    @contextlib.contextmanager
    def store(self) -> Iterator[Path]:
        """A bundled store of its own with the benchmark's site in it; yields its folder."""
        folder = self.new_folder()
        store = BundledStore(Settings(data=str(folder)))
        store.start()
        try:
            asyncio.run(_make_site(folder))
            yield folder
        finally:
            store.stop()


async def fill(folder: Path, load: Load) -> None:
    async with open_services(folder) as services:
        made = await LoadService(
            redis=services.store.redis, keys=services.keys, clock=services.clock, outbox=services.outbox
        ).fill(await _site(services), load)
        if made.effects_wait:
            raise TimeoutError("the outbox does not get empty")


@contextlib.asynccontextmanager
async def open_services(folder: Path) -> AsyncIterator[Services]:
    settings = Settings(data=str(folder), secret=SECRET)
    store = Store(address_in(folder), settings.store)
    try:
        yield build(settings, open_keyring(settings), store)
    finally:
        await store.close()


async def _make_site(folder: Path) -> None:
    async with open_services(folder) as services:
        await services.sites.create("Bench", DOMAIN, site_id=SITE_ID)


async def _site(services: Services) -> Site:
    (site,) = await services.site_queries.all()
    return site


def _wait_for_port(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"a floor ended with code {process.returncode}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.02)
    raise TimeoutError("a floor did not start")
