"""Atomic comparing and putting right: each script reads the record again and writes what follows from it."""

from collections.abc import Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from threadkit.comments.scripts import level_keys
from threadkit.ids import CommentId, PageId, SiteId, UserId
from threadkit.rebuild.model import Ranking
from threadkit.storage.keys import SiteKeys
from threadkit.storage.lua import KeyedScript
from threadkit.storage.records import to_hash
from threadkit.users.model import DELETED_USER

Mode = Literal["check", "repair"]


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


class Read(Struct, frozen=True, kw_only=True):
    """What of a comment's record its places in the indexes follow from, and what follows: hot score and depth."""

    id: CommentId
    page_id: PageId
    page_url: str
    parent_id: CommentId | None
    author_id: UserId
    created_ms: int
    up: int
    down: int
    hot: str
    depth: int | None


class SiteHasChanged(Exception):
    """The site was changed since it was read, so its formula may be another."""


class _RebuildScript(KeyedScript):
    repeatable = True


class ReadFields(_RebuildScript):
    file = "read_fields.lua"

    async def __call__(self, hashes: Sequence[str], *fields: str) -> list[dict[str, str]]:
        """For each hash those of the fields that it has. In a cluster all must be of one site."""
        if not hashes:
            return []
        reply = await self._run(keys=hashes, args=fields)
        return [
            {field: value for field, value in zip(fields, values, strict=True) if value is not None} if values else {}
            for values in reply
        ]


class Looked(Struct, frozen=True):
    """A key as it was found."""

    type: str
    ttl_ms: int
    site_id: str
    page_id: str
    members: list[str]


class LookIntoKeys(_RebuildScript):
    file = "look_into_keys.lua"

    async def __call__(self, pairs: Sequence[tuple[str, str]], *, members: int) -> list[Looked]:
        """`pairs` of a key and the record it belongs to."""
        reply = await self._run(keys=[key for pair in pairs for key in pair], args=[members])
        return [Looked(kind, int(ttl_ms), site_id, page_id, ids) for kind, ttl_ms, site_id, page_id, ids in reply]


class SettleComments(_RebuildScript):
    file = "settle_comments.lua"

    async def __call__(
        self, mode: Mode, site_id: SiteId, version: int, comments: Sequence[Read], *, sure: bool, now_ms: int
    ) -> list[tuple[Read, str, str, str, str]]:
        """For each thing that does not fit: the comment, the kind, what, found, wanted."""
        keys = self._keys.site(site_id)
        reply = await self._run(
            keys=[
                *(keys.config(), keys.comments(), keys.modqueue()),
                *(key for comment in comments for key in self._of(keys, comment)),
            ],
            args=[
                mode,
                version,
                DELETED_USER,
                now_ms,
                _json([_given(site_id, comment, sure=sure) for comment in comments]),
            ],
        )
        if reply == "SITE_CHANGED":
            raise SiteHasChanged
        return [(comments[int(number) - 1], kind, what, was, wanted) for number, kind, what, was, wanted in reply]

    @staticmethod
    def _of(keys: SiteKeys, comment: Read) -> list[str]:
        return [
            keys.comment(comment.id),
            keys.page(comment.page_id),
            keys.page_new(comment.page_id),
            keys.page_top(comment.page_id),
            keys.page_hot(comment.page_id),
            *level_keys(keys, comment.page_id, comment.parent_id),
            keys.replies(comment.id),
            keys.comments_of(comment.author_id),
            keys.unlisted(comment.page_id, comment.author_id),
            keys.pinned(comment.page_id),
        ]


def _given(site_id: SiteId, comment: Read, *, sure: bool) -> list[str]:
    return [
        comment.id,
        comment.author_id,
        comment.page_id,
        str(comment.created_ms),
        str(comment.up),
        str(comment.down),
        comment.hot,
        "" if comment.depth is None else str(comment.depth),
        comment.page_url,
        site_id,
        "sure" if sure else "",
    ]


class Members(Struct, frozen=True, kw_only=True):
    """Some members of an index, and what their records must say."""

    index: str
    page: str | None
    wanted: dict[str, str]
    keeps_deleted: bool
    ids: list[CommentId]


class SweepIndexes(_RebuildScript):
    file = "sweep_indexes.lua"

    async def __call__(self, mode: Mode, site_id: SiteId, groups: Sequence[Members]) -> list[tuple[int, str]]:
        """For each member that does not belong: the place of its group, and the id."""
        keys = self._keys.site(site_id)
        reply = await self._run(
            keys=[
                key
                for group in groups
                for key in (group.index, group.page or group.index, *(keys.comment(i) for i in group.ids))
            ],
            args=[
                mode,
                _json([[group.wanted, group.page is not None, group.keeps_deleted, group.ids] for group in groups]),
                DELETED_USER,
            ],
        )
        return [(int(number) - 1, member) for number, member in reply]


class SettleKey(_RebuildScript):
    file = "settle_key.lua"

    async def __call__(self, mode: Mode, key: str, kind: str, *, is_record: bool) -> tuple[str, str] | None:
        """What was wrong with the key, and which type it had."""
        reply = await self._run(keys=[key], args=[mode, kind, "record" if is_record else "derived"])
        return (reply[0], reply[1]) if reply else None


