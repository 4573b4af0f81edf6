"""Atomic writes of pages."""

from collections.abc import Sequence

import msgspec

from threadkit.comments.model import Comment
from threadkit.comments.scripts import change_keys
from threadkit.ids import CommentId, PageId, SiteId, UserId
from threadkit.pages.model import PageNotFound
from threadkit.storage.keys import SiteKeys
from threadkit.storage.lua import KeyedScript

ROOT_SORTS = ("new", "top", "hot", "controversial")


def _indexes(keys: SiteKeys, page_id: PageId) -> list[str]:
    """Every index of a page, in the order the scripts know."""
    return [
        keys.page_new(page_id),
        keys.page_top(page_id),
        keys.page_hot(page_id),
        keys.pinned(page_id),
        *(keys.roots(page_id, sort) for sort in ROOT_SORTS),
    ]


class _PageScript(KeyedScript):
    uses = ("announce.lua",)
    repeatable = True


class LockPage(_PageScript):
    file = "lock_page.lua"

    async def __call__(
        self,
        site_id: SiteId,
        page_id: PageId,
        *,
        locked: bool,
        by: UserId | None,
        now_ms: int,
        url: str | None = None,
    ) -> None:
        """Without an address only a page that is there can be locked."""
        keys = self._keys.site(site_id)
        entry = {"site_id": site_id, "action": "lock_page" if locked else "unlock_page", "page_id": page_id}
        facts = entry | {"by": by, "at_ms": now_ms}
        done = await self._run(
            keys=[keys.page(page_id), *change_keys(keys, page_id), keys.modlog()],
            args=["true" if locked else "false", url or "", site_id, msgspec.json.encode(facts).decode()],
        )
        if not done:
            raise PageNotFound


class LeadElsewhere(_PageScript):
    file = "lead_elsewhere.lua"

    async def __call__(self, site_id: SiteId, page_id: PageId, *, to: PageId, url: str) -> None:
        keys = self._keys.site(site_id)
        await self._run(
            keys=[keys.page(page_id), keys.page(to), keys.pages(), *change_keys(keys, page_id)],
            args=[site_id, page_id, to, url],
        )


class RenamePage(_PageScript):
    file = "rename_page.lua"

    async def __call__(self, site_id: SiteId, page_id: PageId, *, url: str, title: str | None) -> None:
        keys = self._keys.site(site_id)
        await self._run(keys=[keys.page(page_id)], args=[url, title or ""])


class MoveComments(_PageScript):
    file = "move_comments.lua"

    async def __call__(self, site_id: SiteId, comments: Sequence[Comment], *, to: PageId, url: str) -> int:
        """Move comments of one page; says how many were still there to move."""
        keys = self._keys.site(site_id)
        source = comments[0].page_id
        per_comment = [
            key
            for comment in comments
            for key in (
                keys.comment(comment.id),
                keys.unlisted(source, comment.author_id),
                keys.unlisted(to, comment.author_id),
            )
        ]
        moved = await self._run(
            keys=[
                keys.page(source),
                keys.page(to),
                *_indexes(keys, source),
                *_indexes(keys, to),
                keys.pages(),
                *change_keys(keys, to),
                *per_comment,
            ],
            args=[source, to, url, *(part for comment in comments for part in (comment.id, comment.author_id))],
        )
        return int(moved)


class MoveVotes(_PageScript):
    file = "move_votes.lua"

    async def __call__(
        self, site_id: SiteId, voter: UserId, source: PageId, comment_ids: Sequence[CommentId], *, to: PageId
    ) -> None:
        keys = self._keys.site(site_id)
        await self._run(
            keys=[
                keys.page_votes(voter, source),
                keys.page_votes(voter, to),
                keys.voted_pages(voter),
                *(keys.vote(voter, comment_id) for comment_id in comment_ids),
            ],
            args=[source, to, *comment_ids],
        )
