"""`/v1/moderation`, and reporting a comment. Contract 4.5."""

from typing import Annotated, Any

from litestar import Router, delete, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody, QueryParameter
from msgspec import Meta, Struct

from threadkit.comments.model import InvalidPath, TreeComment
from threadkit.http.parameters import as_id
from threadkit.ids import CommentId, PageId, UserId
from threadkit.moderation.decisions import Action, Outcome
from threadkit.moderation.log import LogEntry
from threadkit.moderation.queries import Wanted
from threadkit.moderation.reports import Details, ReportReason
from threadkit.pages.model import LONGEST_URL
from threadkit.services import Services
from threadkit.sites.model import Site
from threadkit.users.access import requires_moderator, requires_unblocked
from threadkit.users.model import UserPublic
from threadkit.users.viewer import Viewer

Offset = Annotated[int, QueryParameter(ge=0, le=1_000_000)]
Limit = Annotated[int, QueryParameter(ge=0)]
Path = Annotated[list[str], Meta(max_length=10_000)]
Reason = Annotated[str, Meta(max_length=500)]
MOST_AT_ONCE = 1000


class QueueItem(Struct, kw_only=True):
    page_id: PageId
    comment: TreeComment
    page_url: str
    reasons: list[str]
    reports: float


class Queue(Struct):
    items: list[QueueItem]
    total: int
    waiting: int


class ReportItem(Struct, kw_only=True):
    page_id: PageId
    comment_id: CommentId
    comment: TreeComment | None
    reporter: UserPublic | None
    reason: ReportReason
    details: str | None
    created_at: str


class Reports(Struct):
    items: list[ReportItem]
    total: int


class Decision(Struct, kw_only=True):
    """All optional: the id in the address decides."""

    page_id: str | None = None
    path: Path | None = None
    reason: Reason | None = None


class Done(Struct):
    undo: str


class Bulk(Struct):
    action: Action
    ids: Annotated[list[str], Meta(min_length=1, max_length=MOST_AT_ONCE)]
    reason: Reason | None = None


class Ban(Struct, kw_only=True):
    delete_comments: bool = False
    hours: Annotated[int, Meta(ge=1, le=24 * 3650)] | None = None
    reason: Reason | None = None


class Banned(Struct):
    comments_deleted: int


class Complaint(Struct, kw_only=True):
    reason: ReportReason = "other"
    details: Details | None = None
    page_url: Annotated[str, Meta(min_length=1, max_length=LONGEST_URL)] | None = None
    path: Path | None = None


class Log(Struct):
    entries: list[LogEntry]
    has_more: bool


@get("/queue", summary="What waits for a decision")
async def queue(
    site: NamedDependency[Site],
    services: NamedDependency[Services],
    offset: Offset = 0,
    limit: Limit = 50,
    page_id: Annotated[str | None, QueryParameter(max_length=36)] = None,
    author_id: Annotated[str | None, QueryParameter(max_length=36)] = None,
    reason: Annotated[str | None, QueryParameter(max_length=100)] = None,
) -> Queue:
    """Oldest first. `waiting` is the number of all, `total` that of this answer."""
    wanted = Wanted(
        as_id(PageId, page_id) if page_id else None, as_id(UserId, author_id) if author_id else None, reason
    )
    found = await services.queue.waiting(site.id, wanted, offset=offset, limit=min(limit, 100))
    listed = await services.comments.items(site, found)
    items = [
        QueueItem(
            page_id=comment.page_id,
            comment=TreeComment.of(comment),
            page_url=item.page_url,
            reasons=comment.held_for or [],
            reports=comment.report_weight or 0,
        )
        for comment, item in zip(found, listed, strict=True)
    ]
    return Queue(items, len(items), await services.queue.count(site.id))


