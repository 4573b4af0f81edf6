"""Reading threads over HTTP: whole, in windows, and below one comment."""

from typing import Annotated, Any

from litestar import Response
from litestar.di import NamedDependency
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import FromPath, QueryParameter

from threadkit.comments.fast_lane import is_known
from threadkit.comments.model import AskedSort, Replies, Thread
from threadkit.comments.snapshots import Answer, Snapshot
from threadkit.comments.window import (
    LONGEST_CURSOR,
    MOST_LEVELS,
    MOST_REPLIES,
    MOST_ROOTS,
    Cursor,
    Question,
    Window,
    begins_a_visit,
    order_of,
)
from threadkit.http.parameters import as_id
from threadkit.http.request import Request
from threadkit.http.routing import Router, get
from threadkit.ids import CommentId, PageId
from threadkit.pages.model import PageRef
from threadkit.pages.parameters import PageNameParameter, PageUrlParameter
from threadkit.services import Services
from threadkit.sites.access import KEY_IN_ADDRESS
from threadkit.sites.model import Site
from threadkit.users.access import knows_user
from threadkit.users.viewer import Viewer

SortParameter = Annotated[
    AskedSort,
    QueryParameter(description="Holds for every level. `default` is the site's own, `display.default_sort`."),
]
CursorParameter = Annotated[
    str | None, QueryParameter(max_length=LONGEST_CURSOR, description="`next` or `rn` of an earlier answer.")
]
RepliesParameter = Annotated[
    int | None, QueryParameter(ge=0, le=MOST_REPLIES, description="How many replies to show under each comment.")
]
DepthParameter = Annotated[int | None, QueryParameter(ge=0, le=MOST_LEVELS, description="How many levels of replies.")]


@get(
    "/comments",
    guards=[knows_user],
    opt=KEY_IN_ADDRESS,
    summary="A page's comments",
    responses={200: ResponseSpec(Thread, description="The thread")},
)
async def list_comments(
    site: NamedDependency[Site],
    maybe_viewer: NamedDependency[Viewer | None],
    services: NamedDependency[Services],
    request: Request,
    page_url: PageUrlParameter = None,
    page_id: PageNameParameter = None,
    sort: SortParameter = "new",
    limit: Annotated[int | None, QueryParameter(ge=1, le=MOST_ROOTS, description="How many threads (25).")] = None,
    cursor: CursorParameter = None,
    replies: RepliesParameter = None,
    depth: DepthParameter = None,
    around: Annotated[
        str | None, QueryParameter(max_length=36, description="Begin with the thread that holds this comment.")
    ] = None,
) -> Response[Any]:
    """The whole tree, up to the server's `tree_limit`; or, with any of `limit`, `cursor`, `replies`, `depth` and
    `around`, a window on it: 25 threads, the first 5 replies of each, 2 levels deep. `next` leads to the next threads;
    a comment with more replies than shown says how many there are (`rc`) and where they go on (`rn`, a cursor for
    `/v1/comments/{id}/replies`). Pinned threads stand in front of the first window. A page nobody wrote on is empty.

    Instead of the header `projectid`, the public key may stand in the address as `key`: a page of another origin then
    needs no permission first. Answers carry an ETag; `If-None-Match` gets 304 while nothing changed. Those who blocked somebody, or have comments
    that only they see, get a view of their own, which is not kept."""
    target = as_id(CommentId, around) if around else None
    question = Question(sort=sort, limit=limit, cursor=cursor, replies=replies, depth=depth, around=target)
    order = order_of(sort, site)
    window = question.window(order)
    if page_url is None and page_id is None and target:
        asked_for = await services.threads.page_of(site, target)
    else:
        asked_for = await services.page_queries.id_of(site, PageRef(page_url, page_id))
    if maybe_viewer and await services.threads.has_own_view(site, asked_for, maybe_viewer):
        thread = await services.threads.thread(site, asked_for, order, maybe_viewer, window)
        _count_view(services, site, thread.page_id, request, window)
        return _private(thread)
    snapshot = await services.threads.snapshot(site, asked_for, order, window)
    answer = _shared(snapshot, request)
    if answer.status_code != 304:
        _count_view(services, site, snapshot.page_id, request, window)
    return answer


@get(
    "/comments/{comment_id:str}/replies",
    guards=[knows_user],
    summary="More replies to a comment",
    responses={200: ResponseSpec(Replies, description="The next replies")},
)
async def list_replies(
    comment_id: FromPath[str],
    site: NamedDependency[Site],
    maybe_viewer: NamedDependency[Viewer | None],
    services: NamedDependency[Services],
    request: Request,
    sort: SortParameter = "new",
    limit: Annotated[int, QueryParameter(ge=1, le=MOST_ROOTS, description="How many replies.")] = 25,
    cursor: CursorParameter = None,
    replies: RepliesParameter = None,
    depth: DepthParameter = None,
) -> Response[Any]:
    """From the cursor `rn` of a comment on, in the same order, with their own first replies."""
    parent_id = as_id(CommentId, comment_id)
    order = order_of(sort, site)
    window = Window(
        limit=limit,
        replies=5 if replies is None else replies,
        depth=2 if depth is None else depth,
        cursor=Cursor.read(cursor, order) if cursor is not None else None,
        under=parent_id,
    )
    page_id = await services.threads.page_of(site, parent_id)
    if maybe_viewer and await services.threads.has_own_view(site, page_id, maybe_viewer):
        return _private(await services.threads.replies(site, parent_id, order, maybe_viewer, window))
    return _shared(await services.threads.snapshot(site, page_id, order, window), request)


def _count_view(services: Services, site: Site, page_id: PageId, request: Request, window: Window | None) -> None:
    if request.scope["method"] == "GET" and begins_a_visit(window):
        services.tally.view(site.id, page_id, request.scope["client"], dict(request.scope["headers"]))


def _private(answer: Answer) -> Response[Any]:
    return Response(answer, headers={"Cache-Control": "private, no-store"})


def _shared(snapshot: Snapshot, request: Request) -> Response[Any]:
    headers = {"ETag": snapshot.etag.decode(), "Cache-Control": "no-cache", "Vary": "accept-encoding, authorization"}
    if is_known(request.headers.get("if-none-match", "").encode() or None, snapshot.etag):
        return Response(None, status_code=304, headers=headers)
    return Response(snapshot.body, media_type="application/json", headers=headers)


router = Router("/", route_handlers=[list_comments, list_replies], tags=["Comments"])
