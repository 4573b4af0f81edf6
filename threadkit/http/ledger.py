"""What readers were given: one note for each, counted and logged a few times a second.

Counting each at once would cost about as much as answering, because code that runs once in every request finds the
processor's caches cold. Whoever shows or stores the counts has the notes settled first.
"""

import asyncio
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from threadkit.counters.tally import Tally
from threadkit.http.access_log import AccessLog
from threadkit.http.metrics import BUCKETS, Metrics
from threadkit.ids import PageId, SiteId

SETTLE_S = 0.2
MOST_NOTES = 4096


class Note(NamedTuple):
    """One answer. `page_id` is that of a page which was shown, and None if nothing was."""

    at_s: float
    seconds: float
    status: int
    sent: int
    request_id: str
    site_id: SiteId
    page_id: PageId | None
    scope: Any
    headers: Mapping[bytes, bytes]


class Ledger:
    def __init__(self, route: str, *, tally: Tally, metrics: Metrics, access_log: AccessLog) -> None:
        self._route = route
        self._tally = tally
        self._metrics = metrics
        self._access_log = access_log
        self._notes: list[Note] = []
        self._timer: asyncio.TimerHandle | None = None
        tally.sources.append(self.settle)
        metrics.sources.append(self.settle)

    def note(self, note: Note) -> None:
        self._notes.append(note)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(SETTLE_S, self.settle)
        elif len(self._notes) >= MOST_NOTES:
            self.settle()

    def settle(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        notes, self._notes = self._notes, []
        for note in notes:
            self._tally.request(note.site_id, "public")
            if note.page_id is not None:
                self._tally.view(note.site_id, note.page_id, note.scope["client"], note.headers)
        if self._access_log.is_on:
            for note in notes:
                self._access_log.record(
                    note.scope,
                    note.headers,
                    at_s=note.at_s,
                    method=note.scope["method"],
                    status=note.status,
                    seconds=note.seconds,
                    sent=note.sent,
                    request_id=note.request_id,
                    site_id=note.site_id,
                )
        for method in {note.scope["method"] for note in notes}:
            self._meter(method, [note for note in notes if note.scope["method"] == method])

    def _meter(self, method: str, notes: list[Note]) -> None:
        statuses = Counter(note.status for note in notes)
        buckets = [0] * (len(BUCKETS) + 1)
        for note in notes:
            buckets[bisect_left(BUCKETS, note.seconds)] += 1
        self._metrics.add_requests(method, self._route, statuses, buckets, sum(note.seconds for note in notes))
