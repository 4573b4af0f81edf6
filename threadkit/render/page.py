"""A thread as finished HTML: a page that stands alone, or the section of it that goes into another page.

Comments carry schema.org microdata, not JSON-LD: it moves with the HTML wherever that is inserted, and says nothing
twice. Nothing here recurses: threads are as deep as people make them.
"""

import base64
import hashlib
import importlib.resources

from msgspec import Struct

from threadkit.comments.model import Sort, Status, TreeComment
from threadkit.ids import CommentId
from threadkit.render.addresses import Addresses, anchor, is_of_site, web_address
from threadkit.render.excerpt import Excerpt
from threadkit.render.form import LONGEST_NAME, Filled
from threadkit.render.html import Html, element, end, join, start
from threadkit.render.place import Place
from threadkit.render.words import counted, human_time, machine_time, name_of, title_of
from threadkit.sites.model import Site

STYLE = Html(importlib.resources.files("threadkit.render").joinpath("style.css").read_text(encoding="utf-8"))
STYLE_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()

FORM_ANCHOR = "tk-write"
NOTICE_ANCHOR = "tk-notice"
SORTS: dict[Sort, str] = {
    "top": "Best",
    "new": "Newest",
    "old": "Oldest",
    "hot": "Hot",
    "controversial": "Controversial",
}
FEEDS = {"rss": "application/rss+xml", "atom": "application/atom+xml"}
HELD = "Thank you. Your comment waits for a moderator."


class ReplyTo(Struct, frozen=True):
    """The comment that is being answered."""

    id: CommentId
    author: str
    html: str


class GuestForm(Struct, kw_only=True):
    """The form as it is shown: empty, or with what was refused."""

    token: str
    longest: int
    filled: Filled = Filled()
    reply_to: ReplyTo | None = None
    error: str | None = None


class View(Struct, kw_only=True):
    """All that a page shows."""

    site: Site
    excerpt: Excerpt
    here: Addresses
    form: GuestForm | None = None
    is_closed: bool = False
    notice: str | None = None


def document(view: View) -> Html:
    title = title_of(view.excerpt.page)
    address = web_address(view.excerpt.page.url)
    name: str = title
    if address:
        rel = None if is_of_site(address, view.site) else "nofollow ugc noopener"
        name = element("a", title, href=address, rel=rel)
    alternates = [
        element(
            "link",
            rel="alternate",
            type=kind,
            title=f"Comments on {title} ({suffix.upper()})",
            href=view.here.feed(suffix),
        )
        for suffix, kind in FEEDS.items()
    ]
    following = _next_page(view)
    return _document(
        f"Comments on {title}",
        [*alternates, element("link", rel="next", href=following) if following else Html()],
        [
            element("header", element("h1", "Comments on ", element("span", name, dir="auto"))),
            element("main", section(view)),
        ],
    )


def problem_document(title: str, sentence: str) -> Html:
    return _document(title, [], [element("main", element("h1", title), element("p", sentence, role="alert"))])


