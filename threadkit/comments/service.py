"""What can be done with comments: verbs that read as a story."""

import asyncio

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from threadkit import scoring, text
from threadkit.clock import Clock, iso
from threadkit.comments.model import (
    ApprovedAlready,
    Comment,
    CommentDraft,
    CommentItem,
    CommentNotFound,
    CommentTooComplex,
    CommentTooLong,
    EditWindowOver,
    EmptyComment,
    NotAuthorised,
    NotYourComment,
    Page,
    PageNotFound,
    PageTree,
    ParentNotFound,
    PostingDisabled,
    Sort,
    Status,
    Thread,
    VerificationRequired,
    deleted_fields,
    normal_url,
    page_id_of,
)
from threadkit.comments.queries import CommentQueries
from threadkit.comments.scripts import DeleteComment, EditComment, Listing, PostComment, TogglePin
from threadkit.comments.snapshots import Snapshot, Snapshots
from threadkit.comments.tree import DEEPEST, build_tree, is_visible
from threadkit.ids import CommentId, PageId, UserId, new_uuid
from threadkit.settings import Settings
from threadkit.sites.model import Site
from threadkit.sites.roles import Role
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.users.model import ANONYMOUS_USER
from threadkit.users.queries import UserQueries
from threadkit.users.viewer import Viewer

MOST_LISTED = 10_000
LIST_BATCH = 200


class PinState(Struct):
    pinned: bool
    pinned_at: int | None


class _Text(Struct):
    """A text made fit to be stored and shown."""

    source: str
    html: str
    mentions: list[UserId]


