"""What Prometheus may know."""

import asyncio
from bisect import bisect_left

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

SETTLE_S = 1.0
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)


class Metrics:
    """The meters of one worker; with several workers their sum is shown (see server/workers.py)."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "threadkit_http_requests", "Answers given", ["method", "route", "status"], registry=self.registry
        )
        self._seconds = Histogram(
            "threadkit_http_request_seconds", "Time to the answer", ["route"], buckets=_BUCKETS, registry=self.registry
        )
        self.store_up = Gauge(
            "threadkit_store_up",
            "Whether the store answers",
            registry=self.registry,
            multiprocess_mode="mostrecent",
        )
        self.store_writable = Gauge(
            "threadkit_store_writable",
            "Whether the store takes writes",
            registry=self.registry,
            multiprocess_mode="mostrecent",
        )
        self.store_round_trip = Gauge(
            "threadkit_store_round_trip_seconds",
            "Time of one command",
            registry=self.registry,
            multiprocess_mode="mostrecent",
        )
        self.store_memory = Gauge(
            "threadkit_store_memory_bytes",
            "Memory the store uses",
            registry=self.registry,
            multiprocess_mode="mostrecent",
        )
        self.outbox = Gauge(
            "threadkit_outbox_entries",
            "Entries of all outboxes: waiting, retrying, or dead",
            ["state"],
            registry=self.registry,
            multiprocess_mode="mostrecent",
        )

        self._bulk: list[BulkMeter] = []
        self._of_request: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        known = self._of_request.get((method, route, status))
        if known is None:  # looking a meter up by its labels costs more than all the rest
            known = self._requests.labels(method, route, str(status)), self._seconds.labels(route)
            self._of_request[method, route, status] = known
        known[0].inc()
        known[1].observe(seconds)

    def bulk(self, method: str, route: str) -> "BulkMeter":
        """A meter for a route that is asked so often that counting must cost next to nothing."""
        meter = BulkMeter(self, method, route)
        self._bulk.append(meter)
        return meter

    def settle(self) -> None:
        """Bring what bulk meters gathered into the meters that are shown, as they do themselves once a second."""
        for meter in self._bulk:
            meter.settle()

    def add_requests(self, method: str, route: str, statuses: dict[int, int], buckets: list[int], sum_s: float) -> None:
        for status, count in statuses.items():
            self._requests.labels(method, route, str(status)).inc(count)
        # The library has no way to observe many at once; these are the fields that `observe` adds to.
        histogram = self._seconds.labels(route)
        for place, count in enumerate(buckets):
            if count:
                histogram._buckets[place].inc(count)  # noqa: SLF001
        histogram._sum.inc(sum_s)  # noqa: SLF001


class BulkMeter:
    """Counts in plain numbers, a tenth of the cost of a meter of the library."""

    def __init__(self, metrics: Metrics, method: str, route: str) -> None:
        self._metrics = metrics
        self._method = method
        self._route = route
        self._statuses: dict[int, int] = {}
        self._buckets = [0] * (len(_BUCKETS) + 1)
        self._sum_s = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def add(self, status: int, seconds: float) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(SETTLE_S, self.settle)
        self._statuses[status] = self._statuses.get(status, 0) + 1
        self._buckets[bisect_left(_BUCKETS, seconds)] += 1
        self._sum_s += seconds

    def settle(self) -> None:
        if self._timer is None:
            return
        self._timer.cancel()
        self._timer = None
        self._metrics.add_requests(self._method, self._route, self._statuses, self._buckets, self._sum_s)
        self._statuses = {}
        self._buckets = [0] * (len(_BUCKETS) + 1)
        self._sum_s = 0.0
