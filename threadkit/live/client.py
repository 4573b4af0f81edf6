"""One reader of live events, and how fast they read."""

import abc
import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Iterator

from threadkit.ids import PageId, SessionId, SiteId, UserId
from threadkit.live.message import Message, resync
from threadkit.sites.roles import Role
from threadkit.storage.listener import Receiver

MOST_HELD = 64


class Client(abc.ABC):
    """Somebody who is told things. How they are written is up to the kind of connection."""

    def __init__(self, site_id: SiteId) -> None:
        self.site_id = site_id
        self.user_id: UserId | None = None
        self.session_id: SessionId | None = None
        self.is_shadowed = False
        self.blocked: frozenset[UserId] = frozenset()
        self.pages: set[PageId] = set()
        self.seen_on: set[PageId] = set()
        """Where they are counted among those present; while shadowed, nowhere."""
        self.least_role = Role.BLOCKED
        """Whoever has less than this loses the connection."""
        self.wants_notifications = True
        self.ears: list[tuple[str, Receiver]] = []
        """What it hears besides pages: channels of the store."""
        self.address = ""
        self.is_lost = False
        self._held: deque[Message] = deque()
        self._holds = 0
        self._is_delayed = False

    def tell(self, message: Message, *, after_s: float = 0) -> None:
        """Write a message now, or after a while; what comes later waits behind it."""
        if self.is_lost:
            return
        if after_s and not self._is_delayed:
            self._is_delayed = True
            self._holds += 1
            asyncio.get_running_loop().call_later(after_s, self._end_delay)
        if not self._holds:
            self.write(message)
            return
        self._held.append(message)
        if len(self._held) > MOST_HELD:
            self._held.clear()
            self._held.append(resync(None))

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Whatever this client is told meanwhile waits until the end."""
        self._holds += 1
        try:
            yield
        finally:
            self._release()

    def tell_first(self, message: Message, *, covers: Callable[[Message], bool]) -> None:
        """Write a message before what waits, which is forgotten where the message `covers` it."""
        if not self.is_lost:
            self.write(message)
        self._held = deque(held for held in self._held if not covers(held))

    @abc.abstractmethod
    def write(self, message: Message) -> None:
        """Hand a message to the connection."""

    @abc.abstractmethod
    def close(self, code: int, reason: str = "") -> None:
        """End the connection after what was written."""

    def _end_delay(self) -> None:
        self._is_delayed = False
        self._release()

    def _release(self) -> None:
        self._holds -= 1
        while self._held and not self._holds:
            message = self._held.popleft()
            if not self.is_lost:
                self.write(message)