@get("/reports", summary="What was reported")
async def reports(
    site: NamedDependency[Site], services: NamedDependency[Services], offset: Offset = 0, limit: Limit = 50
) -> Reports:
    """Oldest first, one for each person and comment."""
    found = await services.reports.waiting(site.id, offset=offset, limit=min(limit, 100))
    comments = {one.id: one for one in await services.comment_queries.by_ids(site.id, [r.comment_id for r in found])}
    people = {one.id: one for one in await services.user_queries.by_ids([r.reporter_id for r in found])}
    items = [
        ReportItem(
            page_id=report.page_id,
            comment_id=report.comment_id,
            comment=TreeComment.of(comments[report.comment_id]) if report.comment_id in comments else None,
            reporter=UserPublic.of(people[report.reporter_id]) if report.reporter_id in people else None,
            reason=report.reason,
            details=report.details,
            created_at=report.created_at,
        )
        for report in found
    ]
    return Reports(items, len(items))


@post("/approve/{comment_id:str}", status_code=200, opt={"may_be_empty": True}, summary="Show a comment")
async def approve(
    comment_id: FromPath[str],
    data: JSONBody[Decision],
    site: NamedDependency[Site],
    viewer: NamedDependency[Viewer],
    services: NamedDependency[Services],
) -> Done:
    return await _decide(services, site, comment_id, "approve", data, viewer)


@post("/reject/{comment_id:str}", status_code=200, opt={"may_be_empty": True}, summary="Turn a comment down")
async def reject(
    comment_id: FromPath[str],
    data: JSONBody[Decision],
    site: NamedDependency[Site],
    viewer: NamedDependency[Viewer],
    services: NamedDependency[Services],
) -> Done:
    """It is not shown any more, and neither is what hangs on it."""
    return await _decide(services, site, comment_id, "reject", data, viewer)


@post("/spam/{comment_id:str}", status_code=200, opt={"may_be_empty": True}, summary="Turn a comment down as spam")
async def spam(
    comment_id: FromPath[str],
    data: JSONBody[Decision],
    site: NamedDependency[Site],
    viewer: NamedDependency[Viewer],
    services: NamedDependency[Services],
) -> Done:
    """As rejecting; the filter learns from it."""
    return await _decide(services, site, comment_id, "spam", data, viewer)


@post("/bulk", status_code=200, summary="Decide about many comments at once")
async def bulk(
    data: JSONBody[Bulk],
    site: NamedDependency[Site],
    viewer: NamedDependency[Viewer],
    services: NamedDependency[Services],
) -> Outcome:
    """Up to 1,000. What cannot be done is said with its code and holds nobody up."""
    ids = [as_id(CommentId, one) for one in data.ids]
    return await services.decisions.decide_all(site, ids, data.action, by=viewer, reason=data.reason)


@post("/undo/{entry_id:str}", status_code=200, summary="Take a decision back")
async def undo(
    entry_id: FromPath[str],
    site: NamedDependency[Site],
    viewer: NamedDependency[Viewer],
    services: NamedDependency[Services],
) -> Done:
    """Within half a minute, while nobody has decided otherwise."""
    return Done((await services.decisions.undo(site, entry_id, by=viewer)).entry_id)


@post("/reports/{comment_id:str}/dismiss", status_code=200, summary="Close a comment's reports and leave it")
async def dismiss(
    comment_id: FromPath[str],
    site: NamedDependency[Site],
    viewer: NamedDependency[Viewer],
    services: NamedDependency[Services],
) -> dict[str, int]:
    return {"closed": await services.reports.dismiss(site, as_id(CommentId, comment_id), by=viewer)}


@post("/ban/{user_id:str}", status_code=200, opt={"may_be_empty": True}, summary="Ban somebody from the site")
async def ban(
    user_id: FromPath[str],
    data: JSONBody[Ban],
    site: NamedDependency[Site],
    viewer: NamedDependency[Viewer],
    services: NamedDependency[Services],
) -> Banned:
    """For some `hours`, or for ever. With `delete_comments` everything they wrote here goes too."""
    user = await services.users.existing(as_id(UserId, user_id))
    await services.people.ban(site, user.id, by=viewer, hours=data.hours, reason=data.reason)
    deleted = await services.people.delete_comments(site, user.id, by=viewer) if data.delete_comments else 0
    return Banned(deleted)


