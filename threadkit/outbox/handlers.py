"""Who does what when something happened: each slice registers its own."""

import re
from collections.abc import Awaitable, Callable
from typing import Any

from threadkit.ids import SiteId
from threadkit.outbox.model import NotUnderstood

Event = dict[str, Any]
Handler = Callable[[SiteId, str, Event], Awaitable[None]]
_NAME = re.compile(r"[a-z_]{1,40}")


class Handlers:
    """The handlers of each type of event.

    A handler gets the site, the entry's id and the event. It may be called again for the same entry after a crash, so
    it does its work in a way that can be repeated, with the entry's id as the key. What it raises is a reason to try
    again later, alone and after entries that came later; `NotUnderstood` is a reason not to. A handler that depends on
    the order must see to it itself, as `totals.py` does. It has 10 seconds.
    """

    def __init__(self) -> None:
        self._by_type: dict[str, dict[str, Handler]] = {}

    def on(self, event_type: str, name: str, handler: Handler) -> None:
        """`name` is kept in the store with a failed entry, so it stays what it is."""
        known = self._by_type.setdefault(event_type, {})
        if not _NAME.fullmatch(name) or name in known:
            raise ValueError(f"{name!r} is not a new name for a handler of {event_type}")
        known[name] = handler

    def of(self, event: Event, name: str = "") -> dict[str, Handler]:
        """All handlers of an event, or the one that is called by name."""
        known = self._by_type.get(str(event.get("type")), {})
        if name:
            known = {name: known[name]} if name in known else {}
        if not known:
            by_whom = f" by {name}" if name else ""
            raise NotUnderstood(f"nobody here knows what is to be done{by_whom} about {event.get('type')!r}")
        return known
