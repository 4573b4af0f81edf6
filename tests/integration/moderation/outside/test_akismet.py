"""Akismet: what it is told, what it says, and what it learns from moderators."""

import httpx
import msgspec
import pytest

from tests.integration.moderation.outside.attempts import attempt, checked
from tests.integration.moderation.outside.conftest import Change
from tests.integration.moderation.outside.others import CHECK, HAM, SPAM, Others
from tests.people import Person, post
from tests.wait import until
from threadkit.app import Application
from threadkit.ids import CommentId
from threadkit.moderation.outside.model import Visitor
from threadkit.sites.model import NewSite

KEY = "akismetkey12"
VISITOR = Visitor(address="203.0.113.77", user_agent="Browser/1.0")


async def test_it_gets_the_usual_fields_and_no_mail_address(
    app: Application, change: Change, others: Others, jane: Person
) -> None:
    site = await change(akismet__enabled=True, akismet__key=KEY)
    asked = attempt(site, text="Buy gold & more", parent_id="p", is_edit=True)
    assert await checked(app.services.outside.checks, asked, visitor=VISITOR) is None
    (call,) = others.calls
    assert call.path == CHECK
    assert call.form == {
        "api_key": KEY,
        "blog": "https://blog.example.org/",
        "blog_charset": "UTF-8",
        "permalink": "https://blog.example.org/post",
        "comment_author": "Jane",
        "comment_content": "Buy gold & more",
        "comment_type": "reply",
        "recheck_reason": "edit",
        "user_agent": "Browser/1.0",
        "user_ip": "203.0.113.0",
    }


@pytest.mark.parametrize(
    ("address", "may_send", "sent"),
    [
        ("203.0.113.77", False, "203.0.113.0"),
        ("203.0.113.77", True, "203.0.113.77"),
        ("2001:db8:1234:5678::9", False, "2001:db8:1234::"),
        ("2001:db8:1234:5678::9", True, "2001:db8:1234:5678::9"),
        ("", True, "0.0.0.0"),
        ("nonsense", False, "0.0.0.0"),
    ],
)
async def test_the_whole_address_is_sent_only_where_the_owner_allows_it(
    address: str, may_send: bool, sent: str, app: Application, change: Change, others: Others
) -> None:
    site = await change(akismet__enabled=True, akismet__key=KEY, akismet__send_address=may_send)
    await checked(app.services.outside.checks, attempt(site), visitor=Visitor(address=address))
    assert others.calls[0].form["user_ip"] == sent


async def test_spam_is_held_and_blatant_spam_is_refused(app: Application, change: Change, others: Others) -> None:
    site = await change(akismet__enabled=True, akismet__key=KEY)
    others.answers[CHECK] = "true"
    verdict = await checked(app.services.outside.checks, attempt(site))
    assert verdict
    assert (verdict.kind, verdict.reasons[0].sentence) == ("hold", "Akismet calls it spam")
    others.headers["X-akismet-pro-tip"] = "discard"
    verdict = await checked(app.services.outside.checks, attempt(site))
    assert verdict
    assert (verdict.kind, verdict.error().message) == ("refuse", "Content rejected: spam")


@pytest.mark.parametrize(
    ("answer", "why"), [("invalid", "it does not know the key"), ("maybe", "neither true nor false"), ("", "neither")]
)
async def test_any_other_word_is_no_answer(
    answer: str, why: str, app: Application, change: Change, others: Others
) -> None:
    site = await change(akismet__enabled=True, akismet__key=KEY)
    others.answers[CHECK] = answer
    verdict = await checked(app.services.outside.checks, attempt(site))
    assert verdict
    assert verdict.kind == "hold"
    assert why in verdict.reasons[0].sentence


async def moderated(app: Application, site: NewSite, comment_id: str, action: str, by: str | None) -> None:
    """The event that a moderator's decision leaves in the outbox."""
    event = {"type": "moderated", "comment_id": comment_id, "action": action, "by": by, "user_id": by}
    keys = app.services.keys.site(site.site.id)
    await app.services.store.redis.xadd(keys.outbox(), {"event": msgspec.json.encode(event)})
    app.services.outbox.wake(site.site.id)
    await until(lambda: outbox_is_empty(app, site), "the outbox to be empty")


async def outbox_is_empty(app: Application, site: NewSite) -> bool:
    return bool(await app.services.store.redis.xlen(app.services.keys.site(site.site.id).outbox()) == 0)


