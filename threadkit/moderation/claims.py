"""Claims: "somebody is on this one". A courtesy among moderators, not a lock: whoever decides all the same may."""

from collections.abc import Sequence

from threadkit.clock import Clock
from threadkit.errors import Conflict
from threadkit.ids import CommentId, SiteId, UserId
from threadkit.moderation.claim_scripts import CLAIM_S, Claimant, Held, ReleaseClaim, TakeClaim
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.users.queries import UserQueries
from threadkit.users.viewer import Viewer

NOBODY_ANY_MORE = "somebody who has left"


class ClaimedByAnother(Conflict):
    """{name} is looking at this comment."""

    code = "claimed_by_another"


class ClaimService:
    def __init__(self, *, redis: Commands, keys: Keys, clock: Clock, user_queries: UserQueries) -> None:
        self._redis = redis
        self._keys = keys
        self._clock = clock
        self._user_queries = user_queries
        self._take_claim = TakeClaim(redis, keys)
        self._release_claim = ReleaseClaim(redis, keys)

    async def take(self, site_id: SiteId, comment_id: CommentId, *, by: Viewer) -> Claimant:
        """For a minute; taking one's own again renews it."""
        now_ms = self._clock.now_ms()
        wanted = Held(by.id, now_ms + CLAIM_S * 1000)
        held = await self._take_claim(site_id, comment_id, wanted, by.user.name, now_ms=now_ms)
        if held.user_id != by.id:
            raise await self._refusal(held)
        return Claimant.of(held, by.user.name)

    async def release(self, site_id: SiteId, comment_id: CommentId, *, by: Viewer) -> None:
        held = await self._release_claim(site_id, comment_id, by.id, now_ms=self._clock.now_ms())
        if held is not None:
            raise await self._refusal(held)

    async def of(self, site_id: SiteId, comment_ids: Sequence[CommentId]) -> dict[CommentId, Claimant]:
        """Those of the comments that somebody looks at."""
        if not comment_ids:
            return {}
        found = await self._redis.hmget(self._keys.site(site_id).claims(), list(comment_ids))
        held = {one: Held.read(text) for one, text in zip(comment_ids, found, strict=True) if text}
        now_ms = self._clock.now_ms()
        live = {one: claim for one, claim in held.items() if claim.until_ms > now_ms}
        names = await self._names([claim.user_id for claim in live.values()])
        return {one: Claimant.of(claim, names.get(claim.user_id, NOBODY_ANY_MORE)) for one, claim in live.items()}

    async def count(self, site_id: SiteId, user_id: UserId) -> int:
        found = [Held.read(text) for text in await self._redis.hvals(self._keys.site(site_id).claims())]
        now_ms = self._clock.now_ms()
        return sum(1 for held in found if held.user_id == user_id and held.until_ms > now_ms)

    async def _refusal(self, held: Held) -> ClaimedByAnother:
        claimant = Claimant.of(held, (await self._names([held.user_id])).get(held.user_id, NOBODY_ANY_MORE))
        return ClaimedByAnother(name=claimant.name, claimed_by=claimant)

    async def _names(self, user_ids: Sequence[UserId]) -> dict[UserId, str]:
        wanted = sorted(set(user_ids))
        return {user.id: user.name for user in await self._user_queries.by_ids(wanted)} if wanted else {}
