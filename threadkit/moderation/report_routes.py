"""Reporting a comment, and what moderators do with reports. Contract 4.5."""

from typing import Annotated

from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody, QueryParameter
from msgspec import UNSET, Meta, Struct, UnsetType

from threadkit.comments.model import TreeComment
from threadkit.comments.routes import Place, target_of
from threadkit.http.parameters import as_id
from threadkit.http.routing import Router, get, post
from threadkit.ids import CommentId, PageId
from threadkit.moderation.paging import LONGEST
from threadkit.moderation.reports import Details, ReportReason
from threadkit.services import Services
from threadkit.sites.model import Site
from threadkit.users.access import requires_moderator, requires_unblocked
from threadkit.users.model import UserPublic
from threadkit.users.sessions import Device
from threadkit.users.viewer import Viewer


class ReportItem(Struct, kw_only=True):
    page_id: PageId
    page_url: str
    page_title: str | None
    comment_id: CommentId
    comment: TreeComment | None
    updated_at: str | None
    reporter: UserPublic | None
    reason: ReportReason
    details: str | None
    created_at: str


class Reports(Struct, omit_defaults=True):
    items: list[ReportItem]
    total: int
    next: str | UnsetType = UNSET
    """The cursor to those behind them."""


class Dismissal(Struct, kw_only=True):
    """`seen` is the `updated_at` of the text that one looked at."""

    seen: Annotated[str, Meta(max_length=40)] | None = None


class Dismissed(Struct):
    closed: int
    undo: str | UnsetType = UNSET


class Complaint(Place, kw_only=True):
    reason: ReportReason = "other"
    details: Details | None = None


@get("/moderation/reports", guards=[requires_moderator], summary="What was reported")
async def reports(
    site: NamedDependency[Site],
    services: NamedDependency[Services],
    offset: Annotated[int, QueryParameter(ge=0, le=1_000_000)] = 0,
    limit: Annotated[int, QueryParameter(ge=0)] = 50,
    comment_id: Annotated[str | None, QueryParameter(max_length=36, description="Only those about this one.")] = None,
    cursor: Annotated[
        str | None, QueryParameter(max_length=LONGEST, description="The `next` of the answer before.")
    ] = None,
) -> Reports:
    """Oldest first, one for each person and comment. `cursor` skips none when others close reports meanwhile; `offset`
    may."""
    following: str | None = None
    if comment_id:
        all_of_it = await services.reports.of_comment(site.id, as_id(CommentId, comment_id))
        found = sorted(all_of_it, key=lambda one: one.created_at)[offset : offset + min(limit, 100)]
    else:
        found, following = await services.reports.waiting(site.id, cursor=cursor, offset=offset, limit=min(limit, 100))
    reported = await services.comment_queries.by_ids(site.id, sorted({report.comment_id for report in found}))
    comments = {item.comment.i: item for item in await services.desk.items(site.id, reported)}
    people = {one.id: one for one in await services.user_queries.by_ids([r.reporter_id for r in found])}
    items = [
        ReportItem(
            page_id=report.page_id,
            page_url=comments[report.comment_id].page_url if report.comment_id in comments else "",
            page_title=comments[report.comment_id].page_title if report.comment_id in comments else None,
            comment_id=report.comment_id,
            comment=comments[report.comment_id].comment if report.comment_id in comments else None,
            updated_at=comments[report.comment_id].updated_at if report.comment_id in comments else None,
            reporter=UserPublic.of(people[report.reporter_id]) if report.reporter_id in people else None,
            reason=report.reason,
            details=report.details,
            created_at=report.created_at,
        )
        for report in found
    ]
    return Reports(items, len(items), following or UNSET)


@post(
    "/moderation/reports/{comment_id:str}/dismiss",
    status_code=200,
    opt={"may_be_empty": True},
    guards=[requires_moderator],
    summary="Close a comment's reports and leave it",
)
async def dismiss(
    comment_id: FromPath[str],
    data: JSONBody[Dismissal],
    site: NamedDependency[Site],
    viewer: NamedDependency[Viewer],
    services: NamedDependency[Services],
) -> Dismissed:
    """Those who reported it are told that it stays; where their reports have hidden it, it is approved. `undo` takes it
    back; it is not there when nobody had reported it. Not of one's own comment, unless there is nobody else."""
    closed, undo = await services.reports.dismiss(site, as_id(CommentId, comment_id), by=viewer, seen=data.seen)
    return Dismissed(closed, undo or UNSET)


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
    device: NamedDependency[Device],
    services: NamedDependency[Services],
) -> None:
    """Once for each person and comment. When moderators have looked, those who reported it are told the outcome."""
    target = await target_of(services, site, comment_id, data)
    await services.reports.report(
        site, target, by=viewer, client=device.client, reason=data.reason, details=data.details
    )


router = Router("/", route_handlers=[reports, dismiss, report], tags=["Moderation"])
