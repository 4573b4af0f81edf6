"""`/v1/moderation`, and reporting a comment. Contract 4.5."""

from typing import Annotated, Any

from litestar import Response
from litestar.di import NamedDependency
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import FromPath, JSONBody, QueryParameter
from msgspec import Meta, Struct

from threadkit.comments.model import InvalidPath
from threadkit.http.client_address import ClientAddresses
from threadkit.http.parameters import as_id
from threadkit.http.request import Request
from threadkit.http.routing import Router, delete, get, post
from threadkit.ids import CommentId, PageId, UserId
from threadkit.live.routes import event_stream
from threadkit.live.streams import Line
from threadkit.moderation.claim_scripts import Claimant
from threadkit.moderation.decisions import Action, Expected, Outcome
from threadkit.moderation.desk import DeskItem
from threadkit.moderation.log import LogEntry, SoughtEntry
from threadkit.moderation.queries import Wanted
from threadkit.moderation.undoing import Undone
from threadkit.services import Services
from threadkit.sites.model import Site
from threadkit.users.access import requires_moderator
from threadkit.users.viewer import Viewer

Offset = Annotated[int, QueryParameter(ge=0, le=1_000_000)]
Limit = Annotated[int, QueryParameter(ge=0)]
Path = Annotated[list[str], Meta(max_length=10_000)]
Reason = Annotated[str, Meta(max_length=500)]
Seen = Annotated[str, Meta(max_length=40)]
MOST_AT_ONCE = 1000


class Queue(Struct):
    items: list[DeskItem]
    total: int
    waiting: int
    is_cut: bool


class Counts(Struct):
    queue: int
    reports: int
    mine_claimed: int
    appeals: int


class Decision(Struct, kw_only=True):
    """All optional: the id in the address decides. With `expects` somebody else's earlier decision is an error, and with
    `seen` (the `updated_at` of what one looked at) a text that its author has changed since."""

    page_id: str | None = None
    path: Path | None = None
    reason: Reason | None = None
    expects: Expected | None = None
    seen: Seen | None = None


class Done(Struct):
    undo: str


class Bulk(Struct):
    action: Action
    ids: Annotated[list[str], Meta(min_length=1, max_length=MOST_AT_ONCE)]
    reason: Reason | None = None
    expects: Expected | None = None
    seen: Annotated[dict[str, Seen], Meta(max_length=MOST_AT_ONCE)] | None = None


class Undoing(Struct):
    ids: Annotated[list[Annotated[str, Meta(max_length=50)]], Meta(min_length=1, max_length=MOST_AT_ONCE)]


class Log(Struct):
    """`names` of those whom the entries speak of and who still have an account; `next` is where to go on."""

    entries: list[LogEntry]
    has_more: bool
    names: dict[UserId, str]
    next: str | None


@get("/queue", summary="What waits for a decision")
async def queue(
    site: NamedDependency[Site],
    services: NamedDependency[Services],
    offset: Offset = 0,
    limit: Limit = 50,
    page_id: Annotated[str | None, QueryParameter(max_length=36)] = None,
    author_id: Annotated[str | None, QueryParameter(max_length=36)] = None,
    reason: Annotated[str | None, QueryParameter(max_length=100)] = None,
    reported: Annotated[bool | None, QueryParameter()] = None,
) -> Queue:
    """Oldest first. `waiting` is the number of all, `total` that of this answer. A filter looks at the oldest 10,000;
    `is_cut` says that there are more behind them."""
    wanted = Wanted(
        as_id(PageId, page_id) if page_id else None,
        as_id(UserId, author_id) if author_id else None,
        reason,
        reported,
    )
    waiting = await services.queue.waiting(site.id, wanted, offset=offset, limit=min(limit, 100))
    items = await services.desk.items(site.id, waiting.comments)
    return Queue(items, len(items), await services.queue.count(site.id), waiting.is_cut)


@get("/counts", summary="How much there is to do")
async def counts(
    site: NamedDependency[Site], viewer: NamedDependency[Viewer], services: NamedDependency[Services]
) -> Counts:
    return Counts(
        await services.queue.count(site.id),
        await services.queue.reports(site.id),
        await services.claims.count(site.id, viewer.id),
        await services.appeals.count(site.id),
    )


@get(
    "/events",
    summary="What moderators do and what waits for them, as Server-Sent Events",
    responses={200: ResponseSpec(str, description="An endless `text/event-stream`", media_type="text/event-stream")},
)
async def events(
    site: NamedDependency[Site],
    viewer: NamedDependency[Viewer],
    services: NamedDependency[Services],
    addresses: NamedDependency[ClientAddresses],
    request: Request,
) -> Response[Any]:
    """`claimed`, `released`, `decided` and `queued`, each with the `comment_id` and how many wait then (`queue`). `resync`
    says that much happened at once, or something may have been missed: load the list again."""
    address = addresses.hashed(addresses.of(request.scope))
    services.streams.admit(address)
    return event_stream(
        request, services.staff_streams.follow(site.id, viewer, address=address, line=Line(request.receive))
    )


