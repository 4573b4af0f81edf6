"""Reading threads: the whole of one, or a window on it, as one viewer sees it."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from msgspec import UNSET

from threadkit.comments.model import Comment, CommentNotFound, PageTree, Replies, Sort, Status, Thread, TreeComment
from threadkit.comments.queries import CommentQueries, pins
from threadkit.comments.scripts import SliceLevels
from threadkit.comments.snapshots import Answer, Snapshot, Snapshots
from threadkit.comments.tree import build_tree, is_visible
from threadkit.comments.window import Cursor, Window
from threadkit.ids import CommentId, PageId, SiteId, UserId
from threadkit.pages.queries import FoundPage, PageQueries
from threadkit.settings import Settings
from threadkit.sites.model import Site
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.users.queries import UserQueries
from threadkit.users.viewer import Viewer

MOST_IN_WINDOW = 2000
MOST_UNLISTED = 100


class Eyes:
    """What one viewer may see."""

    def __init__(self, viewer: Viewer | None, blocked: frozenset[UserId]) -> None:
        self.viewer = viewer
        self.viewer_id = viewer.id if viewer else None
        self.blocked = blocked

    def see(self, comment: Comment) -> bool:
        return is_visible(comment, self.viewer_id, self.blocked)


class ThreadReader:
    def __init__(
        self,
        *,
        redis: Commands,
        keys: Keys,
        settings: Settings,
        queries: CommentQueries,
        page_queries: PageQueries,
        user_queries: UserQueries,
        snapshots: Snapshots,
    ) -> None:
        self._settings = settings
        self._queries = queries
        self._page_queries = page_queries
        self._user_queries = user_queries
        self._snapshots = snapshots
        self._slice = SliceLevels(redis, keys)

    async def thread(
        self, site: Site, page_id: PageId, sort: Sort, viewer: Viewer | None, window: Window | None = None
    ) -> Thread:
        """A page's comments as this viewer sees them. A page nobody wrote on is empty, not missing."""
        found = await self._page_queries.now(site.id, page_id)
        return await self._thread(site, found, sort, await self._eyes(viewer), window)

    async def replies(
        self, site: Site, comment_id: CommentId, sort: Sort, viewer: Viewer | None, window: Window
    ) -> Replies:
        """The next replies under a comment."""
        eyes = await self._eyes(viewer)
        return await self._replies(site, await self._seen(site, comment_id, eyes), sort, eyes, window)

    async def snapshot(self, site: Site, page_id: PageId, sort: Sort, window: Window | None = None) -> Snapshot:
        """What everybody may see of a page, encoded."""
        eyes = Eyes(None, frozenset())
        top = None
        if window and window.under is None and window.around is None:
            top = _Top(self._queries, self._slice, site.id, page_id, window.cursor or Cursor(sort), window.limit + 1)

        async def make(found: FoundPage) -> Answer:
            if window and window.under:
                return await self._replies(site, await self._seen(site, window.under, eyes), sort, eyes, window)
            return await self._thread(site, found, sort, eyes, window, top if found.id == page_id else None)

        return await self._snapshots.get(
            (site.id, site.version, page_id, sort, window),
            page=lambda: self._page_queries.now(site.id, page_id, company=top),
            make=make,
        )

    async def has_own_view(self, site: Site, page_id: PageId, viewer: Viewer) -> bool:
        """Whether somebody sees a page otherwise than everybody does."""
        (page_id,) = await self._page_queries.moved(site.id, [page_id])
        return await self._queries.has_own_view(site.id, page_id, viewer)

    async def page_of(self, site: Site, comment_id: CommentId) -> PageId:
        comment = await self._queries.by_id(site.id, comment_id)
        if comment is None:
            raise CommentNotFound
        return comment.page_id

    async def _eyes(self, viewer: Viewer | None) -> Eyes:
        if viewer is None:
            return Eyes(None, frozenset())
        return Eyes(viewer, frozenset(await self._user_queries.blocked_by(viewer.id)))

    async def _thread(
        self,
        site: Site,
        found: FoundPage,
        sort: Sort,
        eyes: Eyes,
        window: Window | None,
        top: "_Top | None" = None,
    ) -> Thread:
        pinned = top.pinned if top else await self._queries.pinned(site.id, found.id)
        thread = Thread(page_id=found.id, tree=PageTree([], found.page.updated_ms // 1000), total=found.page.comments)
        if pinned:
            thread.pinned = pinned
        if site.settings.display.show_pageviews:
            thread.pageviews = found.views
        thread.version = found.page.version
        thread.locked = found.page.locked or site.settings.posting_disabled
        if window is None:
            comments = await self._queries.page_comments(
                site.id, found.id, viewer_id=eyes.viewer_id, most=self._settings.tree_limit
            )
            thread.tree.c, thread.total = build_tree(
                await self._queries.as_voted(comments, eyes.viewer),
                sort=sort,
                formula=site.settings.hot,
                viewer_id=eyes.viewer_id,
                blocked=eyes.blocked,
            )
        else:
            await self._fill(thread, site, sort, eyes, window, top)
        return thread

    async def _fill(
        self, thread: Thread, site: Site, sort: Sort, eyes: Eyes, window: Window, top: "_Top | None"
    ) -> None:
        """Put the roots of a window into the thread, with their first replies."""
        page_id = thread.page_id
        pinned = {comment_id for comment_id, _ in thread.pinned} if thread.pinned is not UNSET else set()
        path = await self._path_to(site, page_id, window.around, eyes) if window.around else []
        path = await self._queries.as_voted(path, eyes.viewer)
        cursor = window.cursor or Cursor(sort)
        first: list[CommentId] = []
        if path:
            first = [path[0].id]
            score = await self._queries.score(site.id, page_id, path[0], sort)
            cursor = Cursor(sort, score, path[0].id) if score is not None else Cursor(sort)
            pinned -= set(first)
        elif window.cursor is None:
            # Pinned roots stand in front of the first window, and are left out where their score would put them.
            found = {comment.id: comment for comment in await self._queries.by_ids(site.id, list(pinned))}
            first = [at for at, _ in thread.pinned or [] if at in found and found[at].parent_id is None]
        slice_ = top.roots if top else (await self._slice(site.id, page_id, [None], cursor, limit=window.limit + 1))[0]
        if len(slice_) > window.limit:
            slice_ = slice_[: window.limit]
            thread.next = Cursor(sort, slice_[-1][1], slice_[-1][0]).text
        roots = [*first, *(comment_id for comment_id, _ in slice_ if comment_id not in pinned)]
        forest = Forest(eyes)
        own = await self._unlisted(site, page_id, eyes)
        if window.cursor is None and not path:
            forest.add(None, [comment for comment in own if comment.parent_id is None])
        forest.add(None, await self._as_seen(site, roots, eyes))
        for above, comment in pairwise(path):
            if above.id in forest.nodes:  # it was there a moment ago
                forest.add(above.id, [comment])
        await self._grow(forest, site, page_id, sort, window)
        for comment in own:
            if comment.parent_id in forest.nodes:
                forest.add(comment.parent_id, [comment])
        thread.tree.c = forest.finished()

    async def _replies(self, site: Site, parent: Comment, sort: Sort, eyes: Eyes, window: Window) -> Replies:
        cursor = window.cursor or Cursor(sort)
        (slice_,) = await self._slice(site.id, parent.page_id, [parent.id], cursor, limit=window.limit + 1)
        answer = Replies([])
        if len(slice_) > window.limit:
            slice_ = slice_[: window.limit]
            answer.next = Cursor(sort, slice_[-1][1], slice_[-1][0]).text
        forest = Forest(eyes)
        forest.add(None, await self._as_seen(site, [comment_id for comment_id, _ in slice_], eyes))
        await self._grow(forest, site, parent.page_id, sort, window)
        own = await self._unlisted(site, parent.page_id, eyes)
        for comment in own:
            if comment.parent_id == parent.id and window.cursor is None:
                forest.add(None, [comment])
            elif comment.parent_id in forest.nodes:
                forest.add(comment.parent_id, [comment])
        answer.replies = forest.finished()
        return answer

    async def _as_seen(self, site: Site, comment_ids: list[CommentId], eyes: Eyes) -> list[Comment]:
        return await self._queries.as_voted(await self._queries.by_ids(site.id, comment_ids), eyes.viewer)

    async def _unlisted(self, site: Site, page_id: PageId, eyes: Eyes) -> list[Comment]:
        own = await self._queries.unlisted(site.id, page_id, eyes.viewer_id, most=MOST_UNLISTED)
        return await self._queries.as_voted(own, eyes.viewer)

    async def _grow(self, forest: "Forest", site: Site, page_id: PageId, sort: Sort, window: Window) -> None:
        """Level by level, the first replies of everything there is; what is left out gets a cursor."""
        start = Cursor(sort)
        level = forest.open_nodes()
        for _ in range(window.depth):
            if not level or not window.replies:
                break
            room = max(1, (MOST_IN_WINDOW - len(forest.nodes)) // window.replies)
            level, waiting = level[:room], level[room:]
            forest.leave_out(waiting, start)
            slices = await self._slice(site.id, page_id, level, start, limit=window.replies + 1)
            wanted = [[comment_id for comment_id, _ in slice_[: window.replies]] for slice_ in slices]
            found = {
                comment.id: comment
                for comment in await self._as_seen(site, [one for ids in wanted for one in ids], forest.eyes)
            }
            for parent_id, ids, slice_ in zip(level, wanted, slices, strict=True):
                forest.add(parent_id, [found[one] for one in ids if one in found])
                if len(slice_) > window.replies:
                    last = slice_[window.replies - 1]
                    forest.nodes[parent_id].rn = Cursor(sort, last[1], last[0]).text
            level = forest.open_nodes()
            if len(forest.nodes) >= MOST_IN_WINDOW:
                break
        forest.leave_out(level, start)

    async def _seen(self, site: Site, comment_id: CommentId, eyes: Eyes) -> Comment:
        """A comment that can be seen, which it cannot where anything above it is hidden."""
        comment = await self._queries.by_id(site.id, comment_id)
        if comment is None or not all(map(eyes.see, [comment, *await self._queries.ancestors(comment)])):
            raise CommentNotFound
        if comment.status is Status.DELETED and comment.reply_count == 0:  # without replies not even its place is left
            raise CommentNotFound
        return comment

    async def _path_to(self, site: Site, page_id: PageId, comment_id: CommentId, eyes: Eyes) -> list[Comment]:
        """From the root down to a comment, if it and all above it can be seen."""
        comment = await self._seen(site, comment_id, eyes)
        path = [comment, *await self._queries.ancestors(comment)][::-1]
        if comment.page_id != page_id or path[0].parent_id is not None:
            raise CommentNotFound
        return path


class _Top:
    """A page's pins and the first roots of a window, asked for in the same round trip as the page itself."""

    def __init__(
        self,
        queries: CommentQueries,
        slice_: SliceLevels,
        site_id: SiteId,
        page_id: PageId,
        cursor: Cursor,
        most: int,
    ) -> None:
        self._queries = queries
        self._slice = slice_
        self._site_id, self._page_id, self._cursor, self._most = site_id, page_id, cursor, most
        self.pinned: list[tuple[CommentId, int]] = []
        self.roots: list[tuple[CommentId, str]] = []

    def put(self, pipe: Any) -> None:
        self._queries.put_pinned(pipe, self._site_id, self._page_id)
        self._slice.put(pipe, self._site_id, self._page_id, self._cursor, limit=self._most)

    async def got(self, answers: list[Any]) -> None:
        pinned, roots = answers
        self.pinned = pins(pinned)
        self.roots = await self._slice.got(roots, self._site_id, self._page_id, self._cursor, limit=self._most)


class Forest:
    """Trees that grow: nodes know their place, and each comment stands in it once."""

    def __init__(self, eyes: Eyes) -> None:
        self.nodes: dict[CommentId, TreeComment] = {}
        self.eyes = eyes
        self._roots: list[TreeComment] = []
        self._records: dict[CommentId, Comment] = {}
        self._looked_under: set[CommentId] = set()

    def add(self, parent_id: CommentId | None, comments: Iterable[Comment]) -> None:
        siblings = self._roots if parent_id is None else self.nodes[parent_id].r
        for comment in comments:
            if comment.id in self.nodes or not self.eyes.see(comment):
                continue
            self.nodes[comment.id] = node = TreeComment.of(comment)
            self._records[comment.id] = comment
            siblings.append(node)

    def open_nodes(self) -> list[CommentId]:
        """Those with replies that were not looked at yet."""
        found = [
            comment_id
            for comment_id, comment in self._records.items()
            if comment.reply_count and comment_id not in self._looked_under
        ]
        self._looked_under.update(found)
        return found

    def leave_out(self, comment_ids: Iterable[CommentId], start: Cursor) -> None:
        for comment_id in comment_ids:
            self.nodes[comment_id].rn = start.text

    def finished(self) -> list[TreeComment]:
        """The roots, without places that hold nothing this viewer sees, and with the number of what was left out."""
        for comment_id in reversed(list(self.nodes)):
            node, comment = self.nodes[comment_id], self._records[comment_id]
            node.r = [reply for reply in node.r if reply.i in self.nodes]
            if node.rn is not UNSET:
                node.rc = comment.reply_count
            elif comment.status is Status.DELETED and not node.r:
                del self.nodes[comment_id]
        return [root for root in self._roots if root.i in self.nodes]
