"""Live pages: events to a page that 1,000 people look at, against a bare loop of sends on the same server software.

The event is a new comment: the one that happens most, and the one that the program has to look up before it can tell it.
"""

import base64
import contextlib
import importlib.util
import os
import resource
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import redis as sync_redis

from tests.bench.crowd import Crowd, Heard, Page
from tests.bench.duel import cpu_seconds
from tests.bench.figures import Figure, Rounds, at_least, figure, no_more_than, only_shown
from tests.bench.socket_floors import text_in
from tests.bench.stage import PUBLIC_KEY, SITE_ID, Running, Stage, Subject, pages
from threadkit.pages.model import page_id_of
from threadkit.storage.keys import Keys

GOAL = 0.70
MOST_P99_MS = 250.0
MOST_KB = 60.0
"""The design sets no goal for these two. Far above what is measured, so that only a fault reaches them."""
COMMENTS = 50
AT_ONCE = 50
PER_SECOND = 20
STEADY_S = 3.0
WARM_UP = 20
"""Sockets that come and go before memory is looked at, so that what is made once is there."""
FILES_BESIDE = 200
"""Open files that a process needs for other things than sockets of the crowd."""
OTHERS = ("wsproto", "websockets-sansio")
"""The same loop on the WebSocket implementations that the server software brings; says which is the one to build on."""


@dataclass
class _Side:
    """A server, the crowd on it, and what they did."""

    server: Running
    crowd: Crowd
    kb_per_socket: float
    runs: list[Heard] = field(default_factory=list)
    cpu_s: float = 0.0

    def hear(self, **how: Any) -> None:
        before = cpu_seconds(self.server.pid)
        self.runs.append(self.crowd.hear(**how))
        self.cpu_s += cpu_seconds(self.server.pid) - before

    def forget(self) -> None:
        self.runs, self.cpu_s = [], 0.0

    @property
    def rates(self) -> list[float]:
        return [run.per_second for run in self.runs]

    @property
    def cpu_us(self) -> float:
        return self.cpu_s / sum(run.receipts for run in self.runs) * 1e6


def sockets(stage: Stage) -> list[Figure]:
    count = stage.pace.sockets
    with contextlib.ExitStack() as stack:
        stack.enter_context(_open_files(count + FILES_BESIDE))
        subject = stack.enter_context(stage.new_subject(THREADKIT_LIVE_SOCKETS_PER_ADDRESS=str(count + WARM_UP)))
        ours = stack.enter_context(_on_our_page(stage, subject, count))
        frames = ours.crowd.learn()
        floor = stack.enter_context(_on_floor(stage, frames, count))
        others = {
            name: stack.enter_context(_on_floor(stage, frames, count, ws=name))
            for name in OTHERS
            if importlib.util.find_spec(name.partition("-")[0])
        }
        ceiling = stack.enter_context(_on_nothing(stage, frames, count))
        return [
            _one_event(stage, ours, floor, others, ceiling, frames),
            _burst(stage, ours, floor),
            *_steady(stage, ours, floor),
            _memory(ours, floor, others),
        ]


# --- What is measured -----------------------------------------------------------------------------------------------------


def _one_event(
    stage: Stage, ours: _Side, floor: _Side, others: dict[str, _Side], ceiling: _Side, frames: Sequence[bytes]
) -> Figure:
    """One event after the other, each as soon as everybody has the one before."""
    _in_turns(stage.pace.rounds, [ours, floor, *others.values(), ceiling], seconds=stage.pace.seconds)
    notes = {"bytes": statistics.mean(map(len, frames)), "client_ceiling": statistics.median(ceiling.rates)}
    notes |= _waits(ours, "") | _waits(floor, "floor_") | _cpu(ours, floor)
    for name, side in others.items():
        ratio = statistics.median(Rounds(ours.rates, side.rates).ratios)
        notes |= {name: statistics.median(side.rates), f"{name}_ratio": ratio, f"{name}_cpu_us": side.cpu_us}
    work = f"one event to {ours.crowd.count:,} sockets"
    return _rates(work, ours, floor, notes)


def _burst(stage: Stage, ours: _Side, floor: _Side) -> Figure:
    _in_turns(stage.pace.rounds, [ours, floor], seconds=stage.pace.seconds, at_once=AT_ONCE)
    work = f"{AT_ONCE} events at once to {ours.crowd.count:,} sockets"
    return _rates(work, ours, floor, _waits(ours, "") | _waits(floor, "floor_") | _cpu(ours, floor))


