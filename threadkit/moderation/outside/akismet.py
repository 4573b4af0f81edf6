"""Akismet: asked about comments, and told when moderators know better.

It cannot judge without something of the visitor's address: it gets the network, and the whole address only where the
owner allows that. Mail addresses are never sent. What it called spam is remembered, so that only its errors are reported.
"""

import msgspec
import structlog
from msgspec import Struct

from threadkit.comments.model import Comment, Status
from threadkit.comments.queries import CommentQueries
from threadkit.http.outbound import Answer, Outbound, OutboundFailed
from threadkit.ids import CommentId, SiteId, UserId, digest
from threadkit.moderation.model import Attempt, Reason
from threadkit.moderation.outside.model import Finding, Visitor
from threadkit.outbox.handlers import Event, Handlers
from threadkit.outbox.model import NotUnderstood
from threadkit.pages.queries import PageQueries
from threadkit.sites.model import Site
from threadkit.sites.queries import SiteQueries
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys

log = structlog.get_logger()

SPAM_MARK_S = 30 * 86_400
NO_ADDRESS = "0.0.0.0"  # noqa: S104 - the field must be there, and of a comment written earlier no address is known
LONGEST_AGENT = 500


class Akismet:
    name = "Akismet"

    def __init__(self, url: str, outbound: Outbound, *, redis: Commands, keys: Keys) -> None:
        self._url = url
        self._outbound = outbound
        self._marks = SpamMarks(redis, keys)

    def is_on(self, site: Site) -> bool:
        return is_on(site)

    async def judge(self, attempt: Attempt, visitor: Visitor) -> Finding | None:
        site = attempt.site
        address = visitor.address if site.settings.akismet.send_address else visitor.network
        form = _form(site, text=attempt.text, author_name=attempt.author_name, page_url=attempt.page_url)
        form |= {
            "user_ip": address or NO_ADDRESS,
            "user_agent": visitor.user_agent[:LONGEST_AGENT],
            "comment_type": "reply" if attempt.parent_id else "comment",
        }
        if attempt.is_edit:
            form["recheck_reason"] = "edit"
        answer = await self._outbound.post_form(f"{self._url}/comment-check", form)
        if not _is_spam(answer):
            return None
        await self._marks.set(site.id, attempt.text)
        if answer.headers.get("x-akismet-pro-tip") == "discard":
            return Finding("refuse", Reason(code="akismet", sentence="Akismet calls it blatant spam", told="spam"))
        return Finding("hold", Reason(code="akismet", sentence="Akismet calls it spam", told="it looks like spam"))


class SpamMarks:
    """What Akismet called spam, by a digest of the text."""

    def __init__(self, redis: Commands, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    async def set(self, site_id: SiteId, text: str) -> None:
        await self._redis.set(self._keys.site(site_id).akismet_spam(digest(text)), "1", ex=SPAM_MARK_S)

    async def has(self, site_id: SiteId, text: str) -> bool:
        return bool(await self._redis.exists(self._keys.site(site_id).akismet_spam(digest(text))))


class _Moderated(Struct):
    comment_id: CommentId
    action: str
    by: UserId | None = None
    seen: str | None = None
    """The `updated_at` of what was decided about."""
    becomes: Status | None = None


class AkismetReports:
    """Tells Akismet where moderators disagree with it: the handler of the outbox event `moderated`."""

    def __init__(
        self,
        url: str,
        outbound: Outbound,
        *,
        redis: Commands,
        keys: Keys,
        site_queries: SiteQueries,
        comment_queries: CommentQueries,
        page_queries: PageQueries,
    ) -> None:
        self._url = url
        self._outbound = outbound
        self._marks = SpamMarks(redis, keys)
        self._sites = site_queries
        self._comments = comment_queries
        self._pages = page_queries

    def register(self, handlers: Handlers) -> None:
        handlers.on("moderated", "akismet", self.moderated)

    async def moderated(self, site_id: SiteId, _entry_id: str, event: Event) -> None:
        try:
            deed = msgspec.convert(event, _Moderated)
        except msgspec.ValidationError as error:
            raise NotUnderstood(f"moderated: {error}") from None
        site = await self._sites.by_id(site_id)
        if site is None or not is_on(site) or deed.by is None:
            return
        comment = await self._comments.by_id(site_id, deed.comment_id)
        if comment is None or comment.is_gone or deed.seen not in (None, comment.updated_at):
            return
        if (deed.action, deed.becomes) in (("undo_approve", Status.APPROVED), ("undo_spam", Status.REJECTED)):
            return  # somebody had decided the same before, and that stands
        called_spam = await self._marks.has(site_id, comment.content)
        match deed.action, called_spam:
            case ("spam", False) | ("undo_approve", True):
                await self._report(site, comment, "submit-spam")
            case ("approve", True) | ("undo_spam", False):
                await self._report(site, comment, "submit-ham")

    async def _report(self, site: Site, comment: Comment, verb: str) -> None:
        """Raises when Akismet cannot be reached, so that the outbox tries again."""
        url = (await self._pages.urls(site.id, [comment.page_id])).get(comment.page_id) or comment.page_url
        form = _form(site, text=comment.content, author_name=comment.author_name, page_url=url)
        form |= {"user_ip": NO_ADDRESS, "comment_type": "reply" if comment.parent_id else "comment"}
        answer = await self._outbound.post_form(f"{self._url}/{verb}", form)
        if answer.status >= 500 or answer.status == 429:
            raise OutboundFailed(f"Akismet answered {answer.status}")
        if not answer.is_success or not answer.body.startswith(b"Thanks"):
            log.warning("akismet_report_refused", site_id=site.id, comment_id=comment.id, status=answer.status)


def is_on(site: Site) -> bool:
    return site.settings.akismet.enabled and bool(site.settings.akismet.key)


def _form(site: Site, *, text: str, author_name: str, page_url: str | None) -> dict[str, str]:
    return {
        "api_key": site.settings.akismet.key,
        "blog": f"https://{site.domain}/",
        "blog_charset": "UTF-8",
        "permalink": page_url or "",
        "comment_author": author_name,
        "comment_content": text,
    }


def _is_spam(answer: Answer) -> bool:
    if not answer.is_success:
        raise OutboundFailed(f"it answered {answer.status}")
    match answer.body.strip():
        case b"true":
            return True
        case b"false":
            return False
        case b"invalid" | b"Invalid key":
            raise OutboundFailed("it does not know the key")
    raise OutboundFailed("the answer is neither true nor false")
