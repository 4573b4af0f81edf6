"""The part of a thread that one page shows. All that the pages know of reading threads is in `read`."""

from msgspec import UNSET, Struct

from threadkit.comments.model import Comment, CommentNotFound, Sort, TreeComment
from threadkit.comments.tree import is_visible
from threadkit.ids import CommentId, PageId
from threadkit.pages.model import Page, PageRef
from threadkit.render.place import Place
from threadkit.services import Services
from threadkit.sites.model import Site


class More(Struct, frozen=True):
    """Replies that are left out: how many, and where they go on."""

    count: int
    cursor: str


class Excerpt(Struct, kw_only=True):
    page_id: PageId
    page: Page
    place: Place
    sort: Sort
    total: int
    comments: list[TreeComment]
    pinned: frozenset[CommentId] = frozenset()
    more: dict[CommentId, More] = {}
    next: str | None = None


async def read(services: Services, site: Site, ref: PageRef, place: Place) -> Excerpt:
    """What everybody may see of a thread from a place on. A page that nobody wrote on is empty, not missing."""
    sort = place.sort or site.settings.display.default_sort
    window = place.window(sort)
    found = await services.page_queries.now(site.id, await services.page_queries.id_of(site, ref))
    page = found.page if found.page.site_id else Page(site_id=site.id, url=ref.url or "")
    excerpt = Excerpt(page_id=found.id, page=page, place=place, sort=sort, total=page.comments, comments=[])
    if place.under:
        parent = TreeComment.of(await seen_on_page(services, site, found.id, place.under))
        replies = await services.threads.replies(site, place.under, sort, None, window)
        parent.r = replies.replies
        excerpt.comments = [parent]
        excerpt.next = replies.next or None
    else:
        thread = await services.threads.thread(site, found.id, sort, None, window)
        excerpt.comments = thread.tree.c
        excerpt.pinned = frozenset(comment_id for comment_id, _ in thread.pinned or [])
        excerpt.next = thread.next or None
    excerpt.more = _left_out(excerpt.comments)
    return excerpt


async def seen_on_page(services: Services, site: Site, page_id: PageId, comment_id: CommentId) -> Comment:
    comment = await services.comment_queries.by_id(site.id, comment_id)
    if comment is None or comment.page_id != page_id or not is_visible(comment, None, frozenset()):
        raise CommentNotFound
    return comment


def _left_out(roots: list[TreeComment]) -> dict[CommentId, More]:
    more: dict[CommentId, More] = {}
    waiting = list(roots)
    while waiting:
        node = waiting.pop()
        if node.rn is not UNSET and node.rc is not UNSET and node.rc > len(node.r):
            more[node.i] = More(node.rc - len(node.r), node.rn)
        waiting += node.r
    return more
