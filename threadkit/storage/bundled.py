"""The store that comes with ThreadKit: a Valkey server of our own in the data folder.

Whoever starts it holds `store.lock` and ends it again. On Linux it also ends when its starter is killed; elsewhere the
next start adopts it.
"""

import contextlib
import ctypes
import fcntl
import functools
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from threadkit.errors import CannotStart
from threadkit.keyring import FILE as SECRET_FILE
from threadkit.settings import Settings
from threadkit.storage.client import StoreAddress
from threadkit.storage.hailing import is_there_to_stay, limit_memory, listens, loading, ping, talk
from threadkit.storage.room import CLOSED_BYTES, JOURNAL, UNFINISHED, Room, room_in
from threadkit.storage.store_program import Program, find_program, refuse_downgrade

# Linux allows 107 bytes in the address of a unix socket, macOS 103.
LONGEST_SOCKET_PATH = 103
START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 60.0
TELL_EVERY_S = 5.0
RUNNING = "store.running"
LEAST_FOR_COMMANDS = 1_000_000
LOOK_AT_ROOM_S = 1.0
LOCK_TIMEOUT_S = 30.0

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


class BundledStore:
    """Starts the store, restarts it when it dies, closes it while the disk has too little room, and stops it."""

    def __init__(self, settings: Settings) -> None:
        self._folder = settings.data_folder
        self._binary = settings.store_program
        self._least_free_mb = settings.store.least_free_mb
        self._is_watching = threading.Event()
        self._short: Room | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._stopping = threading.Event()
        self._ready = threading.Event()
        self._failure: CannotStart | None = None
        self._keeper: threading.Thread | None = None
        self._lock: IO[str] | None = None

    @property
    def address(self) -> StoreAddress:
        return address_in(self._folder)

    def start(self) -> None:
        """Start the store, or adopt one that is already running in this folder; return when it answers."""
        if not self._folder.is_dir():
            prepare_folder(self._folder)
        self._lock = _hold(self._folder / "store.lock", wait_s=LOCK_TIMEOUT_S)
        if self._lock is None:
            raise CannotStart(f"Another program is using the store in {self._folder.resolve()}. Stop it first.")
        try:
            _leave_taken_port(self._folder)
            is_adopted = is_there_to_stay(self.address, patience_s=START_TIMEOUT_S)
            program = find_program(self._binary)
            refuse_downgrade(self._folder, program)
            # Its own thread starts the process, because the death signal follows the thread that forked.
            keep = self._keep_adopted if is_adopted else self._keep_running
            self._keeper = threading.Thread(target=keep, args=(program,), name="store", daemon=True)
            self._keeper.start()
            _wait_for(self._ready.is_set, self._not_started, is_under_way=self._is_alive, address=self.address)
            if self._failure:
                raise self._failure
        except BaseException:
            self.stop()
            raise

    def _is_alive(self) -> bool:
        """Also one that loads its data, or that its disk keeps waiting."""
        return self._process is not None and self._process.poll() is None

    def _not_started(self) -> str:
        return f"The store did not start within {START_TIMEOUT_S:.0f} seconds.{self._log_tail()}"

    def stop(self) -> None:
        """End the store with everything saved. An adopted one is ended too: nobody else looks after it."""
        self._stopping.set()
        if self._lock is None:  # never ours, or no longer
            return
        try:
            if self._process and self._process.poll() is None:
                self._process.terminate()
            elif self._keeper and self._process is None and ping(self.address):
                with contextlib.suppress(OSError):
                    talk(self.address, b"SHUTDOWN\r\n")
            if self._keeper:
                self._keeper.join(STOP_TIMEOUT_S)
        finally:
            self._lock.close()
            self._lock = None

    def watch_room(self) -> None:
        """From now on the store is closed while the disk has too little room. Commands get along with less, so that what
        an owner does about it is not refused."""
        self._is_watching.set()

    def _keep_adopted(self, program: Program) -> None:
        """It may have been about to end, and when it does, nobody else starts another."""
        # Whoever closed it is not there to open it again.
        is_closed = False if limit_memory(self.address, 0) else None
        self._ready.set()
        while not self._stopping.wait(LOOK_AT_ROOM_S):
            if not listens(self.address):
                _say("The store that was running here before has ended; starting another.")
                self._keep_running(program)
                return
            is_closed = self._look_at_room(is_closed)

    def _keep_running(self, program: Program) -> None:
        pause_s = 0.1
        while not self._stopping.is_set():
            started = time.monotonic()
            try:
                ended = self._run_once(program)
            except OSError as error:  # a disk that is full is no reason to give up
                ended = f"could not be started ({error.strerror})"
            if self._stopping.is_set() or self._failure:
                return
            pause_s = 0.1 if time.monotonic() - started > 60 else min(pause_s * 2, 10)
            _say(f"The store {ended}; starting it again in {pause_s:.1f} s.")
            self._pause(pause_s, for_room=self._short_room() is not None)

    def _run_once(self, program: Program) -> str:
        """Until it ends; says how."""
        _remove_leftovers(self._folder)
        room = self._short_room()
        closed = ["--maxmemory", str(CLOSED_BYTES)] if room else []  # from its first moment
        if room and not self._is_watching.is_set():
            # Keys that end by themselves would end the store: that they did cannot be written down.
            closed += ["--appendfsync", "everysec"]
        self._process = _spawn(program, self._folder, closed)
        if not self._ready.is_set():
            self._wait_until_ready(program)
            if self._failure:
                self._process.kill()
                self._process.wait()
        code = self._until_it_ends(self._process, is_closed=room is not None)
        return f"ended with code {code}" + (f" ({said})" if code > 0 and (said := self._log_tail().strip()) else "")

    def _pause(self, seconds: float, *, for_room: bool) -> None:
        """Not longer than there is too little room, where that was the reason."""
        over = time.monotonic() + seconds
        while (left_s := over - time.monotonic()) > 0 and not self._stopping.wait(min(left_s, LOOK_AT_ROOM_S)):
            if for_room and self._short_room() is None:
                return

    def _until_it_ends(self, process: subprocess.Popen[bytes], *, is_closed: bool | None) -> int:
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return process.wait(LOOK_AT_ROOM_S)
            if self._stopping.is_set():
                process.terminate()  # it was being started when it was to be stopped
            is_closed = self._look_at_room(is_closed)

    def _look_at_room(self, is_closed: bool | None) -> bool | None:
        """Close the store or open it again as the room on the disk demands; says whether it is closed now. None: it did
        not say so in time, may do it yet, and is told again."""
        room = self._short_room()
        if is_closed == (room is not None):
            return is_closed
        return room is not None if limit_memory(self.address, CLOSED_BYTES if room else 0) else None

    def _short_room(self) -> Room | None:
        """The room on the disk, when it is too little; whoever runs the server is told when that changes."""
        room = room_in(self._folder, least_free_mb=self._least_free_mb)
        if room is not None and not self._is_watching.is_set():
            room = _room_for_commands(room)
        if room is None:  # not seen this time
            return self._short
        was_short = self._short is not None
        self._short = room if room.is_short or (was_short and not room.is_ample) else None
        if self._short and not was_short:
            _say(
                f"Too little room on the disk of {self._folder.resolve()}: {room.free / 1e6:.0f} MB are free, and "
                f"{room.needed / 1e6:.0f} MB are needed. Until there is more, nothing new is taken in; people can read, "
                "delete and moderate. Please make room."
            )
        elif was_short and not self._short:
            _say("There is room on the disk again: the store takes in everything.")
        return self._short

    def _wait_until_ready(self, program: Program) -> None:
        while self._is_alive() and not self._stopping.is_set():
            if ping(self.address):
                record = {"kind": program.kind, "version": program.version}
                with contextlib.suppress(OSError):  # the disk is full, and it says so already
                    _write_private(self._folder / "store.json", json.dumps(record))
                self._ready.set()
                return
            self._stopping.wait(0.005)
        self._failure = CannotStart(f"The store in {self._folder.resolve()} could not be started.{self._log_tail()}")
        self._ready.set()

    def _log_tail(self) -> str:
        try:
            lines = (self._folder / "store.log").read_text(errors="replace").splitlines()[-3:]
        except OSError:
            return ""
        return " Its last words:\n  " + "\n  ".join(lines) if lines else ""


