"""What can be done with pages: lock them, and take their threads along when articles move."""

from collections.abc import AsyncIterator, Collection, Sequence
from itertools import takewhile

from msgspec import Struct

from threadkit.clock import Clock
from threadkit.comments.model import Comment
from threadkit.comments.queries import CommentQueries
from threadkit.comments.snapshots import Snapshots
from threadkit.ids import CommentId, PageId, SiteId, UserId
from threadkit.pages.model import (
    Page,
    PageElsewhere,
    PageHasComments,
    PageNotFound,
    PageRef,
    PagesAreOne,
    is_followed,
    normal_url,
    page_id_of,
)
from threadkit.pages.queries import FoundPage, PageQueries
from threadkit.pages.scripts import LeadElsewhere, LockPage, MoveComments, MoveVotes, RenamePage
from threadkit.sites.model import PageRule, Site
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys

BATCH = 200
MOST_TRIES = 5


class Moved(Struct):
    """What a move or a merge did."""

    page_id: PageId
    url: str
    comments_moved: int


class PageService:
    def __init__(
        self,
        *,
        redis: Commands,
        keys: Keys,
        clock: Clock,
        queries: PageQueries,
        comment_queries: CommentQueries,
        snapshots: Snapshots,
        rule: PageRule,
    ) -> None:
        self._redis = redis
        self._keys = keys
        self._queries = queries
        self._comment_queries = comment_queries
        self._snapshots = snapshots
        self._clock = clock
        self._rule = rule
        self._lock_page = LockPage(redis, keys)
        self._lead_elsewhere = LeadElsewhere(redis, keys)
        self._rename_page = RenamePage(redis, keys)
        self._move_comments = MoveComments(redis, keys)
        self._move_votes = MoveVotes(redis, keys)

    async def lock(self, site: Site, page_id: PageId, *, locked: bool, by: UserId | None) -> None:
        found = await self._queries.existing(site.id, page_id)
        await self._lock_page(site.id, found.id, locked=locked, by=by, now_ms=self._clock.now_ms())
        self._snapshots.outdate(found.id)

    def address(self, site: Site, url: str) -> str:
        """The address of a page as it is kept: nothing for one that leads away from the site, where notices, lists and
        feeds would send people."""
        address = normal_url(url, drop_tracking=site.settings.drop_tracking_parameters)
        return address if not is_followed(address) or self._rule.allows(address, site) else ""

    async def id_of(self, site: Site, page: str) -> PageId:
        """Which page a command means: by its address, by the site's own id for it, or by ours."""
        at_address = page_id_of(site.id, _normal(site, page))
        if "://" in page:
            return at_address
        by_name = await self._queries.id_of(site, PageRef(None, page))
        is_known = [(await self._queries.now(site.id, one)).page.site_id for one in (at_address, by_name)]
        return by_name if is_known[1] and not is_known[0] else at_address

    async def lock_named(self, site: Site, page: str, *, locked: bool) -> FoundPage:
        """Also a page on which nobody wrote yet."""
        found = await self._queries.now(site.id, await self.id_of(site, page))
        address = "" if found.page.site_id else _normal(site, page)
        await self._lock_page(site.id, found.id, locked=locked, by=None, now_ms=self._clock.now_ms(), url=address)
        self._snapshots.outdate(found.id)
        return await self._queries.now(site.id, found.id)

    async def set_address(self, site: Site, page_id: PageId, url: str, *, title: str | None = None) -> Page:
        """Where a page leads from notices, lists and feeds. Its thread stays where it is found."""
        found = await self._queries.existing(site.id, page_id)
        await self._rename_page(site.id, found.id, url=self._own_address(site, url), title=title)
        self._snapshots.drop(found.id)
        return (await self._queries.existing(site.id, found.id)).page

    async def move(self, site: Site, page: str, new_url: str, *, title: str | None = None) -> Moved:
        """An article has a new address: its thread is found there from now on, and at the old one too.

        The thread stays where it is; the new address leads to it. So this is quick however large the thread, and can
        be repeated after a crash."""
        address = self._own_address(site, new_url)
        source = await self._queries.existing(site.id, await self.id_of(site, page))
        before = await self._before(site, page_id_of(site.id, address), source.id)
        if before and before[-1].page.moved_to is None and before[-1].page.comments:
            raise PageHasComments(url=address)
        moved = await self._pour(site, before, source, address, source.page.url)
        await self._rename_page(site.id, source.id, url=address, title=title)
        self._snapshots.drop(source.id)
        return Moved(source.id, address, moved)

    async def merge(self, site: Site, from_page: str, into_page: str) -> Moved:
        """Two threads become one: every comment and vote of the first goes to the second, and its address leads there.

        Interrupted, it can be said again and goes on. Meanwhile what is written at either address goes to the second.
        """
        into = await self._queries.existing(site.id, await self.id_of(site, into_page))
        from_id = await self.id_of(site, from_page)
        source = await self._queries.by_id(site.id, from_id)
        if source is None:
            raise PageNotFound
        before = await self._before(site, from_id, into.id)
        if not before:
            raise PagesAreOne
        moved = await self._pour(site, before, into, source.url, into.page.url)
        return Moved(into.id, into.page.url, moved)

    def _own_address(self, site: Site, url: str) -> str:
        address = self.address(site, url)
        if not address:
            raise PageElsewhere(url=url)
        return address

    async def bring(self, site_id: SiteId, comment: Comment) -> bool:
        """Take a comment and all above it to where their pages lead; says whether there was something to take. The merge
        that does it would come to them later, or was interrupted."""
        chain = [comment, *await self._comment_queries.ancestors(comment)]
        page_ids = sorted({one.page_id for one in chain})
        moved = 0
        for page_id, there in zip(page_ids, await self._queries.moved(site_id, page_ids), strict=True):
            if page_id != there:
                some = [one for one in chain if one.page_id == page_id]
                url = (await self._queries.urls(site_id, [there])).get(there, comment.page_url)
                moved += await self._move(site_id, some, to=there, url=url)
        return moved > 0

    async def _move(self, site_id: SiteId, comments: Sequence[Comment], *, to: PageId, url: str) -> int:
        """Comments of one page. Those that changed since they were read are read again."""
        moved, source = 0, comments[0].page_id
        for _ in range(MOST_TRIES):
            done = await self._move_comments(site_id, comments, to=to, url=url)
            moved += done
            if done == len(comments):
                break
            found = await self._comment_queries.by_ids(site_id, [one.id for one in comments])
            comments = [one for one in found if one.page_id == source]
            if not comments:
                break
        return moved

    async def _before(self, site: Site, page_id: PageId, end: PageId) -> list[FoundPage]:
        """A page, and where it leads, up to one that is not among them. On each may be something that an interrupted
        merge left."""
        return list(takewhile(lambda found: found.id != end, await self._queries.way(site.id, page_id)))

    async def _pour(self, site: Site, before: list[FoundPage], into: FoundPage, url: str, into_url: str) -> int:
        """Send newcomers to the other page first, then move what is here: nothing can arrive behind our back."""
        if before and before[-1].page.moved_to != into.id:
            await self._lead_elsewhere(site.id, before[-1].id, to=into.id, url=url)
        moved = 0
        batches: dict[PageId, list[Comment]] = {found.id: [] for found in before}
        async for comment in self._comments_of(site, batches.keys()):
            batch = batches[comment.page_id]
            batch.append(comment)
            if len(batch) == BATCH:
                moved += await self._move(site.id, batch, to=into.id, url=into_url)
                batch.clear()
        for page_id, batch in batches.items():
            if batch:
                moved += await self._move(site.id, batch, to=into.id, url=into_url)
            await self._pour_votes(site, page_id, into.id)
            self._snapshots.drop(page_id)
        self._snapshots.drop(into.id)
        return moved

    async def _comments_of(self, site: Site, page_ids: Collection[PageId]) -> AsyncIterator[Comment]:
        """Every record of these pages, shown or not: the site's list is the only one that has them all."""
        found: list[CommentId] = []
        if not page_ids:
            return
        async for comment_id, _ in self._redis.zscan_iter(self._keys.site(site.id).comments(), count=BATCH):
            found.append(CommentId(comment_id))
            if len(found) >= BATCH:
                for comment in await self._comment_queries.by_ids(site.id, found):
                    if comment.page_id in page_ids:
                        yield comment
                found = []
        for comment in await self._comment_queries.by_ids(site.id, found):
            if comment.page_id in page_ids:
                yield comment

    async def _pour_votes(self, site: Site, source: PageId, into: PageId) -> None:
        keys = self._keys.site(site.id)
        before, after = keys.page_votes(UserId("*"), source).split("*")
        async for key in self._redis.scan_iter(match=f"{before}*{after}", count=1000):
            voter = UserId(key.removeprefix(before).removesuffix(after))
            voted = [CommentId(comment_id) for comment_id in await self._redis.hkeys(key)]
            for start in range(0, len(voted), BATCH):
                await self._move_votes(site.id, voter, source, voted[start : start + BATCH], to=into)


def _normal(site: Site, url: str) -> str:
    return normal_url(url, drop_tracking=site.settings.drop_tracking_parameters)
