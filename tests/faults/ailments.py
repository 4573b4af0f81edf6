"""What can befall a store, each with what people are told meanwhile and how soon it must be over: the rows of faults that
ThreadKit promises to live through (reads go on where they can, writes are an honest 503, nothing is ever a 500)."""

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from redis import Redis
from redis.exceptions import RedisError

from tests.faults.wire import Wire
from tests.integration.topologies.servers import Server, free_ports, wait_for

Fault = Callable[[Server, Wire], "contextlib.AbstractContextManager[None]"]


@dataclass(frozen=True)
class Ailment:
    fault: Fault
    codes: frozenset[str] = frozenset({"store_unavailable"})
    """What a refused write may be called."""
    can_read: bool = False
    """Whether a page nobody has read before can be read during it."""
    writes: frozenset[int] = frozenset({503})
    over_within_s: float = 2
    """How soon, after its end, people can write and read again."""


@contextlib.contextmanager
def down(store: Server, _: Wire) -> Iterator[None]:
    store.kill()
    yield
    store.start()


@contextlib.contextmanager
def frozen(store: Server, _: Wire) -> Iterator[None]:
    store.send_signal(signal.SIGSTOP)
    yield
    store.send_signal(signal.SIGCONT)


@contextlib.contextmanager
def slow(_: Server, wire: Wire) -> Iterator[None]:
    """Every answer comes, later than anybody waits."""
    wire.delay_s = 5
    yield
    wire.delay_s = 0
    wire.tear()  # or what is under way comes late for ever


@contextlib.contextmanager
def unreachable(_: Server, wire: Wire) -> Iterator[None]:
    """The server is cut off from the store: packets vanish."""
    wire.cut()
    yield
    wire.mend()


@contextlib.contextmanager
def reset(_: Server, wire: Wire) -> Iterator[None]:
    """Connections break all the time."""
    is_over = threading.Event()

    def tear() -> None:
        while not is_over.wait(0.02):
            wire.tear()

    tearing = threading.Thread(target=tear)
    tearing.start()
    yield
    is_over.set()
    tearing.join()


@contextlib.contextmanager
def loading(store: Server, _: Wire) -> Iterator[None]:
    """It has started and reads its file, which takes long."""
    _lengthen_file(store)
    store.kill()
    store.start("--key-load-delay", str(_READING_EACH_US), wait=False)

    def is_loading() -> bool:
        return bool(store.ask("INFO", "persistence")["loading"])

    wait_for(is_loading, "the store to load")
    yield
    assert is_loading()
    store.ask("CONFIG", "SET", "key-load-delay", "0")
    wait_for(lambda: not is_loading(), "the store to have loaded", seconds=60)


# It looks up from its file every 1,024 commands only.
_COMMANDS, _READING_EACH_US = 60_000, 200


def _lengthen_file(store: Server) -> None:
    if int(store.ask("INFO", "persistence")["aof_current_size"]) > _COMMANDS * 20:
        return
    with Redis(port=store.port) as client:
        for _ in range(_COMMANDS // 2000):
            pipe = client.pipeline(transaction=False)
            for _ in range(1000):
                pipe.set("threadkit:probe", "1").delete("threadkit:probe")
            pipe.execute()


@contextlib.contextmanager
def read_only(store: Server, _: Wire) -> Iterator[None]:
    """Somebody made it a replica."""
    store.ask("REPLICAOF", "127.0.0.1", free_ports(1)[0])
    yield
    store.ask("REPLICAOF", "NO", "ONE")


@contextlib.contextmanager
def full(store: Server, _: Wire) -> Iterator[None]:
    store.ask("CONFIG", "SET", "maxmemory", "1")
    yield
    store.ask("CONFIG", "SET", "maxmemory", "0")


@contextlib.contextmanager
def unsaved(store: Server, _: Wire) -> Iterator[None]:
    """MISCONF: it could not write its snapshot."""
    obstacle = store.folder / "dump.rdb"
    obstacle.unlink(missing_ok=True)
    (obstacle / "in the way").mkdir(parents=True)
    store.ask("CONFIG", "SET", "save", "3600 1")

    def last_save() -> str:
        if not store.ask("INFO", "persistence")["rdb_bgsave_in_progress"]:
            with contextlib.suppress(RedisError):
                store.ask("BGSAVE")
        return str(store.ask("INFO", "persistence")["rdb_last_bgsave_status"])

    wait_for(lambda: last_save() == "err", "a snapshot to fail")
    yield
    (obstacle / "in the way").rmdir()
    obstacle.rmdir()
    wait_for(lambda: last_save() == "ok", "a snapshot")
    store.ask("CONFIG", "SET", "save", "")


@contextlib.contextmanager
def without_replicas(store: Server, _: Wire) -> Iterator[None]:
    store.ask("CONFIG", "SET", "min-replicas-to-write", "1")
    yield
    store.ask("CONFIG", "SET", "min-replicas-to-write", "0")


@contextlib.contextmanager
def forgetful(store: Server, _: Wire) -> Iterator[None]:
    """Its scripts are forgotten again and again: nobody notices."""
    is_over = threading.Event()

    def forget() -> None:
        while not is_over.wait(0.005):
            store.ask("SCRIPT", "FLUSH")

    forgetting = threading.Thread(target=forget)
    forgetting.start()
    yield
    is_over.set()
    forgetting.join()


@contextlib.contextmanager
def busy(store: Server, _: Wire) -> Iterator[None]:
    """Somebody's script runs for ever."""
    store.ask("CONFIG", "SET", "busy-reply-threshold", "10")

    def run() -> None:
        with Redis(port=store.port) as client, contextlib.suppress(RedisError):
            client.eval("while true do end", 0)

    running = threading.Thread(target=run)
    running.start()

    def is_busy() -> bool:
        try:
            store.ask("PING")
        except RedisError as error:
            return "BUSY" in str(error)
        return False

    wait_for(is_busy, "the script to be noticed")
    yield
    store.ask("SCRIPT", "KILL")
    running.join()


@contextlib.contextmanager
def crowded(store: Server, _: Wire) -> Iterator[None]:
    """No more connections are let in, and ours have been closed."""
    with Redis(port=store.port, decode_responses=True) as inside:
        before = inside.config_get("maxclients")["maxclients"]
        inside.config_set("maxclients", 1)
        deadline = time.monotonic() + 5
        while len(inside.client_list()) > 1:
            inside.execute_command("CLIENT", "KILL", "SKIPME", "yes")
            assert time.monotonic() < deadline
        yield
        inside.config_set("maxclients", before)


_NORMAL = frozenset({200})

AILMENTS = {
    "down": Ailment(down),
    "frozen": Ailment(frozen),
    "slow": Ailment(slow),
    "unreachable": Ailment(unreachable),
    "reset": Ailment(reset, writes=frozenset({200, 503})),
    "loading": Ailment(loading, over_within_s=1),
    "read-only": Ailment(read_only, can_read=True, over_within_s=10),
    "full": Ailment(full, codes=frozenset({"store_full"}), can_read=True, over_within_s=1),
    "unsaved": Ailment(unsaved, can_read=True, over_within_s=1),
    "without replicas": Ailment(without_replicas, can_read=True, over_within_s=1),
    "forgetful": Ailment(forgetful, can_read=True, writes=_NORMAL, over_within_s=1),
    "busy": Ailment(busy),
    "crowded": Ailment(crowded),
}