def _steady(stage: Stage, ours: _Side, floor: _Side) -> Iterator[Figure]:
    """From publishing an event to its receipt while they keep coming; none may be lost."""
    seconds = min(STEADY_S, stage.pace.seconds * 2)
    _in_turns(stage.pace.rounds, [ours, floor], seconds=seconds, per_second=PER_SECOND)
    notes = {"receipts": float(sum(run.receipts for run in ours.runs)), **_cpu(ours, floor)}
    for name in ("p50", "p99"):
        rounds = Rounds(*([getattr(run, f"{name}_ms") for run in side.runs] for side in (ours, floor)))
        work = f"{PER_SECOND} events/s to {ours.crowd.count:,} sockets, {name}"
        judge = no_more_than(MOST_P99_MS, rounds.ours, "ms") if name == "p99" else only_shown
        yield figure("sockets", work, rounds, unit="ms", judge=judge, notes=notes)
        notes = {}


def _memory(ours: _Side, floor: _Side, others: dict[str, _Side]) -> Figure:
    rounds = Rounds(ours=[ours.kb_per_socket], floor=[floor.kb_per_socket])
    notes = {name: side.kb_per_socket for name, side in others.items()}
    judge = no_more_than(MOST_KB, rounds.ours, "KB")
    return figure("sockets", "memory of an idle socket", rounds, unit="KB", judge=judge, notes=notes)


def _in_turns(rounds: int, sides: Sequence[_Side], **how: Any) -> None:
    """Each side `rounds` times after a warm-up; who begins changes every time."""
    for side in sides:
        side.hear(**how)
        side.forget()
    for number in range(rounds):
        for place in range(len(sides)):
            sides[(number + place) % len(sides)].hear(**how)


def _rates(work: str, ours: _Side, floor: _Side, notes: dict[str, float]) -> Figure:
    rounds = Rounds(ours=ours.rates, floor=floor.rates)
    return figure("sockets", work, rounds, unit="deliveries/s", judge=at_least, goal=GOAL, notes=notes)


def _waits(side: _Side, prefix: str) -> dict[str, float]:
    return {
        f"{prefix}p50_ms": statistics.median(run.p50_ms for run in side.runs),
        f"{prefix}p99_ms": statistics.median(run.p99_ms for run in side.runs),
    }


def _cpu(ours: _Side, floor: _Side) -> dict[str, float]:
    if not (ours.cpu_us and floor.cpu_us):
        return {}
    return {"cpu_us": ours.cpu_us, "floor_cpu_us": floor.cpu_us, "cpu_ratio": floor.cpu_us / ours.cpu_us}


# --- Who is measured ------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _on_our_page(stage: Stage, subject: Subject, count: int) -> Iterator[_Side]:
    (made,) = pages("live", 1, COMMENTS)
    subject.load([made])
    keys, page_id = Keys().site(SITE_ID), page_id_of(SITE_ID, made.url)
    store = subject.folder / "store.sock"
    with sync_redis.Redis(unix_socket_path=str(store), decode_responses=True) as redis:
        version = int(redis.hget(keys.page(page_id), "version") or 0)
    events = [
        {"type": "new_comment", "comment_id": found, "site_id": SITE_ID} for found in subject.comment_ids(made.url)
    ]
    page = Page(store, keys.page_channel(page_id), keys.page(page_id), events, version)
    say = f'{{"jsonrpc":"2.0","method":"subscribe","params":{{"page_id":"{page_id}"}}}}'
    path = f"/ws?project_id={PUBLIC_KEY}"
    with _crowded(
        subject.running, lambda size: Crowd(subject.port, size, say=say, path=path, page=page), count
    ) as side:
        yield side


@contextlib.contextmanager
def _on_floor(stage: Stage, frames: Sequence[bytes], count: int, **needs: str) -> Iterator[_Side]:
    texts = [base64.b64encode(text_in(frame)).decode() for frame in frames]
    with (
        stage.floor("sockets", {"texts": texts, **needs}) as bare,
        _crowded(bare, lambda size: Crowd(bare.port, size, say="{}"), count) as side,
    ):
        side.crowd.know(frames)
        yield side


@contextlib.contextmanager
def _on_nothing(stage: Stage, frames: Sequence[bytes], count: int) -> Iterator[_Side]:
    """How fast the crowd is against no server at all: far from the others, or their numbers mean nothing."""
    needs = {"frames": [base64.b64encode(frame).decode() for frame in frames]}
    with (
        stage.floor("raw_sockets", needs) as bare,
        _crowded(bare, lambda size: Crowd(bare.port, size, say="{}"), count) as side,
    ):
        side.crowd.know(frames)
        yield side


@contextlib.contextmanager
def _crowded(server: Running, gather: Any, count: int) -> Iterator[_Side]:
    with _present(gather(WARM_UP)):
        pass
    before = _resident_kb(server.pid)
    with _present(gather(count)) as crowd:
        yield _Side(server, crowd, (_resident_kb(server.pid) - before) / count)


@contextlib.contextmanager
def _present(crowd: Crowd) -> Iterator[Crowd]:
    try:
        crowd.come_in()
        yield crowd
    finally:
        crowd.close()


def _resident_kb(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1000


@contextlib.contextmanager
def _open_files(wanted: int) -> Iterator[None]:
    """Let the processes that are started here have as many files open."""
    before, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if before != resource.RLIM_INFINITY and before < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before, most))
