"""Where comments stand that were voted on lately: a vote need not ask for it again.

What is remembered may be wrong by now. The script that counts a vote notices a comment that moved, is gone, or has quite
another score, and does nothing then.
"""

from threadkit.comments.model import CommentPlace
from threadkit.ids import CommentId, SiteId

MOST = 10_000


class Places:
    def __init__(self) -> None:
        self._known: dict[tuple[SiteId, CommentId], CommentPlace] = {}

    def get(self, site_id: SiteId, comment_id: CommentId) -> CommentPlace | None:
        return self._known.get((site_id, comment_id))

    def keep(self, place: CommentPlace) -> None:
        key = place.site_id, place.id
        self._known.pop(key, None)  # so that the first is always the one not voted on for longest
        self._known[key] = place
        if len(self._known) > MOST:
            del self._known[next(iter(self._known))]

    def drop(self, site_id: SiteId, comment_id: CommentId) -> None:
        self._known.pop((site_id, comment_id), None)
