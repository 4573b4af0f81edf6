"""Clients of live pages, for tests."""

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import uvicorn
from websockets.asyncio.client import ClientConnection, connect

from tests.wait import until
from threadkit.app import Application
from threadkit.server.serve import uvicorn_config


@dataclass
class LiveServer:
    app: Application
    port: int
    server_state: Any = None

    def ear(self, key: str, token: str | None = None, **options: Any) -> "contextlib.AbstractAsyncContextManager[Ear]":
        return self.at(self.port, key, token, **options)

    @staticmethod
    @contextlib.asynccontextmanager
    async def at(port: int, key: str, token: str | None = None, **options: Any) -> AsyncIterator["Ear"]:
        query = f"project_id={key}" + (f"&token={token}" if token else "")
        async with connect(f"ws://127.0.0.1:{port}/ws?{query}", **options) as connection:
            yield Ear(connection)

    def meter(self, name: str) -> float:
        return self.app.metrics.registry.get_sample_value(name) or 0.0

    async def has_heard(self, number: float) -> None:
        """Wait until the server has taken so many messages from clients in all."""
        await until(lambda: self.meter("threadkit_live_messages_total") >= number, f"{number} messages to arrive")


class Ear:
    """One socket."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection

    async def say(self, method: str, **params: Any) -> None:
        await self.connection.send(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}))

    async def hear(self, *, seconds: float = 10) -> tuple[str, dict[str, Any]]:
        """The next message."""
        async with asyncio.timeout(
            seconds
        ):  # whoever is cancelled in the moment of a message is cancelled all the same
            message = json.loads(await self.connection.recv())
        assert message["jsonrpc"] == "2.0"
        return message["method"], message["params"]

    async def hear_of(self, method: str, *, seconds: float = 10) -> dict[str, Any]:
        """The next message of one kind; others are passed over."""
        async with asyncio.timeout(seconds):
            while True:
                heard, params = await self.hear(seconds=seconds)
                if heard == method:
                    return params

    async def subscribe(self, page_id: str, **params: Any) -> dict[str, Any]:
        await self.say("subscribe", page_id=page_id, **params)
        return await self.hear_of("presence")

    async def nothing_but(self, *methods: str) -> None:
        """A ping comes back, and nothing else was said before it but these."""
        await self.say("ping")
        while True:
            method, params = await self.hear()
            if method == "pong":
                return
            assert method in methods, (method, params)


@contextlib.asynccontextmanager
async def serving(app: Application, **changes: Any) -> AsyncIterator[LiveServer]:
    """Serve an application that is already started; `changes` are made to the server's own settings."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.bind(("127.0.0.1", 0))
        config = uvicorn_config(app.services.settings, app)
        config.lifespan = "off"
        config.loop = "none"
        for name, value in changes.items():
            setattr(config, name, value)
        server = uvicorn.Server(config)
        server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
        task = asyncio.create_task(server.serve(sockets=[listening]))
        try:
            await until(lambda: server.started, "the server")
            yield LiveServer(app, listening.getsockname()[1], server.server_state)
        finally:
            server.should_exit = True
            await task
