"""The gate every text passes on its way to a page: proof of being human, the screens, and what others say of it."""

import re
from urllib.parse import urlsplit

import structlog
from redis.exceptions import RedisError

from threadkit.comments.model import Comment, Objections, Visit
from threadkit.ids import CommentId
from threadkit.moderation.decisions import DecisionService
from threadkit.moderation.model import Attempt
from threadkit.moderation.outside.model import Visitor
from threadkit.moderation.outside.turnstile import Turnstile
from threadkit.moderation.screener import Screener
from threadkit.notifications.model import LONGEST_REASON
from threadkit.sites.model import Site
from threadkit.users.viewer import Viewer

log = structlog.get_logger()

_LINK = re.compile(r'<a [^>]*?href="([^"]{1,2000})"')


class ModerationGate:
    """What `CommentService` asks before it writes. It knows nothing of screens, and they know nothing of it."""

    def __init__(self, *, screener: Screener, turnstile: Turnstile, decisions: DecisionService) -> None:
        self._screener = screener
        self._turnstile = turnstile
        self._decisions = decisions

    async def let_in(self, site: Site, author: Viewer | None, visit: Visit) -> None:
        """Raises for whoever should show that they are human and does not."""
        await self._turnstile.require_human(site, author, visit.turnstile_token, visit.client, address=visit.address)

    async def judge(self, site: Site, comment: Comment, *, author: Viewer | None, visit: Visit) -> Objections | None:
        """Why a comment must wait, and what moderators should know of it; None when there is nothing to say. Raises for
        one that is refused."""
        verdict = await self._screener.screen(
            _attempt(site, comment, author, visit), Visitor(address=visit.address, user_agent=visit.user_agent)
        )
        if verdict.kind == "refuse":
            raise verdict.error()
        reasons = verdict.reasons if verdict.kind == "hold" else ()
        if not reasons and not verdict.notes:
            return None
        return Objections(
            [reason.sentence for reason in reasons],
            [reason.told or reason.sentence for reason in reasons],
            list(verdict.notes),
        )

    async def hold_edit(self, site: Site, before: Comment, after: Comment, objections: Objections) -> None:
        """Take a comment that is shown off the page with its new text, until somebody has looked."""
        reason, told = "; ".join(objections.reasons), "; ".join(objections.told)[:LONGEST_REASON]
        await self._decisions.hold_edit(site, before, after, reason=reason, told=told)

    async def delete(self, site: Site, comment: Comment, *, by: Viewer, seen: str | None) -> str:
        """A moderator takes somebody's comment away; the answer undoes it."""
        return (await self._decisions.decide(site, comment.id, "delete", by=by, seen=seen)).entry_id

    async def remember(
        self, site: Site, comment: Comment, *, author: Viewer | None, visit: Visit, as_id: CommentId
    ) -> None:
        """So that the same text is known when it comes again. The comment stands already: failing here must not tell
        its author that it does not, or they would send it again."""
        try:
            await self._screener.after_post(_attempt(site, comment, author, visit), as_id)
        except (RedisError, OSError) as error:
            log.warning("text_not_remembered", comment_id=as_id, why=str(error))


def _attempt(site: Site, comment: Comment, author: Viewer | None, visit: Visit) -> Attempt:
    links = _LINK.findall(comment.content_html)
    return Attempt(
        site=site,
        author=author,
        author_name=comment.author_name,
        text=comment.content,
        links=len(links),
        link_hosts=[urlsplit(link).hostname or "" for link in links],
        page_id=comment.page_id,
        page_url=comment.page_url,
        parent_id=comment.parent_id,
        is_edit=comment.edited,
        comment_id=comment.id if comment.edited else None,
        client=visit.client,
        honeypot=visit.honeypot,
        form_age_ms=visit.form_age_ms,
        turnstile_token=visit.turnstile_token,
    )
