"""How requests wait in the protocol when there is too much to do, and how it turns them away, seen turn by turn."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import uvicorn

from tests.wait import until
from threadkit.http import admission
from threadkit.http.admission import Admission
from threadkit.http.metrics import Metrics
from threadkit.server import serve
from threadkit.server.protocol import ReadersProtocol
from threadkit.settings import LimitSettings, Settings

ASK = b"GET /v1/site HTTP/1.1\r\nhost: x\r\n\r\n"
WRITE = b"POST /v1/comments HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\nbody"


class App:
    """Works for one writer, who stays until told to go."""

    def __init__(self, *, at_once: int, burst: int) -> None:
        limits = LimitSettings(requests_at_once=at_once, requests_in_a_burst=burst)
        self.held_up = 0
        self.admission = Admission(self._work, settings=limits, metrics=Metrics(), held_up=lambda: self.held_up)
        self.paths: list[str] = []
        self.bodies: list[bytes] = []
        self.may_go = asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self.admission(scope, receive, send)

    async def _work(self, scope: Any, receive: Any, send: Any) -> None:
        self.paths.append(scope["path"])
        if scope["method"] == "POST":
            self.bodies.append((await receive())["body"])
        await self.may_go.wait()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})


class Client(asyncio.Transport):
    """One connection, and what was written to it."""

    def __init__(self, app: App) -> None:
        super().__init__()
        self.heard = b""
        self.is_closed = False
        config = serve.uvicorn_config(Settings(), app)
        config.load()
        config.loaded_app = app
        self.protocol = ReadersProtocol(config, uvicorn.server.ServerState(), {}, asyncio.get_running_loop())
        self.protocol.connection_made(self)

    def says(self, data: bytes) -> None:
        self.protocol.data_received(data)

    @property
    def statuses(self) -> list[bytes]:
        return [part[:3] for part in self.heard.split(b"HTTP/1.1 ")[1:]]

    def write(self, data: Any) -> None:
        self.heard += data

    def writelines(self, list_of_data: Any) -> None:
        self.heard += b"".join(list_of_data)

    def close(self) -> None:
        self.is_closed = True

    def is_closing(self) -> bool:
        return self.is_closed

    def get_extra_info(self, name: str, default: object = None) -> object:
        return default

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


class Crowd:
    def __init__(self, *, at_once: int = 1, burst: int = 1) -> None:
        self.app = App(at_once=at_once, burst=burst)
        self.clients: list[Client] = []

    def client(self) -> Client:
        self.clients.append(Client(self.app))
        return self.clients[-1]


@pytest.fixture
async def hall() -> AsyncIterator[Callable[..., Crowd]]:
    """Makes a server with so much room, and sees all its people off."""
    crowds: list[Crowd] = []

    def open_for(**room: int) -> Crowd:
        crowds.append(Crowd(**room))
        return crowds[-1]

    yield open_for
    for crowd in crowds:
        crowd.app.may_go.set()
        await turns(20)
        for client in crowd.clients:
            client.protocol.connection_lost(None)


Hall = Callable[..., Crowd]


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for a place for long."""
    monkeypatch.setattr(admission, "LONGEST_WAIT_S", 0.01)


async def test_all_who_have_a_place_are_served_in_the_order_they_came(hall: Hall) -> None:
    crowd = hall(burst=20)
    people = [crowd.client() for _ in range(20)]
    for number, client in enumerate(people):
        client.says(WRITE.replace(b"/v1/comments", b"/%d" % number))
    await turns(3)
    assert crowd.app.paths == ["/0"], "the others wait for their turn"
    crowd.app.may_go.set()
    await until(lambda: all(client.statuses for client in people), "everybody's answer")
    assert {status for client in people for status in client.statuses} == {b"200"}
    assert crowd.app.paths == [f"/{number}" for number in range(20)]


async def test_a_request_that_gets_no_place_in_time_is_refused(hall: Hall, hasty: None) -> None:
    crowd = hall()
    first, second = crowd.client(), crowd.client()
    first.says(WRITE)
    second.says(WRITE.replace(b"host: x", b"host: x\r\norigin: https://a.example"))
    await turns(3)
    assert second.heard == b"", "a place may become free"
    assert not second.protocol.tasks, "waiting must not cost what working does"
    await until(lambda: bool(second.statuses), "the refusal")
    assert second.statuses == [b"503"]
    assert b"\r\nretry-after: " in second.heard
    assert b"\r\naccess-control-allow-origin: https://a.example\r\n" in second.heard
    crowd.app.may_go.set()
    await turns(5)
    assert first.statuses == [b"200"]
    second.says(WRITE)
    await turns(5)
    assert second.statuses == [b"503", b"200"], "its line goes on"


async def test_a_place_that_becomes_free_in_time_is_given_to_the_first_who_waits_for_it(hall: Hall) -> None:
    crowd = hall()
    first, second = crowd.client(), crowd.client()
    first.says(WRITE)
    second.says(WRITE)
    crowd.app.may_go.set()
    await turns(10)
    assert (first.statuses, second.statuses) == ([b"200"], [b"200"])


