"""One reader of live events, and how fast they read."""

import abc
import asyncio
from collections import deque

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
        self.least_role = Role.BLOCKED
        """Whoever has less than this loses the connection."""
        self.wants_notifications = True
        self.ears: list[tuple[str, Receiver]] = []
        """What it hears besides pages: channels of the store."""
        self.address = ""
        self.is_lost = False
        self._held: deque[Message] | None = None

    def tell(self, message: Message, *, after_s: float = 0) -> None:
        """Write a message now, or after a while; what comes later waits behind it."""
        if self.is_lost:
            return
        if self._held is None:
            if not after_s:
                self.write(message)
                return
            self._held = deque()
            asyncio.get_running_loop().call_later(after_s, self._release)
        self._held.append(message)
        if len(self._held) > MOST_HELD:
            self._held.clear()
            self._held.append(resync(None))

    @abc.abstractmethod
    def write(self, message: Message) -> None:
        """Hand a message to the connection."""

    @abc.abstractmethod
    def close(self, code: int, reason: str = "") -> None:
        """End the connection after what was written."""

    def _release(self) -> None:
        held, self._held = self._held or (), None
        for message in held:
            if not self.is_lost:
                self.write(message)
