"""`/v1/comments` and what else is about a page's comments. Contract 4.3."""

import re
from typing import Annotated

import msgspec
from litestar import Response
from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody, QueryParameter
from msgspec import Meta, Struct
from msgspec.structs import replace

from threadkit.comments.model import CommentDraft, CommentItem, InvalidPath, TreeComment, Visit
from threadkit.comments.service import PinState
from threadkit.errors import Invalid, InvalidParameter, Unauthenticated
from threadkit.http.client_address import ClientAddresses
from threadkit.http.parameters import as_id
from threadkit.http.request import Request
from threadkit.http.routing import Router, delete, get, patch, post, put
from threadkit.ids import CommentId, UserId, digest
from threadkit.pages.model import LONGEST_URL, PageName, PageRef
from threadkit.pages.parameters import PageNameParameter, PageUrlParameter
from threadkit.services import Services
from threadkit.sites.model import Site
from threadkit.text import clean_source
from threadkit.text.names import tidy_name
from threadkit.users.access import (
    UserIsBlocked,
    UsernameRequired,
    knows_user,
    requires_moderator,
    requires_name,
    requires_user,
)
from threadkit.users.sessions import Device, SessionEnded
from threadkit.users.viewer import Viewer
from threadkit.votes.service import Direction, VoteResult

PageUrl = Annotated[str, Meta(min_length=1, max_length=LONGEST_URL)]
Path = Annotated[list[str], Meta(max_length=10_000)]


class AuthorNameRequired(Invalid):
    """author_name is required for comments without an account"""

    code = "author_name_required"


class PostedComment(Struct):
    comment: TreeComment


class Place(Struct, kw_only=True):
    """Where a comment is. All optional: the id in the address decides. Of two names for the page `page_id` counts."""

    page_url: PageUrl | None = None
    page_id: PageName | None = None
    path: Path | None = None

    @property
    def page(self) -> PageRef | None:
        return PageRef(self.page_url, self.page_id) if self.page_url or self.page_id else None


class Edit(Place, kw_only=True):
    content: str


class TextEdit(Struct):
    """What one of the stock clients sends."""

    text: str


class Pinned(Place, kw_only=True):
    """`seen` is the `updated_at` of the text that one looked at."""

    seen: Annotated[str, Meta(max_length=40)] | None = None


class Vote(Place, kw_only=True):
    direction: Direction


class Votes(Struct):
    votes: dict[str, str]


class CommentList(Struct):
    comments: list[CommentItem]
    has_more: bool


class Preview(Struct):
    content: str


class PreviewHtml(Struct):
    html: str


@post("/comments", status_code=200, opt={"text": True}, guards=[knows_user], summary="Write a comment or a reply")
async def post_comment(
    data: JSONBody[CommentDraft],
    request: Request,
    site: NamedDependency[Site],
    maybe_viewer: NamedDependency[Viewer | None],
    device: NamedDependency[Device],
    addresses: NamedDependency[ClientAddresses],
    services: NamedDependency[Services],
) -> PostedComment:
    """`parent_path` holds the ids from the root to the parent. An `Idempotency-Key` makes repeating safe.

    Forms against programs: `website` is a field that people do not see and leave empty, `form_age_ms` says how long the
    form was open. Both are for the site's screens, and whoever leaves them out only goes without these."""
    data.author_name = tidy_name(clean_source(data.author_name or ""))
    may_write(site, maybe_viewer, data.author_name, session_ended=request.scope["state"].get("session_ended", False))
    if maybe_viewer is None:
        await services.names.check_guest(data.author_name, site)
    if data.parent_path:
        as_id(CommentId, data.parent_path[-1])
    comment = await services.comments.post(
        site,
        data,
        author=maybe_viewer,
        request_key=_request_key(request, site, data, maybe_viewer, device),
        visit=replace(visit_of(request, device, addresses), honeypot=data.website, form_age_ms=data.form_age_ms),
    )
    return PostedComment(TreeComment.of(comment))


@put("/comments/{comment_id:str}", opt={"text": True}, guards=[requires_name], summary="Change one's own comment")
async def edit_comment(
    comment_id: FromPath[str],
    data: JSONBody[Edit],
    request: Request,
    site: NamedDependency[Site],
    viewer: NamedDependency[Viewer],
    device: NamedDependency[Device],
    addresses: NamedDependency[ClientAddresses],
    services: NamedDependency[Services],
) -> TreeComment:
    target = await target_of(services, site, comment_id, data)
    visit = visit_of(request, device, addresses)
    return TreeComment.of(await services.comments.edit(site, target, data.content, editor=viewer, visit=visit))


@patch("/comments/{comment_id:str}", opt={"text": True}, guards=[requires_name], include_in_schema=False)
async def edit_comment_alias(
    comment_id: FromPath[str],
    data: JSONBody[TextEdit],
    request: Request,
    site: NamedDependency[Site],
    viewer: NamedDependency[Viewer],
    device: NamedDependency[Device],
    addresses: NamedDependency[ClientAddresses],
    services: NamedDependency[Services],
) -> TreeComment:
    target = as_id(CommentId, comment_id)
    visit = visit_of(request, device, addresses)
    return TreeComment.of(await services.comments.edit(site, target, data.text, editor=viewer, visit=visit))


