"""Atomic steps of the outbox: an entry is always in exactly one place, and nobody settles what another has settled."""

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from threadkit.ids import SiteId, UserId
from threadkit.outbox.model import MOST_DEAD, DeadLetter, FoundDead, Retrying
from threadkit.storage.lua import KeyedScript

LEASE_S = 15
MOST_PUT_OFF = 1_000


class Later(Struct, frozen=True):
    """What is tried again, and when."""

    retrying: Retrying
    due_ms: int


class ApplyToUser(KeyedScript):
    """One entry changes one number of one user."""

    file = "apply_to_user.lua"
    repeatable = True

    async def __call__(self, user_id: UserId, site_id: SiteId, entry_id: str, *, field: str, change: int) -> None:
        keys = self._keys.user(user_id)
        await self._run(keys=[keys.profile(), keys.applied()], args=[site_id, _comparable(entry_id), field, change])


class PutOff(KeyedScript):
    file = "put_off.lua"
    repeatable = True

    async def __call__(self, user_id: UserId, site_id: SiteId, entry_id: str) -> None:
        keys = self._keys.user(user_id)
        await self._run(keys=[keys.profile(), keys.applied()], args=[site_id, _comparable(entry_id), MOST_PUT_OFF])


class HoldLease(KeyedScript):
    file = "hold_lease.lua"
    repeatable = True

    async def __call__(self, site_id: SiteId, worker: str) -> bool:
        """Take the lease, or prolong it; False when another worker has it."""
        return bool(await self._run(keys=[self._keys.site(site_id).outbox_lease()], args=[worker, LEASE_S]))


class SettleEntry(KeyedScript):
    file = "settle_entry.lua"
    repeatable = True

    async def __call__(
        self, site_id: SiteId, entry_id: str, later: Sequence[Later] = (), dead: Sequence[DeadLetter] = ()
    ) -> None:
        keys = self._keys.site(site_id)
        put_off = [[item.retrying.name, str(item.due_ms), _text(item.retrying)] for item in later]
        await self._run(
            keys=[keys.outbox(), keys.outbox_due(), keys.outbox_retrying(), keys.outbox_dead()],
            args=[entry_id, _text(put_off), _text([letter.fields() for letter in dead]), MOST_DEAD],
        )


class SettleRetry(KeyedScript):
    file = "settle_retry.lua"
    repeatable = True

    async def __call__(
        self, site_id: SiteId, before: Retrying, *, later: Later | None = None, dead: DeadLetter | None = None
    ) -> None:
        keys = self._keys.site(site_id)
        await self._run(
            keys=[keys.outbox_due(), keys.outbox_retrying(), keys.outbox_dead()],
            args=[
                before.name,
                before.tries,
                later.due_ms if later else "",
                _text(later.retrying) if later else "",
                _text(dead.fields() if dead else []),
                MOST_DEAD,
            ],
        )


class PutBack(KeyedScript):
    file = "put_back.lua"
    repeatable = True

    async def __call__(self, found: FoundDead, *, now_ms: int) -> bool:
        """False when the dead letter is gone already."""
        keys = self._keys.site(found.site_id)
        letter = found.letter
        again = Retrying(entry_id=letter.entry_id, handler=letter.handler, event=letter.event, tries=0)
        return bool(
            await self._run(
                keys=[keys.outbox_dead(), keys.outbox(), keys.outbox_due(), keys.outbox_retrying()],
                args=[
                    found.id,
                    "again" if letter.tries else "new",
                    letter.event,
                    letter.handler,
                    again.name,
                    now_ms,
                    _text(again),
                ],
            )
        )


def _text(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _comparable(entry_id: str) -> str:
    """Stream ids as texts that compare like the ids."""
    ms, _, number = entry_id.partition("-")
    return f"{int(ms):020d}-{int(number):010d}"
