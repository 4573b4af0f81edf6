"""What moderators see of one person: who they are, how they stand here, what they wrote, what was done, what was noted."""

from collections.abc import Sequence

from msgspec import Struct

from threadkit.clock import Clock, from_iso, iso
from threadkit.comments.model import Status, TreeComment
from threadkit.comments.queries import CommentQueries
from threadkit.comments.service import CommentService
from threadkit.ids import CommentId, PageId, SiteId, UserId
from threadkit.moderation.log import LogEntry, ModerationLog
from threadkit.moderation.notes import NoteService
from threadkit.moderation.people_model import Mark, Note, Standing
from threadkit.moderation.standing import StandingQueries
from threadkit.sites.model import Site
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.users.model import User, UserPublic
from threadkit.users.queries import UserQueries
from threadkit.users.viewer import Viewer

NEWEST_COMMENTS = 10
NEWEST_ENTRIES = 20
MOST_COUNTED = 1000
LATELY_DAYS = 30


class BanView(Struct, kw_only=True):
    """`by` is null when it was done on the server itself; all but `until` are null for a ban of before they were kept."""

    until: str | None = None
    reason: str | None = None
    by: UserId | None = None
    since: str | None = None

    @classmethod
    def of(cls, mark: Mark | None, until_ms: int | None = None) -> "BanView":
        until = iso(until_ms) if until_ms else None
        if mark is None:
            return cls(until=until)
        return cls(until=until, reason=mark.reason, by=mark.by, since=iso(mark.at_ms))


class Lately(Struct, kw_only=True):
    """What became of what somebody wrote in the last days, among their newest thousand comments."""

    days: int = LATELY_DAYS
    pending: int = 0
    approved: int = 0
    rejected: int = 0
    removed: int = 0


class Counts(Struct, kw_only=True):
    comments: int
    """Ever written here."""
    approved: int
    rejected: int
    """Ever decided so by moderators."""
    lately: Lately
    reports_against: int
    """Open, against their newest thousand comments."""
    reports_upheld: int
    reports_dismissed: int
    """Of the newest hundred reports of theirs that were closed."""


class CardComment(Struct, kw_only=True):
    page_id: PageId
    page_url: str
    status: Status
    flags: list[str]
    """What an outside check noted about it."""
    comment: TreeComment
    updated_at: str


class NoteView(Struct, kw_only=True):
    id: str
    text: str
    created_at: str
    by: UserId
    by_name: str | None

    @classmethod
    def of(cls, note: Note, name: str | None) -> "NoteView":
        return cls(id=note.id, text=note.text, created_at=iso(note.at_ms), by=note.by, by_name=name)


class Card(Struct, kw_only=True):
    user: UserPublic
    is_guest: bool
    role: str
    ban: BanView | None
    shadow_ban: BanView | None
    banned_everywhere: bool
    shadow_banned_everywhere: bool
    counts: Counts
    comments: list[CardComment]
    log: list[LogEntry]
    notes: list[NoteView] | None
    """For those only who stand above the person; null for others."""


class CardQueries:
    def __init__(
        self,
        *,
        redis: Commands,
        keys: Keys,
        clock: Clock,
        standing: StandingQueries,
        comment_queries: CommentQueries,
        comments: CommentService,
        user_queries: UserQueries,
        log: ModerationLog,
        notes: NoteService,
    ) -> None:
        self._redis = redis
        self._keys = keys
        self._clock = clock
        self._standing = standing
        self._comment_queries = comment_queries
        self._comments = comments
        self._user_queries = user_queries
        self._log = log
        self._notes = notes

    async def of(self, site: Site, user: User, *, viewer: Viewer | None) -> Card:
        """`viewer` nobody is whoever runs the server."""
        standing = await self._standing.of(site.id, user.id)
        ids = await self._comment_queries.ids_by_author(site.id, user.id, offset=0, limit=MOST_COUNTED)
        may_read_notes = viewer is None or standing.role < viewer.role
        return Card(
            user=UserPublic.of(user),
            is_guest=user.is_guest,
            role=standing.role.label,
            ban=_ban(standing),
            shadow_ban=BanView.of(standing.shadow) if standing.is_shadowed else None,
            banned_everywhere=user.global_banned,
            shadow_banned_everywhere=user.shadow_banned,
            counts=await self._counts(site.id, user.id, ids),
            comments=await self._newest(site, ids[:NEWEST_COMMENTS]),
            log=await self._log.about(site.id, user.id, limit=NEWEST_ENTRIES),
            notes=await self.notes(site.id, user.id) if may_read_notes else None,
        )

    async def notes(self, site_id: SiteId, user_id: UserId) -> list[NoteView]:
        """Newest first."""
        found = await self._notes.about(site_id, user_id)
        authors = await self._user_queries.by_ids({note.by for note in found}) if found else []
        names = {author.id: author.name for author in authors}
        return [NoteView.of(note, names.get(note.by)) for note in found]

    async def _newest(self, site: Site, ids: Sequence[CommentId]) -> list[CardComment]:
        found = await self._comment_queries.by_ids(site.id, ids)
        listed = await self._comments.items(site, found)
        return [
            CardComment(
                page_id=comment.page_id,
                page_url=item.page_url,
                status=comment.status,
                flags=comment.flags or [],
                comment=TreeComment.of(comment),
                updated_at=comment.updated_at,
            )
            for comment, item in zip(found, listed, strict=True)
        ]

    async def _counts(self, site_id: SiteId, user_id: UserId, ids: Sequence[CommentId]) -> Counts:
        keys = self._keys.site(site_id)
        async with self._redis.pipeline(transaction=False) as pipe:
            pipe.zcard(keys.comments_of(user_id))
            pipe.hmget(keys.author_decisions(user_id), "approved", "rejected")
            pipe.zrange(keys.reporter(user_id), 0, -1)
            for comment_id in ids:
                pipe.hmget(keys.comment(comment_id), "status", "created_at")
                pipe.hlen(keys.comment_reports(comment_id))
            comments, (approved, rejected), reported, *written = await pipe.execute()
        since_ms = self._clock.now_ms() - LATELY_DAYS * 86_400_000
        lately = [
            status for status, created_at in written[::2] if created_at is not None and from_iso(created_at) >= since_ms
        ]
        return Counts(
            comments=comments,
            approved=int(approved or 0),
            rejected=int(rejected or 0),
            lately=Lately(
                pending=lately.count(Status.PENDING),
                approved=lately.count(Status.APPROVED),
                rejected=lately.count(Status.REJECTED),
                removed=lately.count(Status.DELETED),
            ),
            reports_against=sum(written[1::2]),
            reports_upheld=sum(member.endswith(" upheld") for member in reported),
            reports_dismissed=sum(member.endswith(" dismissed") for member in reported),
        )


def _ban(standing: Standing) -> BanView | None:
    return BanView.of(standing.ban, standing.until_ms) if standing.is_banned else None