@contextlib.contextmanager
def shared_use(settings: Settings) -> Iterator[StoreAddress]:
    """The bundled store for one command: that of a running server, or one started just for this."""
    if server_is_running(settings.data_folder):
        address = address_in(settings.data_folder)
        _wait_for(
            lambda: bool(address.path or _is_running(settings.data_folder)) and ping(address),
            lambda: "The server's store does not answer.",
            is_under_way=lambda: loading(address) is not None,
            address=address,
        )
        yield address
        return
    store = BundledStore(settings)
    store.start()
    try:
        yield store.address
    finally:
        store.stop()


def can_only_be_read(settings: Settings) -> bool:
    """Whether a store that a command starts in this folder takes no writes, because the disk is full."""
    room = room_in(settings.data_folder, least_free_mb=settings.store.least_free_mb)
    is_ours = settings.redis_url is None and not server_is_running(settings.data_folder)
    return is_ours and room is not None and _room_for_commands(room).is_short


def _room_for_commands(room: Room) -> Room:
    """There must only be so much that their own writes do not end the store."""
    return Room(room.free, 0, min(room.least, LEAST_FOR_COMMANDS))


def claim_server(folder: Path) -> IO[str]:
    """Be the one server of this data folder for as long as the returned file is open."""
    prepare_folder(folder)
    lock = _hold(folder / "server.lock")
    if lock is None:
        raise CannotStart(
            f"Another ThreadKit server is already using the data folder {folder.resolve()}. "
            "Stop it, or give this one a folder of its own with --data."
        )
    return lock


