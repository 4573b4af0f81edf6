"""What Prometheus may know."""

from collections.abc import Callable, Mapping, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)


class Metrics:
    """The meters of one worker; with several workers their sum is shown (see server/workers.py)."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "threadkit_http_requests", "Answers given", ["method", "route", "status"], registry=self.registry
        )
        self._seconds = Histogram(
            "threadkit_http_request_seconds", "Time to the answer", ["route"], buckets=BUCKETS, registry=self.registry
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

        self.tasks = Gauge(
            "threadkit_tasks", "Tasks that workers have under way", registry=self.registry, multiprocess_mode="livesum"
        )

        self.refused = Counter(
            "threadkit_refused_requests", "Requests refused because there was too much to do", registry=self.registry
        )

        self.floods = Counter(
            "threadkit_floods", "Connections closed because too much came over them", registry=self.registry
        )

        self.sources: list[Callable[[], None]] = []
        self._of_request: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        known = self._of_request.get((method, route, status))
        if known is None:  # looking a meter up by its labels costs more than all the rest
            known = self._requests.labels(method, route, str(status)), self._seconds.labels(route)
            self._of_request[method, route, status] = known
        known[0].inc()
        known[1].observe(seconds)

    def settle(self) -> None:
        """Have everything counted that waits to be counted."""
        for settle in self.sources:
            settle()

    def add_requests(
        self, method: str, route: str, statuses: Mapping[int, int], buckets: Sequence[int], sum_s: float
    ) -> None:
        """Many at once."""
        for status, count in statuses.items():
            self._requests.labels(method, route, str(status)).inc(count)
        # The library has no way to observe many at once; these are the fields that `observe` adds to.
        histogram = self._seconds.labels(route)
        for place, count in enumerate(buckets):
            if count:
                histogram._buckets[place].inc(count)  # noqa: SLF001
        histogram._sum.inc(sum_s)  # noqa: SLF001
