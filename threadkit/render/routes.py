"""`/v1/render` and the feeds: threads by their address alone, for browsers without scripts, crawlers and readers."""

from typing import Annotated, Any, Literal

from litestar import Response
from litestar.di import NamedDependency
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import QueryParameter

from threadkit.comments.fast_lane import is_known
from threadkit.comments.model import Comment, Sort, Status
from threadkit.comments.routes import visit_of
from threadkit.comments.window import LONGEST_CURSOR
from threadkit.errors import ThreadKitError
from threadkit.http.client_address import ClientAddresses
from threadkit.http.parameters import as_id
from threadkit.http.request import Request
from threadkit.http.routing import Router, get, post
from threadkit.ids import CommentId, digest
from threadkit.pages.model import Page, PageRef
from threadkit.pages.parameters import PageNameParameter, PageUrlParameter
from threadkit.problems import as_known
from threadkit.render import excerpt as excerpts
from threadkit.render import feeds, form
from threadkit.render.addresses import Addresses, anchor, whole
from threadkit.render.excerpt import Excerpt
from threadkit.render.form_tokens import OLDEST_MS
from threadkit.render.page import FEEDS, HELD, NOTICE_ANCHOR, GuestForm, ReplyTo, View, document, section
from threadkit.render.place import Place
from threadkit.render.policy import page_headers
from threadkit.render.words import name_of
from threadkit.services import Services
from threadkit.sites.model import Site
from threadkit.users.sessions import Device

FEED_MAX_AGE_S = 60

KeyParameter = Annotated[
    str | None, QueryParameter(max_length=100, description="The site's public key, where no header can be sent.")
]
SortParameter = Annotated[Sort | None, QueryParameter(description="The site's own order by default.")]
CursorParameter = Annotated[str | None, QueryParameter(max_length=LONGEST_CURSOR)]
CommentParameter = Annotated[str | None, QueryParameter(max_length=36, description="A comment's id.")]


@get(
    "/render",
    summary="A thread as HTML",
    responses={200: ResponseSpec(str, description="HTML", media_type="text/html")},
)
async def show(
    request: Request,
    site: NamedDependency[Site],
    services: NamedDependency[Services],
    key: KeyParameter = None,
    page_url: PageUrlParameter = None,
    page_id: PageNameParameter = None,
    sort: SortParameter = None,
    cursor: CursorParameter = None,
    around: CommentParameter = None,
    under: CommentParameter = None,
    reply: CommentParameter = None,
    fragment: Annotated[bool, QueryParameter(description="Only the section, to be put into a page.")] = False,
    posted: Annotated[Literal["held"] | None, QueryParameter()] = None,
) -> Response[Any]:
    """The thread as a page of its own, without scripts; `fragment=1` gives the part to insert on a server. Guests get
    a plain form where the site lets them write."""
    ref = PageRef(page_url, page_id)
    excerpt = await excerpts.read(services, site, ref, _place(sort, cursor, around, under))
    view = View(
        site=site,
        excerpt=excerpt,
        here=_addresses(site, ref, whole(services.settings.base_url) if fragment else ""),
        is_closed=form.who_may_write(site, excerpt.page) == "nobody",
        notice=HELD if posted == "held" else None,
    )
    if form.who_may_write(site, excerpt.page) == "guests":
        target = await _reply_to(services, site, excerpt, reply) if reply else None
        view.form = _new_form(services, site, excerpt)
        view.form.reply_to = target
    html = section(view) if fragment else document(view)
    etag = _etag_of(html, view.form.token if view.form else None, services.clock.now_ms())
    headers = {"ETag": etag, "Cache-Control": "no-cache"}
    if not fragment:
        headers |= page_headers(site, allow_localhost=services.settings.allow_localhost_origin)
    if _is_known(request, etag):
        return Response(None, status_code=304, headers=headers)
    # A section is fetched by a server, and whoever answers or reads on was counted before.
    if request.scope["method"] == "GET" and not (fragment or cursor or under or reply or posted):
        services.tally.view(site.id, excerpt.page_id, request.scope["client"], dict(request.scope["headers"]))
    return Response(str(html), media_type="text/html", headers=headers)


@post(
    "/render",
    status_code=303,
    opt={"form": True},
    summary="Write a comment with a plain form",
    responses={303: ResponseSpec(None, description="Posted: to the comment, or to the thread if it is held")},
)
async def write(
    request: Request,
    site: NamedDependency[Site],
    device: NamedDependency[Device],
    addresses: NamedDependency[ClientAddresses],
    services: NamedDependency[Services],
    key: KeyParameter = None,
    page_url: PageUrlParameter = None,
    page_id: PageNameParameter = None,
    sort: SortParameter = None,
    cursor: CursorParameter = None,
    around: CommentParameter = None,
    under: CommentParameter = None,
) -> Response[Any]:
    """The form of `GET /v1/render`, url-encoded: `name`, `content`, `token`, perhaps `parent`. The same checks as for
    `POST /v1/comments`; what is refused comes back with the reason and the text."""
    ref = PageRef(page_url, page_id)
    filled = await form.read_form(request)
    place = _place(sort, cursor, around, under)
    # Before writing, so that there is a page for the answer whatever happens.
    excerpt = await excerpts.read(services, site, ref, place)
    here = _addresses(site, ref)
    refused = _new_form(services, site, excerpt)
    refused.filled = filled
    refused.reply_to = await _perhaps_reply_to(services, site, excerpt, filled.parent)
    try:
        visit = visit_of(request, device, addresses)
        comment = await form.post(services, site, ref, excerpt.page_id, filled, visit=visit)
    except Exception as error:
        known = as_known(error)
        if known is None:
            raise
        view = View(site=site, excerpt=excerpt, here=here)
        if form.who_may_write(site, excerpt.page) == "guests":
            refused.error = known.message
            view.form = refused
        else:
            view.notice = known.message
        return Response(
            str(document(view)),
            media_type="text/html",
            status_code=known.status,
            headers=page_headers(site, allow_localhost=services.settings.allow_localhost_origin)
            | {"Cache-Control": "no-store"},
        )
    return Response(
        None, status_code=303, headers={"Location": _after(here, place, comment), "Cache-Control": "no-store"}
    )


