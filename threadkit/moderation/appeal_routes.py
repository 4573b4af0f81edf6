"""Appeals over HTTP: an author asks for another look, moderators grant or decline."""

from typing import Annotated

from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody, QueryParameter
from msgspec import UNSET, Meta, Struct, UnsetType

from threadkit.clock import iso
from threadkit.comments.model import TreeComment
from threadkit.http.parameters import as_id
from threadkit.http.routing import Router, get, post
from threadkit.ids import CommentId, PageId
from threadkit.moderation.appeals import Ruling
from threadkit.moderation.paging import LONGEST
from threadkit.notifications.model import LONGEST_REASON
from threadkit.services import Services
from threadkit.sites.model import Site
from threadkit.users.access import requires_moderator, requires_unblocked
from threadkit.users.model import UserPublic
from threadkit.users.viewer import Viewer

LONGEST_APPEAL = 1000


class Words(Struct):
    text: Annotated[str, Meta(min_length=1, max_length=LONGEST_APPEAL)]


class Judgment(Struct, kw_only=True):
    """`seen` is the `updated_at` of what one looked at; without it the decision is about the text of the appeal."""

    decision: Ruling
    reason: Annotated[str, Meta(max_length=LONGEST_REASON)] | None = None
    seen: Annotated[str, Meta(max_length=40)] | None = None


class AppealItem(Struct, kw_only=True):
    page_id: PageId
    page_url: str
    comment: TreeComment
    text: str
    created_at: str
    reasons: list[str]
    reports: float
    decided_by: UserPublic | None
    may_decide: bool
    updated_at: str


class Appeals(Struct, omit_defaults=True):
    items: list[AppealItem]
    total: int
    waiting: int
    next: str | UnsetType = UNSET
    """The cursor to those behind them."""


class Judged(Struct):
    entry: str


@post(
    "/comments/{comment_id:str}/appeal",
    status_code=204,
    guards=[requires_unblocked],
    summary="Ask for another look at one's own comment",
)
async def appeal(
    comment_id: FromPath[str],
    data: JSONBody[Words],
    site: NamedDependency[Site],
    viewer: NamedDependency[Viewer],
    services: NamedDependency[Services],
) -> None:
    """Once for each comment, when it was turned down or hidden after reports. `/v1/users/me/comments` says why it was,
    and whether this can be asked."""
    await services.appeals.appeal(site, as_id(CommentId, comment_id), data.text, by=viewer)


@get("/moderation/appeals", guards=[requires_moderator], summary="Which authors ask for another look")
async def appeals(
    site: NamedDependency[Site],
    viewer: NamedDependency[Viewer],
    services: NamedDependency[Services],
    offset: Annotated[int, QueryParameter(ge=0, le=1_000_000)] = 0,
    limit: Annotated[int, QueryParameter(ge=0)] = 50,
    cursor: Annotated[
        str | None, QueryParameter(max_length=LONGEST, description="The `next` of the answer before.")
    ] = None,
) -> Appeals:
    """Oldest first. `waiting` is the number of all, `total` that of this answer. `decided_by` decided before; it takes
    somebody else to decide again, and `may_decide` says whether that can be you."""
    found, following = await services.appeals.waiting(
        site, by=viewer, cursor=cursor, offset=offset, limit=min(limit, 100)
    )
    listed = await services.comments.items(site, [one.comment for one in found])
    deciders = [one.comment.decided_by for one in found if one.comment.decided_by]
    people = {one.id: UserPublic.of(one) for one in await services.user_queries.by_ids(deciders)}
    items = [
        AppealItem(
            page_id=item.page_id,
            page_url=item.page_url,
            comment=item.comment,
            text=one.comment.appeal or "",
            created_at=iso(one.comment.appealed_ms or 0),
            reasons=one.comment.held_for or [],
            reports=one.comment.report_weight or 0,
            decided_by=people.get(one.comment.decided_by) if one.comment.decided_by else None,
            may_decide=one.may_decide,
            updated_at=one.comment.updated_at,
        )
        for one, item in zip(found, listed, strict=True)
    ]
    return Appeals(items, len(items), await services.appeals.count(site.id), following or UNSET)


@post(
    "/moderation/appeals/{comment_id:str}",
    status_code=200,
    guards=[requires_moderator],
    summary="Grant or decline an appeal",
)
async def decide(
    comment_id: FromPath[str],
    data: JSONBody[Judgment],
    site: NamedDependency[Site],
    viewer: NamedDependency[Viewer],
    services: NamedDependency[Services],
) -> Judged:
    """Granting shows the comment, declining leaves it. Not by whoever decided before, unless there is nobody else; and
    not when its author has changed the text."""
    target, reason = as_id(CommentId, comment_id), data.reason
    return Judged(await services.appeals.decide(site, target, data.decision, by=viewer, reason=reason, seen=data.seen))


router = Router("/", route_handlers=[appeal, appeals, decide], tags=["Moderation"])
