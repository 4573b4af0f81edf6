"""Third part of a rebuild: numbers of replies and comments, the list of pages, and votes in their voters' lists."""

from collections.abc import Sequence

from threadkit.ids import CommentId, PageId, SiteId, UserId
from threadkit.rebuild.model import Finding, Look
from threadkit.rebuild.names import Name
from threadkit.rebuild.scripts import ReadFields, SettleCounts, SettlePages, SettleVotes
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys

BATCH = 200


class Counters:
    def __init__(self, *, redis: Commands, keys: Keys) -> None:
        self._keys = keys
        self._read_fields = ReadFields(redis, keys)
        self._settle_counts = SettleCounts(redis, keys)
        self._settle_pages = SettlePages(redis, keys)
        self._settle_votes = SettleVotes(redis, keys)

    async def go_through(self, names: Sequence[Name], look: Look) -> None:
        for start in range(0, len(names), BATCH):
            some = names[start : start + BATCH]
            await self._replies([name for name in some if name.of == "comment"], look)
            await self._pages([name for name in some if name.of == "page"], look)
            await self._votes([name for name in some if name.of == "vote"], look)

    async def _replies(self, names: Sequence[Name], look: Look) -> None:
        answers = await self._read_fields([name.key for name in names], "site_id", "page_id")
        by_site: dict[SiteId, list[tuple[CommentId, PageId]]] = {}
        for name, fields in zip(names, answers, strict=True):
            if len(fields) == 2 and look.wants(fields["site_id"]):
                found = (CommentId(name.parts["comment_id"]), PageId(fields["page_id"]))
                by_site.setdefault(SiteId(fields["site_id"]), []).append(found)
        for site_id, comments in by_site.items():
            for place, was, wanted in await self._settle_counts.of_replies(look.mode, site_id, comments):
                look.note(Finding("reply_count", "value", f"comment {comments[place][0]}", was, wanted))

    async def _pages(self, names: Sequence[Name], look: Look) -> None:
        answers = await self._read_fields([name.key for name in names], "site_id", "url")
        by_site: dict[SiteId, list[PageId]] = {}
        for name, fields in zip(names, answers, strict=True):
            if not look.wants(fields.get("site_id")):
                continue
            if len(fields) == 2:
                by_site.setdefault(SiteId(fields["site_id"]), []).append(PageId(name.parts["page_id"]))
            else:
                look.note(Finding("page", "damaged", name.key, "it has no site_id or no url"))
        for site_id, pages in by_site.items():
            look.pages += len(pages)
            for place, was, wanted in await self._settle_counts.of_pages(look.mode, site_id, pages):
                look.note(Finding("page comments", "value", f"page {pages[place]}", was, wanted))
            for page_id, what in await self._settle_pages(look.mode, site_id, pages):
                look.note(Finding("pages", what, f"page {page_id}"))  # type: ignore[arg-type]

    async def _votes(self, names: Sequence[Name], look: Look) -> None:
        comments = [self._keys.site(name.site_id).comment(name.parts["comment_id"]) for name in names]
        answers = await self._read_fields(comments, "site_id", "page_id")
        by_site: dict[SiteId, list[tuple[UserId, CommentId, PageId]]] = {}
        for name, fields in zip(names, answers, strict=True):
            site_id, page_id = fields.get("site_id"), fields.get("page_id")
            if not look.wants(site_id):
                continue
            if site_id is None or page_id is None:
                look.note(Finding("vote", "damaged", name.key, "the comment it is for is gone"))
                continue
            vote = (UserId(name.parts["user_id"]), CommentId(name.parts["comment_id"]), PageId(page_id))
            by_site.setdefault(SiteId(site_id), []).append(vote)
        for site_id, votes in by_site.items():
            look.votes += len(votes)
            for place, kind, what, was, wanted in await self._settle_votes(look.mode, site_id, votes):
                voter, comment_id, page_id = votes[place]
                subject = f"user {voter} on comment {comment_id} of page {page_id}"
                look.note(Finding(kind, what, subject, was, wanted))  # type: ignore[arg-type]
