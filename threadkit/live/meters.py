"""What `/metrics` shows of live pages."""

from prometheus_client import Counter, Gauge, Histogram

from threadkit.http.metrics import Metrics

_DELAYS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)


class LiveMeters:
    def __init__(self, metrics: Metrics) -> None:
        def gauge(name: str, meaning: str) -> Gauge:
            return Gauge(name, meaning, registry=metrics.registry, multiprocess_mode="livesum")

        self._connections = gauge("threadkit_live_connections", "Open sockets and event streams")
        self._rooms = gauge("threadkit_live_pages", "Pages somebody looks at live")
        self._opened = Counter(
            "threadkit_live_connections_opened", "Sockets and event streams so far", registry=metrics.registry
        )
        self._received = Counter("threadkit_live_messages", "What clients said", registry=metrics.registry)
        self._delivered = Counter("threadkit_live_deliveries", "Messages handed to clients", registry=metrics.registry)
        self._delay = Histogram(
            "threadkit_live_delay_seconds",
            "Time from hearing of an event to having handed it to everybody on its page",
            buckets=_DELAYS,
            registry=metrics.registry,
        )
        self._dropped = Counter(
            "threadkit_live_drops", "Clients cut off for reading too slowly", registry=metrics.registry
        )
        self._turned_away = Counter(
            "threadkit_live_turned_away", "Clients asked to poll because of too many", registry=metrics.registry
        )

    def connections(self, number: int) -> None:
        self._connections.set(number)

    def opened(self) -> None:
        self._opened.inc()

    def received(self) -> None:
        self._received.inc()

    def rooms(self, number: int) -> None:
        self._rooms.set(number)

    def delivered(self, number: int) -> None:
        self._delivered.inc(number)

    def told(self, seconds: float) -> None:
        self._delay.observe(seconds)

    def dropped(self) -> None:
        self._dropped.inc()

    def turned_away(self) -> None:
        self._turned_away.inc()