def server_is_running(folder: Path) -> bool:
    try:
        lock = _hold(folder / "server.lock", create=False)
    except FileNotFoundError:
        return False
    if lock is None:
        return True
    lock.close()
    return False


def refuse_without_data(settings: Settings, *, needs_secret: bool = True) -> None:
    """A command in the wrong folder says so, and leaves nothing behind there."""
    folder = settings.data_folder
    has_secret = not needs_secret or settings.secret is not None or (folder / SECRET_FILE).exists()
    if has_secret and (settings.redis_url is not None or (folder / JOURNAL).exists() or server_is_running(folder)):
        return
    what = "no data" if settings.redis_url is None else f"no {SECRET_FILE}"
    raise CannotStart(
        f"There is {what} of ThreadKit in {folder.absolute()}. Name its folder with --data, or its settings with --config."
    )


def prepare_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".probe-{os.getpid()}"
        try:
            # Real bytes, because an empty file can be made on a full disk.
            probe.write_bytes(b"x" * 4096)
        finally:
            probe.unlink(missing_ok=True)
    except OSError as error:
        raise CannotStart(f"The data folder {folder.absolute()} is not writable: {error.strerror}.") from error


def address_in(folder: Path) -> StoreAddress:
    """Where the store of this data folder listens."""
    path = str(folder.resolve() / "store.sock")
    if len(path.encode()) <= LONGEST_SOCKET_PATH:
        return StoreAddress("standalone", path=path)
    # Too deep a folder for a unix socket: loopback TCP behind a password.
    access = folder / "store.access"
    if not access.exists():
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        _write_private(access, json.dumps({"port": port, "password": secrets.token_hex(32)}))
    details = json.loads(access.read_text())
    return StoreAddress("standalone", hosts=(("127.0.0.1", details["port"]),), password=details["password"])


