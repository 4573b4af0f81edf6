"""What can be done with comments: verbs that read as a story."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from threadkit import scoring, text
from threadkit.clock import Clock, from_iso, iso
from threadkit.comments.model import (
    ApprovedAlready,
    Comment,
    CommentChanged,
    CommentDraft,
    CommentItem,
    CommentNotFound,
    CommentTooComplex,
    CommentTooLong,
    EditWindowOver,
    EmptyComment,
    NotAuthorised,
    NotYourComment,
    Objections,
    ParentNotFound,
    PostingDisabled,
    Status,
    VerificationRequired,
    Visit,
    deleted_fields,
)
from threadkit.comments.queries import CommentQueries
from threadkit.comments.scripts import (
    ClockAhead,
    DeleteComment,
    EditComment,
    Listing,
    PageMoved,
    PostComment,
    TogglePin,
)
from threadkit.comments.snapshots import Snapshots
from threadkit.comments.tree import DEEPEST, is_visible, may_know_of
from threadkit.ids import CommentId, PageId, SiteId, UserId, new_uuid
from threadkit.pages.model import Page, PageNotFound, PageRef
from threadkit.pages.queries import MOST_MOVES, PageQueries
from threadkit.pages.service import PageService
from threadkit.ratelimit.quotas import Quotas, of_user
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
MOST_TRIES = 5


class PinState(Struct):
    pinned: bool
    pinned_at: int | None


class _Text(Struct):
    """A text made fit to be stored and shown."""

    source: str
    html: str
    mentions: list[UserId]


class Gate(Protocol):
    """What stands between a text and the page."""

    async def let_in(self, site: Site, author: Viewer | None, visit: Visit) -> None: ...

    async def judge(
        self, site: Site, comment: Comment, *, author: Viewer | None, visit: Visit
    ) -> Objections | None: ...

    async def hold_edit(self, site: Site, before: Comment, after: Comment, objections: Objections) -> None: ...

    async def delete(self, site: Site, comment: Comment, *, by: Viewer, seen: str | None) -> str: ...

    async def remember(
        self, site: Site, comment: Comment, *, author: Viewer | None, visit: Visit, as_id: CommentId
    ) -> None: ...


class Journal(Protocol):
    """Remembers outside the store what its author deleted, for the day an older backup is put back."""

    async def note_comment(self, site_id: SiteId, comment_id: CommentId) -> None: ...


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
        page_queries: PageQueries,
        snapshots: Snapshots,
        pages: PageService,
        gate: Gate,
        quotas: Quotas,
        journal: Journal,
        on_posted: Callable[[SiteId], None],
        on_changed: Callable[[SiteId], None],
    ) -> None:
        self._clock = clock
        self._settings = settings
        self._queries = queries
        self._user_queries = user_queries
        self._page_queries = page_queries
        self._snapshots = snapshots
        self._pages = pages
        self._gate = gate
        self._quotas = quotas
        self._journal = journal
        self._on_posted = on_posted
        self._on_changed = on_changed
        self._post_comment = PostComment(redis, keys)
        self._edit_comment = EditComment(redis, keys)
        self._delete_comment = DeleteComment(redis, keys)
        self._toggle_pin = TogglePin(redis, keys)

    async def post(
        self,
        site: Site,
        draft: CommentDraft,
        *,
        author: Viewer | None,
        request_key: str | None,
        visit: Visit | None = None,
    ) -> Comment:
        if request_key and (made_before := await self._queries.made_before(site.id, request_key)):
            return await self._existing(site, made_before)
        if site.settings.posting_disabled:
            raise PostingDisabled
        if site.settings.require_verification and (author is None or not author.user.is_verified):
            raise VerificationRequired
        page_id = await self._page_queries.id_of(site, PageRef(draft.page_url, draft.page_id))
        await self._page_queries.check_open(site.id, page_id)
        visit = visit or Visit()
        await self._gate.let_in(site, author, visit)
        body = await self._prepare(draft.content)
        parent = await self._parent_of(site, draft)
        comment = self._new_comment(site, page_id, draft, body, author, parent)
        async with self._place(author, visit):
            if objections := await self._gate.judge(site, comment, author=author, visit=visit):
                comment = replace(comment, status=Status.PENDING, is_unposted=True, **objections.fields)
            elif objections is not None:
                comment = replace(comment, **objections.fields)
            written = await self._write(site, comment, draft.title, request_key)
        await self._gate.remember(site, written, author=author, visit=visit, as_id=written.id)
        return written

    def _place(self, author: Viewer | None, visit: Visit) -> AbstractAsyncContextManager[None]:
        """Room for one more comment of this author. Guests are counted by their address, since names are free;
        whoever moderates may be as quick as they like."""
        is_guest = author is None or author.user.provider == "anonymous"
        pace = None if author and author.role >= Role.MODERATOR else self._quotas.post_pace(is_guest=is_guest)
        who = self._quotas.client(visit.client, visit.user_agent) if is_guest or author is None else of_user(author.id)
        return self._quotas.reserved("comments", who, pace=pace)

    async def _write(self, site: Site, comment: Comment, title: str | None, request_key: str | None) -> Comment:
        """Write a comment where its page is now; the answer may be one that an earlier try has written."""
        if _listing(comment) != "listed":
            comment = replace(comment, page_title=title)
        for _ in range(MOST_MOVES):
            try:
                written = await self._post_comment(
                    comment,
                    Page(site_id=site.id, url=comment.page_url, title=title),
                    listing=_listing(comment),
                    hot=scoring.as_text(scoring.hot(site.settings.hot, 0, 0, comment.created_ms)),
                    event=posted_event(comment),
                    request_key=request_key,
                )
            except PageMoved as moved:
                comment = replace(comment, page_id=moved.page_id)
            except ClockAhead as ahead:
                now = iso(ahead.store_ms)
                comment = replace(comment, created_at=now, updated_at=now)
            except ParentNotFound:
                if not await self._bring_parent(site, comment):
                    raise
            else:
                self._snapshots.outdate(comment.page_id)
                if written != comment.id:
                    return await self._existing(site, written)
                if not comment.is_shadowed:
                    self._on_posted(site.id)
                return comment
        raise PageNotFound

    async def _bring_parent(self, site: Site, comment: Comment) -> bool:
        """Whether what it answers was on its way to this page, and is here now."""
        parent = await self._queries.by_id(site.id, comment.parent_id) if comment.parent_id else None
        return parent is not None and await self._pages.bring(site.id, parent)

    async def edit(
        self, site: Site, comment_id: CommentId, content: str, *, editor: Viewer, visit: Visit | None = None
    ) -> Comment:
        """Whatever else happens to the comment meanwhile, its author's text is written over the one it was judged with,
        and only into the status that the text was judged for."""
        comment = await self._editable(site, comment_id, editor)
        body = await self._prepare(content)
        visit = visit or Visit()
        objections = await self._gate.judge(site, self._edited(comment, body), author=editor, visit=visit)
        for _ in range(MOST_TRIES):
            try:
                edited = await self._rewrite(site, comment, self._edited(comment, body), objections)
            except CommentChanged:
                before, comment = comment, await self._editable(site, comment_id, editor)
                if comment.updated_at != before.updated_at:
                    raise
            else:
                self._snapshots.drop(comment.page_id)
                await self._gate.remember(site, edited, author=editor, visit=visit, as_id=edited.id)
                return (await self._queries.as_voted([edited], editor))[0]
        raise CommentChanged

    async def _editable(self, site: Site, comment_id: CommentId, editor: Viewer) -> Comment:
        comment = await self._existing(site, comment_id)
        if comment.author_id != editor.id:
            raise NotYourComment if may_know_of(comment, editor) else CommentNotFound
        if site.settings.posting_disabled:
            raise PostingDisabled
        await self._page_queries.check_open(site.id, comment.page_id)
        is_approved = comment.status is Status.APPROVED
        if site.settings.moderation_mode == "pre" and is_approved and not _is_trusted(site, editor):
            raise ApprovedAlready
        if self._clock.now_ms() - comment.created_ms > site.settings.edit_window_minutes * 60_000:
            raise EditWindowOver
        return comment

    def _edited(self, comment: Comment, body: _Text) -> Comment:
        # Every text has a time of its own, because that is how moderators say which one they have seen.
        updated_ms = max(self._clock.now_ms(), from_iso(comment.updated_at) + 1)
        return replace(
            comment,
            content=body.source,
            content_html=body.html,
            mentions=body.mentions or None,
            render_version=text.RENDER_VERSION,
            edited=True,
            updated_at=iso(updated_ms),
        )

    async def _rewrite(self, site: Site, before: Comment, after: Comment, objections: Objections | None) -> Comment:
        """Write an edited text, and hide it with the same stroke where it must wait. What was said of the text before is
        said of this one too, until a moderator has looked."""
        if objections is not None:
            after = replace(after, **objections.beside(before).fields)
        if objections and before.status is Status.APPROVED:
            after = replace(after, status=Status.PENDING, decided_by=None)
            await self._gate.hold_edit(site, before, after, objections)
            return after
        await self._edit_comment(before, after, now_ms=self._clock.now_ms())
        return after

    async def delete(self, site: Site, comment_id: CommentId, *, by: Viewer, seen: str | None = None) -> str | None:
        """What authors delete is gone at once. A moderator's deletion can be undone for a while, under this id; it is
        refused when they say which text they have `seen` and that is another by now."""
        comment = await self._existing(site, comment_id)
        if comment.author_id != by.id:
            if by.role < Role.MODERATOR:
                raise NotAuthorised if may_know_of(comment, by) else CommentNotFound
            return await self._gate.delete(site, comment, by=by, seen=seen)
        if not await self._delete(comment, by=by.id):
            raise CommentNotFound
        self._on_changed(site.id)
        await self._journal.note_comment(site.id, comment.id)
        return None

    async def _delete(self, comment: Comment, *, by: UserId) -> bool:
        for _ in range(MOST_TRIES):
            ancestors = await self._queries.ancestors(comment)
            now_ms = self._clock.now_ms()
            try:
                gone = await self._delete_comment(comment, ancestors, fields=deleted_fields(), by=by, now_ms=now_ms)
            except CommentChanged:  # its page moved, or is being merged
                await self._pages.bring(comment.site_id, comment)
                comment = await self._queries.by_id(comment.site_id, comment.id) or comment
            else:
                self._snapshots.drop(comment.page_id)
                return gone is not None
        raise CommentChanged

    async def delete_again(self, site_id: SiteId, comment_id: CommentId) -> bool:
        """In a restored store: what its author deleted after the backup was made. Whether there was something to do."""
        comment = await self._queries.by_id(site_id, comment_id)
        return comment is not None and await self._delete(comment, by=comment.author_id)

    async def pin(self, site: Site, comment_id: CommentId, *, by: UserId, seen: str | None = None) -> PinState:
        comment = await self._existing(site, comment_id)
        now_ms = self._clock.now_ms()
        pinned = await self._toggle_pin(site.id, comment.page_id, comment.id, now_ms=now_ms, by=by, seen=seen)
        self._snapshots.outdate(comment.page_id)
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
        page = await self._queries.as_voted(shown[offset : offset + limit], viewer)
        return await self.items(site, page, are_own=is_own), len(shown) > offset + limit

    async def items(
        self, site: Site, comments: list[Comment], *, are_own: bool = False, are_for_staff: bool = False
    ) -> list[CommentItem]:
        """For lists over pages: with the address a page has now, which may not be the one it was written at."""
        urls = await self._page_queries.urls(site.id, sorted({comment.page_id for comment in comments}))
        return [
            CommentItem.of(
                comment, urls.get(comment.page_id) or comment.page_url, is_own=are_own, is_for_staff=are_for_staff
            )
            for comment in comments
        ]

    async def votes_on_page(self, site: Site, ref: PageRef, viewer: Viewer) -> dict[str, str]:
        (page_id,) = await self._page_queries.moved(site.id, [await self._page_queries.id_of(site, ref)])
        return await self._queries.votes_on_page(site.id, viewer.id, page_id)

    async def preview(self, content: str) -> str:
        return (await self._prepare(content)).html

    async def check_place(self, site: Site, comment_id: CommentId, page: PageRef | None) -> None:
        """A call that names a page must name the comment's."""
        if page is None:
            return
        comment = await self._queries.place(site.id, comment_id)
        await self._page_queries.check_place(site, comment.page_id if comment else None, page)
        if comment is None:
            raise CommentNotFound

    async def _existing(self, site: Site, comment_id: CommentId) -> Comment:
        comment = await self._queries.by_id(site.id, comment_id)
        if comment is None or comment.is_gone:
            raise CommentNotFound
        return comment

    async def _parent_of(self, site: Site, draft: CommentDraft) -> Comment | None:
        """What a reply answers."""
        if not draft.parent_path:
            return None
        parent = await self._queries.by_id(site.id, CommentId(draft.parent_path[-1]))
        if parent is None:
            raise ParentNotFound
        # Where the reply will hang beside it, writing it does not look at this one.
        if parent.depth >= DEEPEST and (parent.status is not Status.APPROVED or parent.is_shadowed or parent.buried):
            raise ParentNotFound
        return parent

    async def _prepare(self, content: str) -> _Text:
        """Tidy, measure, resolve names, render."""
        limit = self._settings.max_comment_length
        if len(content) > limit:
            raise CommentTooLong(limit=limit)
        source = text.clean_source(content)
        if not source:
            raise EmptyComment
        try:
            names = await text.aside(source, lambda: text.find_mentions(source)) if "@" in source else []
            found = {name: user.id for name in names if (user := await self._user_queries.by_name(name))}
            rendered = await text.aside(source, lambda: text.render(source, mentions=found))
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
        parent: Comment | None,
    ) -> Comment:
        is_deepest = parent is not None and parent.depth >= DEEPEST
        now = iso(self._clock.now_ms())
        is_held = site.settings.moderation_mode == "pre" and not _is_trusted(site, author)
        return Comment(
            id=CommentId(new_uuid()),
            site_id=site.id,
            page_id=page_id,
            page_url=self._pages.address(site, draft.page_url or ""),
            author_id=author.id if author else ANONYMOUS_USER,
            author_name=author.user.name if author else " ".join((draft.author_name or "").split()),
            author_avatar=author.user.avatar_url if author else None,
            author_karma=author.user.karma if author else 0,
            parent_id=(parent.parent_id if is_deepest else parent.id) if parent else None,
            answers=parent.id if parent and is_deepest else None,
            content=body.source,
            content_html=body.html,
            mentions=body.mentions or None,
            render_version=text.RENDER_VERSION,
            status=Status.PENDING if is_held else Status.APPROVED,
            is_shadowed=True if author and author.is_shadowed else None,
            is_unposted=True if is_held or (author and author.is_shadowed) else None,
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


def posted_event(comment: Comment, *, at_ms: int | None = None) -> bytes:
    """`at_ms` is when it is shown, where that is later than it was written."""
    event = {"type": "comment_posted", "user_id": comment.author_id, "comment_id": comment.id}
    return msgspec.json.encode(event | ({"at_ms": at_ms} if at_ms else {}))
