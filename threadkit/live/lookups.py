"""What events do not carry, looked up once per worker and not once per socket."""

from collections import OrderedDict
from collections.abc import Sequence

from threadkit.clock import Clock
from threadkit.comments.model import Comment
from threadkit.comments.queries import CommentQueries
from threadkit.ids import CommentId, PageId, SiteId, UserId
from threadkit.users.model import UserPublic
from threadkit.users.queries import UserQueries

PEOPLE_MS = 30_000
MOST_PEOPLE = 10_000


class Lookups:
    def __init__(self, *, clock: Clock, comment_queries: CommentQueries, user_queries: UserQueries) -> None:
        self._clock = clock
        self._comment_queries = comment_queries
        self._user_queries = user_queries
        self._people: OrderedDict[UserId, tuple[UserPublic, int]] = OrderedDict()

    async def comments(self, site_id: SiteId, comment_ids: Sequence[CommentId]) -> dict[str | None, Comment]:
        wanted = list(dict.fromkeys(comment_ids))
        return {comment.id: comment for comment in await self._comment_queries.by_ids(site_id, wanted)}

    async def uncounted_vote(
        self, site_id: SiteId, user_id: UserId, page_id: PageId, comment_id: CommentId
    ) -> str | None:
        """How somebody shadow-banned voted on a comment, if that counts for them alone."""
        return (await self._comment_queries.uncounted(site_id, user_id, page_id)).get(comment_id)

    async def people(self, user_ids: Sequence[UserId]) -> dict[str | None, UserPublic]:
        """Those of them who are still there. A change of name takes up to half a minute."""
        now_ms = self._clock.now_ms()
        known = {user_id: self._people.get(user_id) for user_id in user_ids}
        missing = [user_id for user_id, entry in known.items() if entry is None or entry[1] <= now_ms]
        for user in await self._user_queries.by_ids(missing) if missing else ():
            known[user.id] = self._people[user.id] = (UserPublic.of(user), now_ms + PEOPLE_MS)
            self._people.move_to_end(user.id)
        while len(self._people) > MOST_PEOPLE:
            self._people.popitem(last=False)
        return {user_id: entry[0] for user_id, entry in known.items() if entry is not None and entry[1] > now_ms}