class CommentService:
    def __init__(
        self,
        *,
        redis: Commands,
        keys: Keys,
        clock: Clock,
        settings: Settings,
        queries: CommentQueries,
        user_queries: UserQueries,
        snapshots: Snapshots,
    ) -> None:
        self._clock = clock
        self._settings = settings
        self._queries = queries
        self._user_queries = user_queries
        self._snapshots = snapshots
        self._post_comment = PostComment(redis, keys)
        self._edit_comment = EditComment(redis, keys)
        self._delete_comment = DeleteComment(redis, keys)
        self._toggle_pin = TogglePin(redis, keys)

    async def thread(self, site: Site, page_url: str, sort: Sort, viewer: Viewer | None) -> Thread:
        """A page's comments as this viewer sees them. A page nobody wrote on is empty, not missing."""
        page_id = self.page_id(site, page_url)
        page = await self._queries.page(site.id, page_id) or Page(site_id=site.id, url=page_url)
        blocked = frozenset(await self._user_queries.blocked_by(viewer.id)) if viewer else frozenset[UserId]()
        comments = await self._queries.page_comments(
            site.id, page_id, viewer_id=viewer.id if viewer else None, most=self._settings.tree_limit
        )
        roots, total = build_tree(
            comments,
            sort=sort,
            formula=site.settings.hot,
            viewer_id=viewer.id if viewer else None,
            blocked=blocked,
        )
        pinned = await self._queries.pinned(site.id, page_id)
        thread = Thread(page_id=page_id, tree=PageTree(roots, page.updated_ms // 1000), total=total)
        if pinned:
            thread.pinned = pinned
        return thread

    async def snapshot(self, site: Site, page_url: str, sort: Sort) -> Snapshot:
        """What everybody may see of a page, encoded."""
        page_id = self.page_id(site, page_url)

        async def page() -> Page:
            return await self._queries.page(site.id, page_id) or Page(site_id=site.id, url=page_url)

        return await self._snapshots.get(
            (site.id, site.version, page_id, sort), page=page, thread=lambda: self.thread(site, page_url, sort, None)
        )

    async def has_own_view(self, site: Site, page_url: str, viewer: Viewer) -> bool:
        """Whether somebody sees a page otherwise than everybody does."""
        return await self._queries.has_own_view(site.id, self.page_id(site, page_url), viewer.id)

    async def post(self, site: Site, draft: CommentDraft, *, author: Viewer | None, request_key: str | None) -> Comment:
        if site.settings.posting_disabled:
            raise PostingDisabled
        if site.settings.require_verification and (author is None or not author.user.is_verified):
            raise VerificationRequired
        page_id = self.page_id(site, draft.page_url)
        body = await self._prepare(draft.content)
        parent_id = await self._parent_of(site, draft)
        comment = self._new_comment(site, page_id, draft, body, author, parent_id)
        written = await self._post_comment(
            comment,
            Page(site_id=site.id, url=comment.page_url, title=draft.title),
            listing=_listing(comment),
            hot=scoring.as_text(scoring.hot(site.settings.hot, 0, 0, comment.created_ms)),
            event=_posted_event(comment),
            request_key=request_key,
        )
        self._snapshots.drop(page_id)
        # Read back what was written: its depth is decided by the script, and it may be that of an earlier try.
        return await self._existing(site, written)

    async def edit(self, site: Site, comment_id: CommentId, content: str, *, editor: Viewer) -> Comment:
        comment = await self._existing(site, comment_id)
        if comment.author_id != editor.id:
            raise NotYourComment
        if site.settings.posting_disabled:
            raise PostingDisabled
        now_ms = self._clock.now_ms()
        if (
            site.settings.moderation_mode == "pre"
            and comment.status is Status.APPROVED
            and editor.role < Role.MODERATOR
        ):
            raise ApprovedAlready
        if now_ms - comment.created_ms > site.settings.edit_window_minutes * 60_000:
            raise EditWindowOver
        body = await self._prepare(content)
        edited = replace(
            comment,
            content=body.source,
            content_html=body.html,
            mentions=body.mentions or None,
            render_version=text.RENDER_VERSION,
            edited=True,
            updated_at=iso(now_ms),
        )
        await self._edit_comment(comment, edited, now_ms=now_ms)
        self._snapshots.drop(comment.page_id)
        return edited

    async def delete(self, site: Site, comment_id: CommentId, *, by: Viewer) -> None:
        comment = await self._existing(site, comment_id)
        if comment.author_id != by.id and by.role < Role.MODERATOR:
            raise NotAuthorised
        ancestors = await self._queries.ancestors(comment)
        now_ms = self._clock.now_ms()
        if not await self._delete_comment(comment, ancestors, fields=deleted_fields(), now_ms=now_ms):
            raise CommentNotFound
        self._snapshots.drop(comment.page_id)

    async def pin(self, site: Site, comment_id: CommentId) -> PinState:
        comment = await self._existing(site, comment_id)
        now_ms = self._clock.now_ms()
        pinned = await self._toggle_pin(site.id, comment.page_id, comment.id, now_ms=now_ms)
        self._snapshots.drop(comment.page_id)
        return PinState(pinned, now_ms if pinned else None)

    async def by_author(
        self, site: Site, author_id: UserId, *, offset: int, limit: int, viewer: Viewer | None
    ) -> tuple[list[CommentItem], bool]:
        """Newest first: one's own in every status, another's only where they can be seen."""
        is_own = viewer is not None and viewer.id == author_id
        # Counted over what this viewer may see, so that a gap never betrays what is hidden.
        shown: list[Comment] = []
        start = 0
        while len(shown) <= offset + limit and start < MOST_LISTED:
            ids = await self._queries.ids_by_author(site.id, author_id, offset=start, limit=LIST_BATCH)
            if not ids:
                break
            start += LIST_BATCH
            shown += [
                comment
                for comment in await self._queries.by_ids(site.id, ids)
                if comment.author_id == author_id
                and (is_own or (comment.status is Status.APPROVED and is_visible(comment, None, frozenset())))
            ]
        page = shown[offset : offset + limit]
        items = [CommentItem.of(comment) for comment in page]
        return items, len(shown) > offset + limit

    async def votes_on_page(self, site: Site, page_url: str, viewer: Viewer) -> dict[str, str]:
        return await self._queries.votes_on_page(site.id, viewer.id, self.page_id(site, page_url))

    async def counts(self, site: Site, urls: list[str]) -> dict[str, int]:
        found = await self._queries.counts(site.id, [self.page_id(site, url) for url in urls])
        return dict(zip(urls, found, strict=True))

    async def preview(self, content: str) -> str:
        return (await self._prepare(content)).html

    async def check_place(self, site: Site, comment_id: CommentId, page_url: str | None) -> None:
        """A call that names a page must name the comment's."""
        if page_url is None:
            return
        page_id = self.page_id(site, page_url)
        comment = await self._queries.by_id(site.id, comment_id)
        if comment is not None and comment.page_id == page_id:
            return
        if await self._queries.page(site.id, page_id) is None:
            raise PageNotFound
        raise CommentNotFound

    def page_id(self, site: Site, page_url: str) -> PageId:
        return page_id_of(site.id, self._normal_url(site, page_url))

    def _normal_url(self, site: Site, page_url: str) -> str:
        return normal_url(page_url, drop_tracking=site.settings.drop_tracking_parameters)

    async def _existing(self, site: Site, comment_id: CommentId) -> Comment:
        comment = await self._queries.by_id(site.id, comment_id)
        if comment is None or comment.status is Status.DELETED:
            raise CommentNotFound
        return comment

    async def _parent_of(self, site: Site, draft: CommentDraft) -> CommentId | None:
        """Where a reply hangs: on what it answers, or beside it where the thread is as deep as threads get."""
        if not draft.parent_path:
            return None
        parent = await self._queries.by_id(site.id, CommentId(draft.parent_path[-1]))
        if parent is None:
            raise ParentNotFound
        return parent.parent_id if parent.depth >= DEEPEST else parent.id

    async def _prepare(self, content: str) -> _Text:
        """Tidy, measure, resolve names, render: off the event loop, because it can take a while."""
        limit = self._settings.max_comment_length
        if len(content) > limit:
            raise CommentTooLong(limit=limit)
        source = text.clean_source(content)
        if not source:
            raise EmptyComment
        try:
            names = await asyncio.to_thread(text.find_mentions, source) if "@" in source else []
            found = {name: user.id for name in names if (user := await self._user_queries.by_name(name))}
            rendered = await asyncio.to_thread(text.render, source, mentions=found)
        except text.TooComplex:
            raise CommentTooComplex from None
        return _Text(source, rendered.html, list(found.values()))

    def _new_comment(
        self,
        site: Site,
        page_id: PageId,
        draft: CommentDraft,
        body: _Text,
        author: Viewer | None,
        parent_id: CommentId | None,
    ) -> Comment:
        now = iso(self._clock.now_ms())
        is_held = site.settings.moderation_mode == "pre" and not _is_trusted(site, author)
        return Comment(
            id=CommentId(new_uuid()),
            site_id=site.id,
            page_id=page_id,
            page_url=self._normal_url(site, draft.page_url),
            author_id=author.id if author else ANONYMOUS_USER,
            author_name=author.user.name if author else " ".join((draft.author_name or "").split()),
            author_avatar=author.user.avatar_url if author else None,
            author_karma=author.user.karma if author else 0,
            parent_id=parent_id,
            content=body.source,
            content_html=body.html,
            mentions=body.mentions or None,
            render_version=text.RENDER_VERSION,
            status=Status.PENDING if is_held else Status.APPROVED,
            is_shadowed=True if author and author.is_shadowed else None,
            created_at=now,
            updated_at=now,
        )


def _is_trusted(site: Site, author: Viewer | None) -> bool:
    """Whose comments appear at once on a site where others' wait."""
    if author is None:
        return False
    return author.role >= Role.MODERATOR or (site.settings.auto_approve_verified and author.user.is_verified)


def _listing(comment: Comment) -> Listing:
    if comment.is_shadowed:
        return "shadowed"
    return "held" if comment.status is Status.PENDING else "listed"


def _posted_event(comment: Comment) -> bytes:
    return msgspec.json.encode({"type": "comment_posted", "user_id": comment.author_id, "comment_id": comment.id})
