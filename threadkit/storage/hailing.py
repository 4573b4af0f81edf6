"""A few words with a store on this machine that may be starting, ending or held up; its client comes later."""

import re
import socket
import time

from threadkit.errors import CannotStart
from threadkit.storage.client import StoreAddress

STEADY_S = 0.4
ANSWER_S = 2.0


def is_there_to_stay(address: StoreAddress, *, patience_s: float) -> bool:
    """Whether a store is running and staying. One whose starter was just killed answers for a moment more; one that is
    loading, or whose disk keeps it waiting, does not answer and is there all the same."""
    deadline = time.monotonic() + patience_s
    while listens(address):
        if _answers_steadily(address):
            return True
        if loading(address) is not None:
            deadline = time.monotonic() + patience_s
        if time.monotonic() > deadline:
            raise CannotStart("A store is running in this folder and does not answer. Wait until it does, or end it.")
        time.sleep(0.05)
    return False


def _answers_steadily(address: StoreAddress) -> bool:
    steady = time.monotonic() + STEADY_S
    while ping(address):
        if time.monotonic() > steady:
            return True
        time.sleep(0.05)
    return False


def ping(address: StoreAddress) -> bool:
    try:
        # One whose disk is full refuses even this, and answers what is only read.
        answer = talk(address, b"PING\r\n")
    except OSError:
        return False
    return b"+PONG" in answer or b"-MISCONF" in answer


def loading(address: StoreAddress) -> str | None:
    """How far a store is that reads its data; None when it does not, or nobody answers."""
    try:
        facts = talk(address, b"INFO persistence\r\n", ends=b"\r\n\r\n")
    except OSError:
        return None
    if b"loading:1" not in facts:
        return None
    found = re.search(rb"loading_loaded_perc:([0-9.]+)", facts)
    return f"{float(found[1]):.0f} %" if found else "at its beginning"


def listens(address: StoreAddress) -> bool:
    """Whether there is one at all, however busy: two on the same files would be the end of them."""
    try:
        talk(address, b"PING\r\n")
    except (ConnectionRefusedError, FileNotFoundError):
        return False
    except OSError:
        return True
    return True


def limit_memory(address: StoreAddress, limit: int) -> bool:
    try:
        return b"OK" in talk(address, f"CONFIG SET maxmemory {limit}\r\n".encode()).splitlines()[-1]
    except (OSError, IndexError):
        return False


def talk(address: StoreAddress, command: bytes, *, ends: bytes = b"\n") -> bytes:
    if address.path:
        connection = socket.socket(socket.AF_UNIX)
        target: str | tuple[str, int] = address.path
    else:
        connection = socket.socket()
        target = address.hosts[0]
    with connection:
        connection.settimeout(ANSWER_S)
        connection.connect(target)
        if address.password:
            command = f"AUTH {address.password}\r\n".encode() + command
        connection.sendall(command)
        answer = b""
        while ends not in answer or (address.password and answer.count(b"\n") < 2):
            part = connection.recv(4096)
            if not part:
                break
            answer += part
        return answer