async def write(http: httpx.AsyncClient, site: NewSite, text: str) -> str:
    body = {"page_url": "https://blog.example.org/post", "content": text, "author_name": "Bob"}
    answer = await post(http, site, "/v1/comments", body)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["comment"]["i"])


@pytest.mark.parametrize(
    ("called_spam", "action", "reported"),
    [
        (False, "spam", SPAM),
        (True, "spam", None),
        (True, "approve", HAM),
        (False, "approve", None),
        (False, "reject", None),
        (False, "undo_spam", HAM),
        (True, "undo_approve", SPAM),
    ],
)
async def test_moderators_who_know_better_teach_it(
    called_spam: bool,
    action: str,
    reported: str | None,
    app: Application,
    http: httpx.AsyncClient,
    new_site: NewSite,
    change: Change,
    others: Others,
    jane: Person,
) -> None:
    comment_id = await write(http, new_site, "Buy gold")
    site = await change(akismet__enabled=True, akismet__key=KEY)
    others.answers[CHECK] = "true" if called_spam else "false"
    await checked(app.services.outside.checks, attempt(site, text="Buy gold"))
    others.calls.clear()
    await moderated(app, new_site, comment_id, action, by=jane.id)
    assert others.paths() == ([reported] if reported else [])
    if reported:
        form = others.calls[0].form
        assert (form["comment_content"], form["comment_author"], form["api_key"]) == ("Buy gold", "Bob", KEY)
        assert form["permalink"] == "https://blog.example.org/post"
        assert form["user_ip"] == "0.0.0.0"


async def test_it_learns_from_real_decisions(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, change: Change, others: Others, jane: Person
) -> None:
    comment_id = CommentId(await write(http, new_site, "Buy gold"))
    site = await change(akismet__enabled=True, akismet__key=KEY)
    moderator = await app.services.sessions.viewer(jane.token, site.id)
    decided = await app.services.decisions.decide(site, comment_id, "spam", by=moderator)
    await until(lambda: SPAM in others.paths(), "Akismet to be told of the spam")
    await app.services.undo.undo(site, decided.entry_id, by=moderator)
    await until(lambda: HAM in others.paths(), "Akismet to be told that it was none")
    assert others.paths() == [SPAM, HAM]


async def test_taking_back_a_second_decision_like_the_first_unsays_nothing(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, change: Change, others: Others, jane: Person
) -> None:
    comment_id = CommentId(await write(http, new_site, "Buy gold"))
    site = await change(akismet__enabled=True, akismet__key=KEY)
    others.answers[CHECK] = "true"
    await checked(app.services.outside.checks, attempt(site, text="Buy gold"))
    moderator = await app.services.sessions.viewer(jane.token, site.id)
    others.calls.clear()
    for _ in range(2):
        decided = await app.services.decisions.decide(site, comment_id, "approve", by=moderator)
    await app.services.undo.undo(site, decided.entry_id, by=moderator)
    await app.services.outbox.drain()
    await until(lambda: len(others.paths()) == 2, "Akismet to be told of both approvals")
    assert others.paths() == [HAM, HAM]


async def test_it_hears_nothing_when_it_is_off_or_nobody_decided(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, change: Change, others: Others, jane: Person
) -> None:
    comment_id = await write(http, new_site, "Buy gold")
    await moderated(app, new_site, comment_id, "spam", by=jane.id)
    await change(akismet__enabled=True, akismet__key=KEY)
    await moderated(app, new_site, comment_id, "spam", by=None)
    assert others.calls == []


async def test_a_report_that_fails_is_tried_again_and_one_that_is_refused_is_not(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, change: Change, others: Others, jane: Person
) -> None:
    comment_id = await write(http, new_site, "Buy gold")
    await change(akismet__enabled=True, akismet__key=KEY)
    retrying = app.services.keys.site(new_site.site.id).outbox_retrying()
    others.lies[SPAM] = "500"
    await moderated(app, new_site, comment_id, "spam", by=jane.id)
    assert await app.services.store.redis.hlen(retrying) == 1
    await app.services.store.redis.delete(retrying, app.services.keys.site(new_site.site.id).outbox_due())
    others.lies, others.answers[SPAM] = {}, "Invalid key"
    await moderated(app, new_site, comment_id, "spam", by=jane.id)
    assert await app.services.store.redis.exists(retrying) == 0
    assert others.paths() == [SPAM, SPAM]