@post("/unban/{user_id:str}", status_code=200, summary="Lift a ban")
async def unban(
    user_id: FromPath[str],
    site: NamedDependency[Site],
    viewer: NamedDependency[Viewer],
    services: NamedDependency[Services],
) -> None:
    user = await services.users.existing(as_id(UserId, user_id))
    await services.people.unban(site, user.id, by=viewer)


@post("/shadowban/{user_id:str}", status_code=200, summary="Let only themselves see what somebody writes")
async def shadowban(
    user_id: FromPath[str],
    site: NamedDependency[Site],
    viewer: NamedDependency[Viewer],
    services: NamedDependency[Services],
) -> None:
    user = await services.users.existing(as_id(UserId, user_id))
    await services.people.shadowban(site, user.id, by=viewer, is_on=True)


@delete("/shadowban/{user_id:str}", status_code=200, summary="Lift a shadow ban")
async def unshadowban(
    user_id: FromPath[str],
    site: NamedDependency[Site],
    viewer: NamedDependency[Viewer],
    services: NamedDependency[Services],
) -> None:
    user = await services.users.existing(as_id(UserId, user_id))
    await services.people.shadowban(site, user.id, by=viewer, is_on=False)


@get("/log", summary="Who did what to whom")
async def log(
    site: NamedDependency[Site],
    services: NamedDependency[Services],
    limit: Annotated[int, QueryParameter(ge=1, le=200)] = 50,
    before: Annotated[str | None, QueryParameter(max_length=50)] = None,
) -> Log:
    """Newest first; `before` is the id of the last entry one has."""
    found = await services.moderation_log.newest(site.id, before=before, limit=limit + 1)
    return Log(found[:limit], len(found) > limit)


@post("/users/{user_id:str}/ban", status_code=200, guards=[requires_moderator], include_in_schema=False)
async def ban_alias(
    user_id: FromPath[str],
    site: NamedDependency[Site],
    viewer: NamedDependency[Viewer],
    services: NamedDependency[Services],
) -> Banned:
    """What the stock clients' ban button sends."""
    user = await services.users.existing(as_id(UserId, user_id))
    await services.people.ban(site, user.id, by=viewer, hours=None, reason=None)
    return Banned(0)


@post(
    "/comments/{comment_id:str}/report",
    status_code=204,
    opt={"may_be_empty": True},
    guards=[requires_unblocked],
    summary="Report a comment",
)
async def report(
    comment_id: FromPath[str],
    data: JSONBody[Complaint],
    site: NamedDependency[Site],
    viewer: NamedDependency[Viewer],
    services: NamedDependency[Services],
) -> None:
    target = as_id(CommentId, comment_id)
    if data.path is not None and (not data.path or data.path[-1] != target):
        raise InvalidPath
    await services.comments.check_place(site, target, data.page_url)
    await services.reports.report(site, target, by=viewer, reason=data.reason, details=data.details)


async def _decide(
    services: Services, site: Site, comment_id: str, action: Action, data: Decision, viewer: Viewer
) -> Done:
    target = as_id(CommentId, comment_id)
    if data.path is not None and (not data.path or data.path[-1] != target):
        raise InvalidPath
    return Done((await services.decisions.decide(site, target, action, by=viewer, reason=data.reason)).entry_id)


_HANDLERS: list[Any] = [
    queue,
    reports,
    approve,
    reject,
    spam,
    bulk,
    undo,
    dismiss,
    ban,
    unban,
    shadowban,
    unshadowban,
    log,
]
router = Router(
    "/",
    route_handlers=[Router("/moderation", route_handlers=_HANDLERS, guards=[requires_moderator]), report, ban_alias],
    tags=["Moderation"],
)
