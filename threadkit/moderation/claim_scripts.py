"""Atomic claims: who looks at what."""

from typing import Any

import msgspec
from msgspec import Struct

from threadkit.clock import iso
from threadkit.comments.model import CommentNotFound
from threadkit.errors import TooMany
from threadkit.ids import CommentId, SiteId, UserId
from threadkit.storage.lua import KeyedScript

CLAIM_S = 60
MOST_CLAIMS = 100


class TooManyClaims(TooMany):
    """You have claimed a hundred comments. Decide or release some of them first."""

    code = "too_many_claims"


class Held(Struct, frozen=True):
    """A claim as it is kept: whose, and until when."""

    user_id: UserId
    until_ms: int

    @classmethod
    def read(cls, text: str) -> "Held":
        until_ms, _, user_id = text.partition(" ")
        return cls(UserId(user_id), int(until_ms))


class Claimant(Struct, frozen=True):
    """Who looks at a comment now, and until when nobody else needs to."""

    id: UserId
    name: str
    until: str

    @classmethod
    def of(cls, held: Held, name: str) -> "Claimant":
        return cls(held.user_id, name, iso(held.until_ms))


class _ClaimScript(KeyedScript):
    uses = ("staff.lua",)
    repeatable = True


class TakeClaim(_ClaimScript):
    file = "take_claim.lua"

    async def __call__(self, site_id: SiteId, comment_id: CommentId, held: Held, name: str, *, now_ms: int) -> Held:
        """Whose it is afterwards."""
        keys = self._keys.site(site_id)
        reply = await self._run(
            keys=[keys.comment(comment_id), keys.claims(), keys.modqueue(), keys.staff_channel()],
            args=[
                comment_id,
                site_id,
                held.user_id,
                now_ms,
                held.until_ms,
                CLAIM_S,
                MOST_CLAIMS,
                msgspec.json.encode(Claimant.of(held, name)).decode(),
            ],
        )
        match reply:
            case ["MISSING"]:
                raise CommentNotFound
            case ["TOO_MANY"]:
                raise TooManyClaims
        return _holder(reply) or held


class ReleaseClaim(_ClaimScript):
    file = "release_claim.lua"

    async def __call__(self, site_id: SiteId, comment_id: CommentId, user_id: UserId, *, now_ms: int) -> Held | None:
        """Whose it still is, when it is somebody else's."""
        keys = self._keys.site(site_id)
        reply = await self._run(
            keys=[keys.claims(), keys.modqueue(), keys.staff_channel()], args=[comment_id, user_id, now_ms]
        )
        return _holder(reply)


def _holder(reply: Any) -> Held | None:
    match reply:
        case ["TAKEN", user_id, until_ms]:
            return Held(UserId(user_id), int(until_ms))
    return None