@delete("/comments/{comment_id:str}", status_code=204, guards=[requires_name], summary="Delete a comment")
async def delete_comment(
    comment_id: FromPath[str],
    site: NamedDependency[Site],
    viewer: NamedDependency[Viewer],
    services: NamedDependency[Services],
    seen: Annotated[
        str | None,
        QueryParameter(max_length=40, description="Of a moderator: the `updated_at` of what they looked at."),
    ] = None,
) -> Response[None]:
    """By its author or a moderator. With replies it keeps a place; a body is neither needed nor read. `X-Undo` is what
    takes a moderator's deletion back (`/v1/moderation/undo/…`)."""
    undo = await services.comments.delete(site, as_id(CommentId, comment_id), by=viewer, seen=seen)
    return Response(None, status_code=204, headers={"X-Undo": undo} if undo else {})


@post("/comments/{comment_id:str}/vote", status_code=200, guards=[requires_name], summary="Vote")
async def vote(
    comment_id: FromPath[str],
    data: JSONBody[Vote],
    site: NamedDependency[Site],
    viewer: NamedDependency[Viewer],
    services: NamedDependency[Services],
) -> VoteResult:
    """The same vote again takes it back; the other one switches it."""
    target = named(comment_id, data)
    return await services.votes.cast(site, target, data.direction, voter=viewer, page=data.page)


@post("/comments/{comment_id:str}/pin", status_code=200, guards=[requires_moderator], summary="Pin or unpin")
async def pin(
    comment_id: FromPath[str],
    data: JSONBody[Pinned],
    site: NamedDependency[Site],
    viewer: NamedDependency[Viewer],
    services: NamedDependency[Services],
) -> PinState:
    target = await target_of(services, site, comment_id, data)
    return await services.comments.pin(site, target, by=viewer.id, seen=data.seen)


@post("/comments/preview", status_code=200, opt={"text": True}, summary="How a text will look")
async def preview(data: JSONBody[Preview], services: NamedDependency[Services]) -> PreviewHtml:
    return PreviewHtml(await services.comments.preview(data.content))


@get("/pages/my_votes", guards=[requires_user], summary="My votes on a page")
async def my_votes(
    site: NamedDependency[Site],
    viewer: NamedDependency[Viewer],
    services: NamedDependency[Services],
    page_url: PageUrlParameter = None,
    page_id: PageNameParameter = None,
) -> Votes:
    return Votes(await services.comments.votes_on_page(site, PageRef(page_url, page_id), viewer))


@get("/users/me/comments", guards=[requires_user], summary="My comments", tags=["People"])
async def my_comments(
    site: NamedDependency[Site],
    viewer: NamedDependency[Viewer],
    services: NamedDependency[Services],
    offset: Annotated[int, QueryParameter(ge=0, le=1_000_000)] = 0,
    limit: Annotated[int, QueryParameter(ge=0)] = 50,
) -> CommentList:
    return CommentList(
        *await services.comments.by_author(site, viewer.id, offset=offset, limit=min(limit, 100), viewer=viewer)
    )


@get("/users/{user_id:str}/comments", summary="A person's comments", tags=["People"])
async def comments_of(
    user_id: FromPath[str],
    site: NamedDependency[Site],
    services: NamedDependency[Services],
    offset: Annotated[int, QueryParameter(ge=0, le=1_000_000)] = 0,
    limit: Annotated[int, QueryParameter(ge=0)] = 50,
) -> CommentList:
    author = await services.users.existing(as_id(UserId, user_id))
    return CommentList(
        *await services.comments.by_author(site, author.id, offset=offset, limit=min(limit, 100), viewer=None)
    )


def _request_key(
    request: Request, site: Site, draft: CommentDraft, viewer: Viewer | None, device: Device
) -> str | None:
    """What makes two requests the same one: site, sender, their key, and all that they say but how long it took."""
    key = request.headers.get("idempotency-key")
    if key is None:
        return None
    if not re.fullmatch(r"[\x21-\x7e]{1,128}", key):
        raise InvalidParameter(name="Idempotency-Key", why="must be 1 to 128 characters without spaces")
    sender = viewer.id if viewer else f"nobody at {device.client}"
    return digest(msgspec.json.encode([site.id, sender, key, replace(draft, form_age_ms=None)]).decode())[:32]


def visit_of(request: Request, device: Device, addresses: ClientAddresses) -> Visit:
    return Visit(
        client=device.client,
        address=str(addresses.of(request.scope)),
        user_agent=device.user_agent,
        turnstile_token=request.headers.get("x-turnstile-token"),
    )


def may_write(site: Site, viewer: Viewer | None, author_name: str | None, *, session_ended: bool = False) -> None:
    """The first four checks of contract 4.3, in its order. People whose session has ended are told so, and not that they
    should give a name."""
    if viewer is None:
        if not site.settings.auth.anonymous:
            raise SessionEnded if session_ended else Unauthenticated
        if not (author_name or "").strip():
            raise SessionEnded if session_ended else AuthorNameRequired
        return
    if viewer.is_blocked:
        raise UserIsBlocked.of(viewer)
    if not viewer.user.username_set:
        raise UsernameRequired


def named(comment_id: str, place: Place) -> CommentId:
    target = as_id(CommentId, comment_id)
    if place.path is not None and (not place.path or place.path[-1] != target):
        raise InvalidPath
    return target


async def target_of(services: Services, site: Site, comment_id: str, place: Place) -> CommentId:
    target = named(comment_id, place)
    await services.comments.check_place(site, target, place.page)
    return target


router = Router(
    "/",
    route_handlers=[
        post_comment,
        edit_comment,
        edit_comment_alias,
        delete_comment,
        vote,
        pin,
        preview,
        my_votes,
        my_comments,
        comments_of,
    ],
    tags=["Comments"],
)