@get(
    "/feed.rss",
    summary="The newest comments as RSS",
    responses={200: ResponseSpec(bytes, description="RSS 2.0", media_type=FEEDS["rss"])},
)
async def rss(
    request: Request,
    site: NamedDependency[Site],
    services: NamedDependency[Services],
    key: KeyParameter = None,
    page_url: PageUrlParameter = None,
    page_id: PageNameParameter = None,
) -> Response[Any]:
    """Of one page, or of the whole site when no page is named: 50 at most."""
    feed = await _feed(services, site, page_url, page_id)
    return _feed_answer(request, feed, feeds.rss(feed), FEEDS["rss"])


@get(
    "/feed.atom",
    summary="The newest comments as Atom",
    responses={200: ResponseSpec(bytes, description="Atom", media_type=FEEDS["atom"])},
)
async def atom(
    request: Request,
    site: NamedDependency[Site],
    services: NamedDependency[Services],
    key: KeyParameter = None,
    page_url: PageUrlParameter = None,
    page_id: PageNameParameter = None,
) -> Response[Any]:
    """Of one page, or of the whole site when no page is named: 50 at most."""
    feed = await _feed(services, site, page_url, page_id)
    return _feed_answer(request, feed, feeds.atom(feed), FEEDS["atom"])


def _place(sort: Sort | None, cursor: str | None, around: str | None, under: str | None) -> Place:
    return Place(
        sort=sort,
        cursor=cursor,
        around=as_id(CommentId, around) if around else None,
        under=as_id(CommentId, under) if under else None,
    )


def _addresses(site: Site, ref: PageRef, front: str = "") -> Addresses:
    return Addresses(key=site.api_key_public, page_url=ref.url, page_id=ref.name, front=front)


def _new_form(services: Services, site: Site, excerpt: Excerpt) -> GuestForm:
    return GuestForm(
        token=services.form_tokens.make(site.id, excerpt.page_id), longest=services.settings.max_comment_length
    )


async def _reply_to(services: Services, site: Site, excerpt: Excerpt, comment_id: str) -> ReplyTo:
    comment = await excerpts.seen_on_page(services, site, excerpt.page_id, as_id(CommentId, comment_id))
    return ReplyTo(comment.id, name_of(comment.author_name), comment.content_html)


async def _perhaps_reply_to(services: Services, site: Site, excerpt: Excerpt, comment_id: str) -> ReplyTo | None:
    try:
        return await _reply_to(services, site, excerpt, comment_id) if comment_id else None
    except ThreadKitError:  # posting says what is wrong
        return None


def _etag_of(html: str, token: str | None, now_ms: int) -> str:
    """Of what is shown. The token differs each time and does not count, but it must not get too old either."""
    if token:
        html = f"{now_ms // (OLDEST_MS // 2)} {html.replace(token, '')}"
    return f'W/"{digest(html)[:20]}"'


def _after(here: Addresses, place: Place, comment: Comment) -> str:
    """Where to go from here: to the new comment, or to the news that it waits."""
    if comment.status is not Status.APPROVED:
        return here.thread(place, posted="held", fragment=NOTICE_ANCHOR)
    where = Place(sort=place.sort, around=comment.id) if comment.parent_id else Place(sort="new")
    return here.thread(where, fragment=anchor(comment.id))


async def _feed(services: Services, site: Site, page_url: str | None, page_id: str | None) -> feeds.Feed:
    feed = feeds.Feed(
        site=site, page_id=None, page=None, comments=[], pages={}, front=whole(services.settings.base_url)
    )
    if page_url or page_id:
        found = await services.page_queries.now(
            site.id, await services.page_queries.id_of(site, PageRef(page_url, page_id))
        )
        feed.page_id = found.id
        feed.page = (
            found.page
            if found.page.site_id
            else Page(site_id=site.id, url=services.pages.address(site, page_url or ""))
        )
    feed.comments = await services.feed_queries.newest(site.id, feed.page_id)
    feed.pages = await services.feed_queries.pages(site.id, [comment.page_id for comment in feed.comments])
    return feed


def _feed_answer(request: Request, feed: feeds.Feed, body: bytes, media_type: str) -> Response[Any]:
    etag, changed = f'"{digest(body.decode())[:20]}"', feeds.http_date(feed.updated_ms)
    # Without the key in the address, one address stands for the feeds of many sites.
    shared = "public" if request.query_params.get("key") else "private"
    headers = {"ETag": etag, "Last-Modified": changed, "Cache-Control": f"{shared}, max-age={FEED_MAX_AGE_S}"}
    # Only the very same time counts as unchanged: when a comment goes, the newest that is left is older.
    asked = request.headers
    if _is_known(request, etag) or ("if-none-match" not in asked and asked.get("if-modified-since") == changed):
        return Response(None, status_code=304, headers=headers)
    return Response(body, media_type=f"{media_type}; charset=utf-8", headers=headers)


def _is_known(request: Request, etag: str) -> bool:
    return is_known(request.headers.get("if-none-match", "").encode() or None, etag.removeprefix("W/").encode())


router = Router("/", route_handlers=[show, write, rss, atom], tags=["Without JavaScript"])