def _document(title: str, head: list[str], body: list[str]) -> Html:
    return join(
        [
            Html('<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            # In a frame it belongs to the page around it and is found there; alone it would only repeat that page.
            element("meta", name="robots", content="noindex, indexifembedded"),
            element("title", title),
            # In a frame, what people link to opens in the whole window; our own links stay where they are.
            element("base", target="_top"),
            *head,
            element("style", STYLE),
            Html("</head><body>"),
            *body,
            Html("</body></html>\n"),
        ]
    )


def section(view: View) -> Html:
    excerpt = view.excerpt
    address = web_address(excerpt.page.url)
    heading = counted(excerpt.total, "comment", "comments") if excerpt.total else "No comments yet"
    return element(
        "section",
        element("meta", itemprop="name", content=title_of(excerpt.page)),
        element("link", itemprop="url", href=address) if address else "",
        element("meta", itemprop="commentCount", content=excerpt.total),
        element("p", view.notice, id=NOTICE_ANCHOR, class_="tk-notice", role="status") if view.notice else "",
        element("h2", heading, id="tk-heading"),
        _orders(view) if excerpt.total > 1 else "",
        _thread(view),
        _paging(view),
        _writing(view),
        _feeds(view),
        id="tk-comments",
        class_="tk-comments",
        lang="en",
        aria_labelledby="tk-heading",
        itemscope=True,
        itemtype="https://schema.org/WebPage",
    )


def _link(text: str, href: str, **attributes: str | None) -> Html:
    return element("a", text, href=href, target="_self", **attributes)


def _orders(view: View) -> Html:
    excerpt = view.excerpt
    choices = [
        element(
            "li",
            element("strong", name, aria_current="true")
            if sort == excerpt.sort
            else _link(name, view.here.thread(Place(sort=sort, under=excerpt.place.under)), rel="nofollow"),
        )
        for sort, name in SORTS.items()
        if view.site.settings.voting != "off" or sort in ("new", "old")
    ]
    return element("nav", element("ul", *choices), class_="tk-orders", aria_label="Order of comments")


def _thread(view: View) -> Html:
    if not view.excerpt.comments:
        return element("p", "Nobody has written here so far.", class_="tk-empty")
    parts: list[str] = [start("ol", class_="tk-thread")]
    # What is still to be written, the next on top: comments, and the ends of those that are open.
    waiting: list[TreeComment | Html] = list(reversed(view.excerpt.comments))
    while waiting:
        piece = waiting.pop()
        if isinstance(piece, Html):
            parts.append(piece)
            continue
        parts.append(_opening(view, piece))
        waiting.append(join([_more_replies(view, piece), end("li")]))
        if piece.r:
            parts.append(start("ol", class_="tk-replies"))
            waiting.append(end("ol"))
            waiting += reversed(piece.r)
    parts.append(end("ol"))
    return join(parts)


def _opening(view: View, node: TreeComment) -> Html:
    """The start of a list item and its own content; replies and the end tag follow."""
    name = anchor(node.i)
    if node.s == Status.DELETED.value:
        return join(
            [
                start("li", id=name, class_="tk-comment tk-gone"),
                element("article", element("p", "This comment was deleted.")),
            ]
        )
    address = web_address(view.excerpt.page.url)
    author = element(
        "h3",
        element("span", name_of(node.n), itemprop="name", dir="auto"),
        class_="tk-author",
        itemprop="author",
        itemscope=True,
        itemtype="https://schema.org/Person",
    )
    written = element("time", human_time(node.x), datetime=machine_time(node.x), itemprop="datePublished")
    facts = [_link(written, f"#{name}", class_="tk-when")]
    if node.e:
        facts.append(element("time", "edited", datetime=machine_time(node.m), itemprop="dateModified"))
    if node.i in view.excerpt.pinned:
        facts.append(element("strong", "Pinned", class_="tk-mark"))
    return join(
        [
            start(
                "li",
                id=name,
                class_="tk-comment",
                itemprop="comment",
                itemscope=True,
                itemtype="https://schema.org/Comment",
            ),
            start("article"),
            element("link", itemprop="url", href=f"{address}#{name}") if address else Html(),
            element("header", author, element("p", *_spaced(facts), class_="tk-facts")),
            element("div", Html(node.h), class_="tk-text", itemprop="text", dir="auto", lang=""),
            _below(view, node),
            end("article"),
        ]
    )


def _below(view: View, node: TreeComment) -> Html:
    settings, parts = view.site.settings, list[Html]()
    if settings.display.show_vote_counts and settings.voting != "off":
        parts.append(element("meta", itemprop="upvoteCount", content=node.u))
        if node.u:
            parts.append(element("span", counted(node.u, "upvote", "upvotes")))
        if node.d and settings.voting == "on":
            parts.append(element("span", counted(node.d, "downvote", "downvotes")))
            parts.append(element("meta", itemprop="downvoteCount", content=node.d))
    if view.form:
        href = view.here.thread(view.excerpt.place, reply=node.i, fragment=FORM_ANCHOR)
        parts.append(_link("Reply", href, rel="nofollow", aria_label=f"Reply to {name_of(node.n)}"))
    return element("footer", *_spaced(parts), class_="tk-below") if parts else Html()


def _more_replies(view: View, node: TreeComment) -> Html:
    more = view.excerpt.more.get(node.i)
    if more is None:
        return Html()
    text = counted(more.count, "more reply", "more replies") if node.r else counted(more.count, "reply", "replies")
    href = view.here.thread(Place(sort=view.excerpt.sort, cursor=more.cursor, under=node.i))
    return element("p", _link(text, href), class_="tk-more")


def _next_page(view: View) -> str | None:
    excerpt = view.excerpt
    if excerpt.next is None:
        return None
    return view.here.thread(Place(sort=excerpt.sort, cursor=excerpt.next, under=excerpt.place.under))


def _paging(view: View) -> Html:
    links = []
    if following := _next_page(view):
        links.append(_link("More replies" if view.excerpt.place.under else "More comments", following, rel="next"))
    place = view.excerpt.place
    if place.under or place.cursor or place.around:
        links.append(_link("All comments from the start", view.here.thread(Place(sort=place.sort))))
    return element("p", *_spaced(links), class_="tk-paging") if links else Html()


def _writing(view: View) -> Html:
    if view.is_closed:
        return element("p", "Comments are closed.", class_="tk-closed")
    return _form(view, view.form) if view.form else Html()


def _form(view: View, form: GuestForm) -> Html:
    target, error = form.reply_to, form.error
    action = view.here.thread(view.excerpt.place, fragment=FORM_ANCHOR)
    described = "tk-error" if error else None
    return element(
        "form",
        element("h2", f"Reply to {target.author}" if target else "Write a comment", id="tk-form-heading"),
        element("p", error, id="tk-error", class_="tk-error", role="alert") if error else "",
        *(_answered(target, action) if target else ()),
        element("input", type="hidden", name="token", value=form.token),
        element("input", type="hidden", name="parent", value=target.id) if target else "",
        element("label", "Name", for_="tk-name"),
        element(
            "input",
            id="tk-name",
            name="name",
            value=form.filled.name,
            required=True,
            maxlength=LONGEST_NAME,
            autocomplete="nickname",
            aria_describedby=described,
        ),
        element("label", "Comment", for_="tk-content"),
        # The parser drops a line break right after the tag, so the text's own first one needs another before it.
        element(
            "textarea",
            "\n" + form.filled.content,
            id="tk-content",
            name="content",
            rows=6,
            required=True,
            maxlength=form.longest,
            aria_describedby=" ".join(filter(None, [described, "tk-hint"])),
        ),
        element("p", "Markdown works: **bold**, *italic*, > quote, `code`.", id="tk-hint", class_="tk-hint"),
        element(
            "p",
            element("label", "Leave this empty", for_="tk-website"),
            element("input", id="tk-website", name="website", autocomplete="off", tabindex=-1),
            hidden=True,
        ),
        element("button", "Send reply" if target else "Send comment", type="submit"),
        id=FORM_ANCHOR,
        class_="tk-form",
        method="post",
        action=action,
        target="_self",
        accept_charset="utf-8",
        aria_labelledby="tk-form-heading",
    )


def _answered(target: ReplyTo, action: str) -> list[Html]:
    return [
        element("div", Html(target.html), class_="tk-text tk-answered", dir="auto", lang=""),
        element("p", _link("Write a comment of your own instead", action, rel="nofollow")),
    ]


def _feeds(view: View) -> Html:
    links = [_link(name, view.here.feed(kind), type=FEEDS[kind]) for kind, name in (("rss", "RSS"), ("atom", "Atom"))]
    return element("p", "Follow by feed: ", *_spaced(links), class_="tk-feeds")


def _spaced(parts: list[Html]) -> list[str]:
    return [piece for part in parts for piece in (part, " ")][:-1]
