"""How the protocol turns requests away when there is too much to do, seen in the protocol itself: turn by turn."""

import asyncio
import time
from typing import Any

import pytest
import uvicorn

from tests.wait import until
from threadkit.http import admission
from threadkit.http.admission import Admission
from threadkit.http.metrics import Metrics
from threadkit.server import refusals, serve
from threadkit.server.protocol import ReadersProtocol
from threadkit.settings import LimitSettings, Settings

ASK = b"GET /v1/site HTTP/1.1\r\nhost: x\r\n\r\n"


class App:
    """Room for one, who stays until told to go."""

    def __init__(self, *, burst: int = 1) -> None:
        limits = LimitSettings(requests_at_once=1, requests_in_a_burst=burst)
        self.admission = Admission(self._work, settings=limits, metrics=Metrics())
        self.paths: list[str] = []
        self.may_go = asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self.admission(scope, receive, send)

    async def _work(self, scope: Any, receive: Any, send: Any) -> None:
        self.paths.append(scope["path"])
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
    def __init__(self, *, burst: int = 1) -> None:
        self.app = App(burst=burst)
        self.clients: list[Client] = []

    def client(self) -> Client:
        self.clients.append(Client(self.app))
        return self.clients[-1]


@pytest.fixture(autouse=True)
def without_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Turns can be counted, milliseconds cannot."""
    monkeypatch.setattr(refusals, "HOLD_S", 0.0)


@pytest.fixture
async def crowd() -> Any:
    made = Crowd()
    yield made
    made.app.may_go.set()
    await turns(5)
    for client in made.clients:
        client.protocol.connection_lost(None)


async def test_a_free_place_is_given_to_one_of_those_who_are_heard_together(crowd: Crowd) -> None:
    first, second = crowd.client(), crowd.client()
    first.says(ASK)
    second.says(ASK)
    assert not second.protocol.tasks, "the long way to a refusal costs many times as much"
    await turns(3)
    assert second.statuses == [b"503"]
    crowd.app.may_go.set()
    await turns(3)
    assert first.statuses == [b"200"]
    assert crowd.app.paths == ["/v1/site"]


async def test_many_refusals_are_written_over_several_turns(crowd: Crowd) -> None:
    crowd.client().says(ASK)
    many = [crowd.client() for _ in range(100)]
    for client in many:
        client.says(ASK)
    await turns(2)
    assert 0 < sum(len(client.statuses) for client in many) <= 10
    await turns(100)
    assert all(client.statuses == [b"503"] for client in many)


async def test_a_request_behind_a_refused_one_is_answered_after_it(crowd: Crowd) -> None:
    inside, client = crowd.client(), crowd.client()
    inside.says(ASK)
    client.says(
        b"POST /v1/comments HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\nbodyGET /health HTTP/1.1\r\nhost: x\r\n\r\n"
    )
    assert client.heard == b""
    crowd.app.may_go.set()
    await turns(5)
    assert client.statuses == [b"503", b"200"]


async def test_a_server_that_leaves_says_so_to_those_it_is_about_to_refuse(crowd: Crowd) -> None:
    inside, client = crowd.client(), crowd.client()
    inside.says(ASK)
    client.says(ASK)
    client.protocol.shutdown()
    await turns(2)
    assert client.statuses == [b"503"]
    assert b"\r\nconnection: close\r\n" in client.heard
    assert client.is_closed


async def test_somebody_who_hangs_up_before_being_refused_disturbs_nobody(crowd: Crowd) -> None:
    inside, gone, client = crowd.client(), crowd.client(), crowd.client()
    inside.says(ASK)
    gone.says(ASK)
    client.says(ASK)
    gone.close()
    await turns(2)
    assert (gone.statuses, client.statuses) == ([], [b"503"])


async def test_a_write_in_one_piece_is_refused_unread_and_its_line_goes_on(
    crowd: Crowd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "STANDING_S", 0.0)
    inside, other, client = crowd.client(), crowd.client(), crowd.client()
    inside.says(ASK)
    other.says(ASK)
    for _ in range(2):
        client.says(
            b"POST /v1/comments HTTP/1.1\r\nhost: x\r\norigin: https://a.example\r\ncontent-length: 4\r\n\r\nbody"
        )
        await turns(3)
    assert not hasattr(client.protocol, "url"), "it was read"
    assert client.statuses == [b"503", b"503"]
    assert client.heard.count(b"\r\naccess-control-allow-origin: https://a.example\r\n") == 2
    crowd.app.may_go.set()
    await turns(5)
    client.says(b"POST /v1/comments HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\nbody")
    await turns(5)
    assert client.statuses == [b"503", b"503", b"200"]


async def test_whoever_is_refused_waits_a_moment_before_asking_again(
    crowd: Crowd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refusals, "HOLD_S", 0.02)
    inside, client = crowd.client(), crowd.client()
    inside.says(ASK)
    asked = time.perf_counter()
    client.says(ASK)
    await until(lambda: bool(client.statuses), "the refusal")
    assert time.perf_counter() - asked >= 0.015


@pytest.mark.parametrize("path", [b"/health", b"/healt%68"])
async def test_what_is_always_answered_takes_nobodys_place(crowd: Crowd, path: bytes) -> None:
    crowd.app.may_go.set()
    client = crowd.client()
    for _ in range(3):
        client.says(b"GET %b HTTP/1.1\r\nhost: x\r\n\r\n" % path)
        await turns(3)
    client.says(ASK)
    await turns(3)
    assert client.statuses == [b"200"] * 4


async def test_an_address_that_is_none_takes_nobodys_place(crowd: Crowd) -> None:
    crowd.app.may_go.set()
    wrong, client = crowd.client(), crowd.client()
    wrong.says(b"GET http://x:y/ HTTP/1.1\r\nhost: x\r\n\r\n")
    await turns(3)
    assert wrong.statuses == [b"400"]
    client.says(ASK)
    await turns(3)
    assert client.statuses == [b"200"]


async def test_crowds_that_are_served_one_after_the_other_are_no_standing_queue() -> None:
    """For longer than a queue may stand, and with less than a second between them."""
    crowd = Crowd(burst=10)
    people = [crowd.client() for _ in range(10)]
    ended = time.monotonic() + 0.3
    while time.monotonic() < ended:
        crowd.app.may_go.clear()
        for client in people:
            client.says(ASK)
        await turns(2)
        crowd.app.may_go.set()
        await turns(3)
    for client in people:
        assert set(client.statuses) == {b"200"}
        client.protocol.connection_lost(None)
