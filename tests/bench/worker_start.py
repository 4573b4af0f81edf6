"""A worker as the server starts them, that says when it would take its first request, and ends."""

import functools
import socket
import sys

import uvicorn

from threadkit.server import serve
from threadkit.server.worker import create
from threadkit.settings import load


class _Server(uvicorn.Server):
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        self.should_exit = True


if __name__ == "__main__":
    settings = load().settings
    _Server(serve.uvicorn_config(settings, functools.partial(create, settings), factory=True)).run()