class SettleCounts(_RebuildScript):
    file = "settle_counts.lua"

    async def of_replies(
        self, mode: Mode, site_id: SiteId, comments: Sequence[tuple[CommentId, PageId]]
    ) -> list[tuple[int, str, str]]:
        keys = self._keys.site(site_id)
        return await self._settle(
            mode,
            "reply_count",
            [key for i, page_id in comments for key in (keys.comment(i), keys.replies(i), keys.page(page_id))],
        )

    async def of_pages(self, mode: Mode, site_id: SiteId, pages: Sequence[PageId]) -> list[tuple[int, str, str]]:
        keys = self._keys.site(site_id)
        return await self._settle(
            mode, "comments", [key for i in pages for key in (keys.page(i), keys.page_new(i), keys.page(i))]
        )

    async def _settle(self, mode: Mode, field: str, keys: list[str]) -> list[tuple[int, str, str]]:
        """For each wrong number: the place of its hash, found, wanted."""
        reply = await self._run(keys=keys, args=[mode, field])
        return [(int(number) - 1, found, wanted) for number, found, wanted in reply]


class SettlePages(_RebuildScript):
    file = "settle_pages.lua"

    async def __call__(self, mode: Mode, site_id: SiteId, pages: Sequence[str]) -> list[tuple[str, str]]:
        """For each page that is wrongly listed or not: its id, and what."""
        keys = self._keys.site(site_id)
        reply = await self._run(
            keys=[keys.pages(), *(key for i in pages for key in (keys.page(i), keys.page_new(i)))],
            args=[mode, site_id, *pages],
        )
        return [(page_id, what) for page_id, what in reply]


class SettleVotes(_RebuildScript):
    file = "settle_votes.lua"

    async def __call__(
        self, mode: Mode, site_id: SiteId, votes: Sequence[tuple[UserId, CommentId, PageId]]
    ) -> list[tuple[int, str, str, str, str]]:
        """For each thing that does not fit: the place of the vote, the kind, what, found, wanted."""
        keys = self._keys.site(site_id)
        reply = await self._run(
            keys=[
                key
                for voter, comment_id, page_id in votes
                for key in (
                    keys.vote(voter, comment_id),
                    keys.comment(comment_id),
                    keys.page_votes(voter, page_id),
                    keys.voted_pages(voter),
                )
            ],
            args=[mode, _json([[comment_id, page_id] for _, comment_id, page_id in votes])],
        )
        return [(int(number) - 1, kind, what, found, wanted) for number, kind, what, found, wanted in reply]


class SweepVotes(_RebuildScript):
    file = "sweep_votes.lua"

    async def __call__(
        self, mode: Mode, site_id: SiteId, voter: str, page_id: str, comments: Sequence[str]
    ) -> list[str]:
        keys = self._keys.site(site_id)
        reply = await self._run(
            keys=[
                *(keys.page_votes(voter, page_id), keys.voted_pages(voter)),
                *(key for i in comments for key in (keys.vote(voter, i), keys.comment(i))),
            ],
            args=[mode, page_id, *comments],
        )
        return list(reply)


class SweepVotedPages(_RebuildScript):
    file = "sweep_voted_pages.lua"

    async def __call__(self, mode: Mode, site_id: SiteId, voter: str, pages: Sequence[str]) -> list[str]:
        keys = self._keys.site(site_id)
        reply = await self._run(
            keys=[keys.voted_pages(voter), *(keys.page_votes(voter, i) for i in pages)], args=[mode, *pages]
        )
        return list(reply)


class Rank(Struct, frozen=True):
    """A comment's hot score, and what it was computed from."""

    id: CommentId
    page_id: PageId
    parent_id: CommentId | None
    up: int
    down: int
    hot: str


class SettleRanks(_RebuildScript):
    file = "settle_ranks.lua"

    async def __call__(self, site_id: SiteId, version: int, ranks: Sequence[Rank]) -> int:
        """How many scores were put right."""
        keys = self._keys.site(site_id)
        written = await self._run(
            keys=[
                keys.config(),
                *(
                    key
                    for rank in ranks
                    for key in (
                        keys.comment(rank.id),
                        keys.page(rank.page_id),
                        keys.page_hot(rank.page_id),
                        level_keys(keys, rank.page_id, rank.parent_id)[2],
                    )
                ),
            ],
            args=[version, _json([[r.id, r.page_id, str(r.up), str(r.down), r.hot] for r in ranks])],
        )
        if int(written) < 0:
            raise SiteHasChanged
        return int(written)


class SaveRanking(_RebuildScript):
    file = "save_ranking.lua"

    async def __call__(self, site_id: SiteId, ranking: Ranking, *, holder: str, lease_s: int) -> bool:
        """False when somebody else has taken over."""
        keys = self._keys.site(site_id)
        fields = [text for pair in to_hash(ranking).items() for text in pair]
        return bool(await self._run(keys=[keys.ranking(), keys.ranking_lease()], args=[holder, lease_s, _json(fields)]))
