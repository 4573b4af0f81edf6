"""A program of the site owner's that is asked about each comment, with calls it can tell from others' by their signature."""

import hmac
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from threadkit.clock import Clock
from threadkit.http.outbound import Outbound, OutboundFailed
from threadkit.keyring import Keyring
from threadkit.moderation.model import Attempt, Reason
from threadkit.moderation.outside.model import Finding, Visitor, clean_reason
from threadkit.sites.model import Site

SIGNATURE = "X-ThreadKit-Signature"


class AskedAuthor(Struct):
    """The author as the owner's program may know them: nothing that is not public."""

    id: str
    name: str
    karma: int
    total_comments: int
    created_at: str
    is_guest: bool
    is_verified: bool


class Asked(Struct, kw_only=True):
    """The JSON that is sent: the attempt, and nothing that leads to an address."""

    site_id: str
    page_id: str | None
    page_url: str | None
    comment_id: str | None
    parent_id: str | None
    is_edit: bool
    author: AskedAuthor | None
    author_name: str
    text: str
    links: int
    type: Literal["comment_check"] = "comment_check"


class _Verdict(Struct):
    verdict: Literal["pass", "hold", "refuse"]
    reason: Annotated[str, Meta(max_length=2000)] | None = None


class Webhook:
    name = "the site's own check"

    def __init__(self, *, keyring: Keyring, clock: Clock, outbound: Outbound, instead: str = "") -> None:
        self._keyring = keyring
        self._clock = clock
        self._outbound = outbound
        self._instead = instead

    def is_on(self, site: Site) -> bool:
        return site.settings.webhook.enabled and bool(site.settings.webhook.url)

    def secret_of(self, site: Site) -> str:
        """The one its owner has set, or one that only this server can make."""
        return site.settings.webhook.secret or self._keyring.derive(f"webhook:{site.id}").hex()

    async def judge(self, attempt: Attempt, _visitor: Visitor) -> Finding | None:
        body = msgspec.json.encode(_asked(attempt))
        url = self._instead or attempt.site.settings.webhook.url
        headers = {SIGNATURE: signature(self.secret_of(attempt.site), body, at_s=self._clock.now_ms() // 1000)}
        answer = await self._outbound.post_json(url, body, headers=headers)
        if not answer.is_success:
            raise OutboundFailed(f"it answered {answer.status}")
        said = answer.json(_Verdict)
        reason = clean_reason(said.reason or "")
        if said.verdict == "pass" and not reason:
            return None
        sentence = f"the site's own check says {said.verdict}{f': {reason}' if reason else ''}"
        told = reason or "a check of this site does not accept it"
        return Finding(said.verdict, Reason(code="webhook", sentence=sentence, told=told))


def signature(secret: str, body: bytes, *, at_s: int) -> str:
    """The time is signed too, so that a call that was overheard cannot be repeated for ever."""
    digest = hmac.digest(secret.encode(), f"{at_s}.".encode() + body, "sha256").hex()
    return f"t={at_s},v1={digest}"


def _asked(attempt: Attempt) -> Asked:
    author = attempt.author
    return Asked(
        site_id=attempt.site.id,
        page_id=attempt.page_id,
        page_url=attempt.page_url,
        comment_id=attempt.comment_id,
        parent_id=attempt.parent_id,
        is_edit=attempt.is_edit,
        author=AskedAuthor(
            author.id,
            author.user.name,
            author.user.karma,
            author.user.total_comments,
            author.user.created_at,
            author.user.is_guest,
            author.user.is_verified,
        )
        if author
        else None,
        author_name=attempt.author_name,
        text=attempt.text,
        links=attempt.links,
    )
