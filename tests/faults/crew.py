"""Writers at work while things break, and what must be true afterwards."""

import asyncio
import contextlib
import json
import random
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from redis.asyncio import Redis

from tests.integration.comments.test_kill import Writer, new_writers, settle_posts
from tests.integration.server.program import Server, environment, run
from tests.wait import until


@dataclass
class Crew:
    """The same people over many lives of a server."""

    folder: Path
    dice: random.Random
    env: dict[str, str] = field(default_factory=environment)
    flags: tuple[str, ...] = ()
    writers: list[Writer] = field(default_factory=list)
    everything: list[str] = field(default_factory=list)

    @property
    def acknowledged(self) -> int:
        return sum(writer.done for writer in self.writers)

    async def live(self, harm: Callable[[Server], None]) -> None:
        """One life: start, find everything that was acknowledged before, write until harm is done."""
        async with self._serving() as (server, http):
            if not self.writers:
                self.writers = await new_writers(http, server.said)
            await self.look(http)
            tasks = [asyncio.create_task(writer.work(http, self.everything)) for writer in self.writers]
            before, enough = self.acknowledged, self.dice.randrange(30, 150)
            await until(
                lambda: self.acknowledged >= before + enough or any(task.done() for task in tasks),
                f"{enough} writes",
                seconds=120,
            )
            await asyncio.to_thread(harm, server)
            if server.process.poll() is None:  # it goes on, and so does whoever did not notice; then it goes too
                after = self.acknowledged
                await until(
                    lambda: self.acknowledged >= after + 20 or all(task.done() for task in tasks),
                    "writers to go on",
                    seconds=60,
                )
                server.kill()
            await asyncio.gather(*tasks)

    async def last_look(self) -> None:
        """After the last harm: the server starts unaided, nothing is lost, and nothing disagrees."""
        async with self._serving() as (_, http):
            await self.look(http)

    async def look(self, http: httpx.AsyncClient) -> None:
        client = Redis(unix_socket_path=str(self.folder / "store.sock"), decode_responses=True)
        async with contextlib.aclosing(client) as store:
            lost = [sentence for writer in self.writers for sentence in await writer.check(store)]
            assert lost == []
            for writer in self.writers:
                await settle_posts(writer, http, store, self.everything)
        await asyncio.to_thread(self.ask_the_doctor)

    def ask_the_doctor(self) -> None:
        """`threadkit doctor --deep`, beside the running server."""
        done = run("doctor", "--deep", "--json", "--data", str(self.folder))
        assert done.returncode == 0, json.dumps(json.loads(done.stdout or "{}"), indent=1)[:4000] + done.stderr

    @contextlib.asynccontextmanager
    async def _serving(self) -> AsyncIterator[tuple[Server, httpx.AsyncClient]]:
        server = Server(self.folder, *self.flags, env=self.env)
        try:
            await asyncio.to_thread(server.wait_until_ready)
            async with httpx.AsyncClient(base_url=server.url, timeout=60) as http:
                yield server, http
        finally:
            if server.process.poll() is None:
                server.kill()