@post("/claim/{comment_id:str}", status_code=200, summary="Show the others that one is on it")
async def claim(
    comment_id: FromPath[str],
    site: NamedDependency[Site],
    viewer: NamedDependency[Viewer],
    services: NamedDependency[Services],
) -> Claimant:
    """For a minute, or until somebody decides; again renews it. A courtesy, not a lock: others can still decide."""
    return await services.claims.take(site.id, as_id(CommentId, comment_id), by=viewer)


@delete("/claim/{comment_id:str}", status_code=204, summary="Leave it to the others")
async def release(
    comment_id: FromPath[str],
    site: NamedDependency[Site],
    viewer: NamedDependency[Viewer],
    services: NamedDependency[Services],
) -> None:
    await services.claims.release(site.id, as_id(CommentId, comment_id), by=viewer)


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


@post("/delete/{comment_id:str}", status_code=200, opt={"may_be_empty": True}, summary="Delete a comment")
async def delete_comment(
    comment_id: FromPath[str],
    data: JSONBody[Decision],
    site: NamedDependency[Site],
    viewer: NamedDependency[Viewer],
    services: NamedDependency[Services],
) -> Done:
    """Its text and author are gone for good after half a minute. With replies it keeps a place."""
    return await _decide(services, site, comment_id, "delete", data, viewer)


@post("/bulk", status_code=200, summary="Decide about many comments at once")
async def bulk(
    data: JSONBody[Bulk],
    site: NamedDependency[Site],
    viewer: NamedDependency[Viewer],
    services: NamedDependency[Services],
) -> Outcome:
    """Up to 1,000. What cannot be done is said with its code and holds nobody up. `seen` says of each id, or of some,
    which text one looked at."""
    ids = [as_id(CommentId, one) for one in data.ids]
    seen = {as_id(CommentId, one): updated_at for one, updated_at in (data.seen or {}).items()}
    return await services.decisions.decide_all(
        site, ids, data.action, by=viewer, reason=data.reason, expects=data.expects, seen=seen
    )


@post("/undo/{entry_id:str}", status_code=200, summary="Take a decision back")
async def undo(
    entry_id: FromPath[str],
    site: NamedDependency[Site],
    viewer: NamedDependency[Viewer],
    services: NamedDependency[Services],
) -> Done:
    """Within half a minute, while nobody has decided otherwise."""
    return Done(await services.undo.undo(site, entry_id, by=viewer))


@post("/undo", status_code=200, summary="Take many decisions back")
async def undo_all(
    data: JSONBody[Undoing],
    site: NamedDependency[Site],
    viewer: NamedDependency[Viewer],
    services: NamedDependency[Services],
) -> Undone:
    """Up to 1,000, such as all that a bulk action did. What cannot be taken back is said with its code and holds nobody
    up."""
    return await services.undo.undo_all(site, data.ids, by=viewer)


@get("/log", summary="Who did what to whom")
async def log(
    site: NamedDependency[Site],
    services: NamedDependency[Services],
    limit: Annotated[int, QueryParameter(ge=1, le=200)] = 50,
    before: Annotated[str | None, QueryParameter(max_length=50)] = None,
    action: Annotated[str | None, QueryParameter(max_length=50)] = None,
    by: Annotated[str | None, QueryParameter(max_length=36, description="The id of whoever did it.")] = None,
    user_id: Annotated[str | None, QueryParameter(max_length=36, description="Whom it is about.")] = None,
) -> Log:
    """Newest first; `before` is `next` of the answer before, or the id of the last entry one has.

    With any of `action`, `by` and `user_id` it is a search: a call looks through at most 5,000 entries, so it may find
    few or none and yet have a `next`."""
    sought = SoughtEntry(action, as_id(UserId, by) if by else None, as_id(UserId, user_id) if user_id else None)
    found = await services.moderation_log.find(site.id, sought, before=before, limit=limit)
    people = sorted({one for entry in found.entries for one in (entry.by, entry.user_id) if one})
    names = {user.id: user.name for user in await services.user_queries.by_ids(people)} if people else {}
    return Log(found.entries, found.next is not None, names, found.next)


async def _decide(
    services: Services, site: Site, comment_id: str, action: Action, data: Decision, viewer: Viewer
) -> Done:
    target = as_id(CommentId, comment_id)
    if data.path is not None and (not data.path or data.path[-1] != target):
        raise InvalidPath
    decided = await services.decisions.decide(
        site, target, action, by=viewer, reason=data.reason, expects=data.expects, seen=data.seen
    )
    return Done(decided.entry_id)


_HANDLERS: list[Any] = [
    queue,
    counts,
    events,
    claim,
    release,
    approve,
    reject,
    spam,
    delete_comment,
    bulk,
    undo,
    undo_all,
    log,
]
router = Router(
    "/",
    route_handlers=[Router("/moderation", route_handlers=_HANDLERS, guards=[requires_moderator])],
    tags=["Moderation"],
)