async def test_readers_do_not_stand_behind_writers(hall: Hall) -> None:
    crowd = hall(burst=10)
    for _ in range(5):
        crowd.client().says(WRITE)
    reader = crowd.client()
    reader.says(ASK)
    await turns(3)
    assert crowd.app.paths == ["/v1/comments", "/v1/site"]


async def test_few_writers_are_worked_for_while_a_reader_is(hall: Hall, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "CALM_S", 0.0)
    crowd = hall(at_once=admission.FEW + 2, burst=100)
    reader = crowd.client()
    reader.says(ASK)
    writers = [crowd.client() for _ in range(20)]
    for client in writers:
        client.says(WRITE)
    await turns(3)
    assert crowd.app.paths.count("/v1/comments") == admission.FEW
    crowd.app.may_go.set()
    await until(lambda: all(client.statuses for client in writers), "the writers' answers")
    crowd.app.may_go.clear()
    for client in writers:
        client.says(WRITE)
    await turns(3)
    assert crowd.app.paths.count("/v1/comments") == 20 + admission.FEW + 2


async def test_a_body_that_comes_while_its_request_waits_is_whole(hall: Hall) -> None:
    crowd = hall(burst=2)
    first, second = crowd.client(), crowd.client()
    first.says(WRITE)
    second.says(b"POST /later HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nin p")
    second.says(b"ieces")
    crowd.app.may_go.set()
    await turns(10)
    assert crowd.app.bodies == [b"body", b"in pieces"]
    assert second.statuses == [b"200"]


async def test_a_request_behind_a_refused_one_is_answered_after_it(hall: Hall, hasty: None) -> None:
    crowd = hall()
    inside, client = crowd.client(), crowd.client()
    inside.says(WRITE)
    client.says(WRITE + b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n")
    assert client.heard == b""
    await until(lambda: bool(client.statuses), "the refusal")
    crowd.app.may_go.set()
    await turns(5)
    assert client.statuses == [b"503", b"200"]


async def test_the_rest_of_a_refused_body_is_no_request(hall: Hall, hasty: None) -> None:
    crowd = hall()
    inside, client = crowd.client(), crowd.client()
    inside.says(WRITE)
    smuggled = b"GET /smuggled HTTP/1.1\r\nhost: x\r\n\r\n"
    client.says(b"POST /v1/comments HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % len(smuggled))
    await until(lambda: bool(client.statuses), "the refusal")
    client.says(smuggled + ASK)
    crowd.app.may_go.set()
    await turns(5)
    assert client.statuses == [b"503", b"200"]
    assert "/smuggled" not in crowd.app.paths


async def test_a_server_that_leaves_says_so_to_those_it_refuses(hall: Hall, hasty: None) -> None:
    crowd = hall()
    inside, client = crowd.client(), crowd.client()
    inside.says(WRITE)
    client.says(WRITE)
    client.protocol.shutdown()
    await until(lambda: bool(client.statuses), "the refusal")
    assert client.statuses == [b"503"]
    assert b"\r\nconnection: close\r\n" in client.heard
    assert client.is_closed


async def test_nobody_works_for_people_who_hung_up_while_they_waited(hall: Hall) -> None:
    crowd = hall(burst=3)
    inside, gone, client = crowd.client(), crowd.client(), crowd.client()
    inside.says(WRITE)
    gone.says(WRITE.replace(b"/v1/comments", b"/gone"))
    client.says(WRITE)
    gone.protocol.connection_lost(None)
    crowd.app.may_go.set()
    await turns(10)
    assert (gone.statuses, client.statuses) == ([], [b"200"])
    assert "/gone" not in crowd.app.paths


@pytest.mark.parametrize("path", [b"/health", b"/healt%68"])
async def test_what_is_always_answered_takes_nobodys_place(hall: Hall, path: bytes) -> None:
    crowd = hall()
    crowd.app.may_go.set()
    client = crowd.client()
    for _ in range(3):
        client.says(b"GET %b HTTP/1.1\r\nhost: x\r\n\r\n" % path)
        await turns(3)
    client.says(WRITE)
    await turns(3)
    assert client.statuses == [b"200"] * 4


async def test_an_address_that_is_none_takes_nobodys_place(hall: Hall) -> None:
    crowd = hall()
    crowd.app.may_go.set()
    wrong, client = crowd.client(), crowd.client()
    wrong.says(b"POST http://x:y/ HTTP/1.1\r\nhost: x\r\n\r\n")
    await turns(3)
    assert wrong.statuses == [b"400"]
    client.says(WRITE)
    await turns(3)
    assert client.statuses == [b"200"]


async def test_a_slow_sender_keeps_nobody_waiting(hall: Hall) -> None:
    crowd = hall()
    slow, client = crowd.client(), crowd.client()
    slow.says(b"POST /slow HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n")
    await turns(3)
    client.says(WRITE)
    await turns(3)
    assert crowd.app.paths == ["/slow", "/v1/comments"]


async def test_newcomers_start_while_all_at_work_are_held_up(hall: Callable[..., Crowd]) -> None:
    crowd = hall(at_once=2, burst=10)
    for _ in range(2):
        crowd.client().says(WRITE)
    await turns(20)
    crowd.app.held_up = 2
    crowd.client().says(WRITE)
    await turns(20)
    assert len(crowd.app.paths) == 3