def write_config(folder: Path) -> Path:
    address = address_in(folder)
    lines = [
        "# Written by ThreadKit at every start; changes here are lost.",
        "appendonly yes",
        "hash-max-listpack-value 4096",
        "zset-max-listpack-value 1024",  # notifications, which would take three times the room
        "appendfsync always",
        "no-appendfsync-on-rewrite no",
        "aof-load-truncated yes",
        'save ""',
        "maxmemory-policy noeviction",
        f"dir {_quoted(folder.resolve())}",
        f"logfile {_quoted(folder.resolve() / 'store.log')}",
        "loglevel notice",
        "daemonize no",
        "enable-debug-command no",
        "enable-module-command no",
    ]
    if address.path:
        lines += ["port 0", f"unixsocket {_quoted(address.path)}", "unixsocketperm 700"]
    else:
        lines += ["bind 127.0.0.1", f"port {address.hosts[0][1]}", f"requirepass {address.password}"]
    path = folder / "store.conf"
    _write_private(path, "\n".join(lines) + "\n")
    return path


def _quoted(path: Path | str) -> str:
    """As the store reads it: whatever is no plain letter byte by byte."""
    plain = (
        chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\' else f"\\x{byte:02x}" for byte in os.fsencode(path)
    )
    return f'"{"".join(plain)}"'


def _config_in(folder: Path) -> Path:
    try:
        return write_config(folder)
    except OSError:  # the disk is full, and the last one says the same
        if (path := folder / "store.conf").exists():
            return path
        raise


def _remove_leftovers(folder: Path) -> None:
    """Of journals that were being written anew when the store was killed; nobody else would."""
    for path in folder.glob(UNFINISHED):
        with contextlib.suppress(OSError):
            path.unlink()


def die_with_parent(parent: int | None = None) -> None:
    """Ask the kernel to end this process when its parent dies; only Linux can. One that died before this is named."""
    if _libc is not None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if parent is not None and os.getppid() != parent:
            os._exit(1)


def _spawn(program: Program, folder: Path, flags: list[str]) -> subprocess.Popen[bytes]:
    with contextlib.ExitStack() as stack:
        lock = _hold(folder / RUNNING)
        return subprocess.Popen(  # noqa: S603
            [program.path, str(_config_in(folder)), *flags],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C in the terminal is for the server, which then stops the store
            preexec_fn=functools.partial(die_with_parent, os.getpid()),
            # Held by the store for as long as it runs, so that it can be told from a stranger on its port.
            pass_fds=[stack.enter_context(lock).fileno()] if lock else [],
        )


def _is_running(folder: Path) -> bool:
    """Whether a store of ours runs on this folder."""
    lock = _hold(folder / RUNNING)
    if lock is not None:
        lock.close()
    return lock is None


def _leave_taken_port(folder: Path) -> None:
    """A stranger who listens on our port would hear the password. The next store gets another port, and another password."""
    address = address_in(folder)
    if address.path or _is_running(folder):
        return
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(address.hosts[0])
        except OSError:
            (folder / "store.access").unlink()


def _hold(path: Path, *, wait_s: float = 0.0, create: bool = True) -> IO[str] | None:
    """The locked file, or None when somebody else holds it. The lock ends with the process."""
    file = path.open("a" if create else "r+")
    deadline = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return file
        except BlockingIOError:
            if time.monotonic() >= deadline:
                file.close()
                return None
            time.sleep(0.02)


def _wait_for(
    condition: Callable[[], bool],
    otherwise: Callable[[], str],
    *,
    is_under_way: Callable[[], bool],
    address: StoreAddress,
) -> None:
    """As long as it is under way, and a minute otherwise."""
    deadline, tell_at = time.monotonic() + START_TIMEOUT_S, time.monotonic() + TELL_EVERY_S
    while not condition():
        now = time.monotonic()
        if now > tell_at and (progress := loading(address)):
            _say(f"The store reads its data: {progress}.")
        tell_at = now + TELL_EVERY_S if now > tell_at else tell_at
        if now > deadline:
            if not is_under_way():
                raise CannotStart(otherwise())
            deadline = now + START_TIMEOUT_S
        time.sleep(0.01)


def _say(sentence: str) -> None:
    """To whoever runs the server, if anybody hears it: a log may be on the same full disk."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"{sentence}\n")
        sys.stderr.flush()


def _write_private(path: Path, text: str) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
