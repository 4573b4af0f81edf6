"""How deep comments hang, found by going up to their roots: without recursion, and no step twice."""

from collections import OrderedDict
from collections.abc import Mapping

from threadkit.ids import CommentId, SiteId
from threadkit.rebuild.scripts import ReadFields
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys

MOST_REMEMBERED = 200_000
STEP = 500


class Depths:
    """Remembers what it found, up to a bound: so a chain of ten thousand costs ten thousand steps, not their square."""

    def __init__(self, *, redis: Commands, keys: Keys) -> None:
        self._keys = keys
        self._read_fields = ReadFields(redis, keys)
        self._known: OrderedDict[CommentId, int | None] = OrderedDict()

    async def of(self, site_id: SiteId, comments: Mapping[CommentId, CommentId | None]) -> dict[CommentId, int | None]:
        """The depth of each of these comments, given with their parents; None where the way up ends in nothing."""
        parents = dict(comments)
        missing = self._unknown(parents.values(), parents)
        while missing:
            keys = self._keys.site(site_id)
            found: dict[CommentId, CommentId | None] = {}
            for start in range(0, len(missing), STEP):
                some = missing[start : start + STEP]
                answers = await self._read_fields([keys.comment(i) for i in some], "id", "parent_id")
                for comment_id, fields in zip(some, answers, strict=True):
                    if "id" not in fields:
                        self._known[comment_id] = None
                    else:
                        found[comment_id] = CommentId(fields["parent_id"]) if "parent_id" in fields else None
            parents |= found
            missing = self._unknown(found.values(), parents)
        for comment_id in parents:
            self._settle(comment_id, parents)
        depths = {comment_id: self._known[comment_id] for comment_id in comments}
        while len(self._known) > MOST_REMEMBERED:
            self._known.popitem(last=False)
        return depths

    def _unknown(self, wanted: object, parents: Mapping[CommentId, CommentId | None]) -> list[CommentId]:
        return sorted({i for i in wanted if i and i not in parents and i not in self._known})  # type: ignore[attr-defined]

    def _settle(self, comment_id: CommentId, parents: Mapping[CommentId, CommentId | None]) -> None:
        path: dict[CommentId, None] = {}
        node: CommentId | None = comment_id
        while node is not None and node not in self._known:
            if node in path:  # a circle has no depth
                self._known |= dict.fromkeys(path)
                return
            path[node] = None
            node = parents[node]
        depth = -1 if node is None else self._known[node]
        for below in reversed(path):
            depth = None if depth is None else depth + 1
            self._known[below] = depth
