"""Writers at work while things break, and what must be true afterwards."""

import asyncio
import contextlib
import json
import random
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from redis.asyncio import Redis

from tests.faults.writers import Place, Thread, Writer
from tests.integration.server.program import Server, command, environment, run
from tests.wait import until

# What would hold comments back or end their editing; what they do has tests of its own.
NOTHING_HELD = (
    *(f"screening.{screen}.enabled=no" for screen in ("repeated", "too_fast", "links", "history", "learning")),
    "edit_window_minutes=525600",
)


@dataclass(frozen=True)
class Pace:
    """How much is written in a life, and how much is looked at after it."""

    writers: int = 8
    least: int = 30
    most: int = 150
    """Writes before the harm is done."""
    older: int | None = None
    """Of what earlier lives wrote, so many of each writer are looked at again after each; at the last look all."""
    doctor_every: int = 1


BUSY = Pace(writers=32, least=900, most=1300, older=20, doctor_every=10)


@dataclass
class Crew:
    """The same people over many lives of a server."""

    folder: Path
    dice: random.Random
    env: dict[str, str] = field(default_factory=environment)
    flags: tuple[str, ...] = ()
    pace: Pace = Pace()
    writers: list[Writer] = field(default_factory=list)
    lives: int = 0
    looked_at: int = 0

    @property
    def acknowledged(self) -> int:
        return sum(writer.done for writer in self.writers)

    @property
    def refused(self) -> int:
        return sum(writer.refused for writer in self.writers)

    async def live(self, harm: Callable[[Server], None]) -> None:
        """One life: start, find what was acknowledged before, write until harm is done."""
        async with self.serving() as (server, http):
            if not self.writers:
                await self.gather(http, server)
            await self.look(http, older=self.pace.older)
            if self.lives and self.lives % self.pace.doctor_every == 0:
                await asyncio.to_thread(self.ask_the_doctor)
            self.lives += 1
            thread = Thread(f"https://localhost/life-{self.lives}")
            tasks = [asyncio.create_task(writer.work(http, thread)) for writer in self.writers]
            before, enough = self.acknowledged, self.dice.randrange(self.pace.least, self.pace.most)
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
        async with self.serving() as (_, http):
            await self.look(http, older=None)
            await asyncio.to_thread(self.ask_the_doctor)
        assert self.refused < self.acknowledged, "most of it must be writing"

    def store(self) -> contextlib.aclosing[Redis]:
        return contextlib.aclosing(Redis(unix_socket_path=str(self.folder / "store.sock"), decode_responses=True))

    async def look(self, http: httpx.AsyncClient, *, older: int | None) -> None:
        async with self.store() as store:
            looks = [await writer.look(store, older=older) for writer in self.writers]
            wrong = [sentence for _, found in looks for sentence in found]
            assert not wrong, "\n".join(wrong)
            settled = await asyncio.gather(*(writer.settle(http, store) for writer in self.writers))
            doubled = [sentence for found in settled for sentence in found]
            assert not doubled, "\n".join(doubled)
        self.looked_at += sum(number for number, _ in looks)

    def ask_the_doctor(self) -> None:
        """`threadkit doctor --deep`, beside the running server."""
        done = run("doctor", "--deep", "--json", "--data", str(self.folder), patience_s=600)
        assert done.returncode == 0, json.dumps(json.loads(done.stdout or "{}"), indent=1)[:4000] + done.stderr

    async def gather(self, http: httpx.AsyncClient, server: Server) -> None:
        public, secret = (re.findall(rf"tk_{kind}_\w+", server.said)[0] for kind in ("pub", "sec"))

        async def somebody(name: str) -> tuple[str, str]:
            answer = await http.post("/v1/admin/create-user", json={"name": name}, headers={"projectid": secret})
            assert answer.status_code == 200, answer.text
            return answer.json()["user"]["id"], answer.json()["token"]

        (mo, moderator), (rita, reporter) = await somebody("mo"), await somebody("rita")
        data = ("--data", str(self.folder))
        site = json.loads(command("site", "set", public, *NOTHING_HELD, "--json", *data))
        command("role", "grant", public, mo, "moderator", *data)
        place = Place(site["id"], public, moderator, reporter, rita)
        for number in range(self.pace.writers):
            known = await somebody(f"writer{number}")
            self.writers.append(Writer(number, *known, place, random.Random(self.dice.random())))

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[tuple[Server, httpx.AsyncClient]]:
        server = Server(self.folder, *self.flags, env=self.env)
        try:
            await asyncio.to_thread(server.wait_until_ready)
            async with httpx.AsyncClient(base_url=server.url, timeout=60) as http:
                yield server, http
        finally:
            if server.process.poll() is None:
                server.kill()
