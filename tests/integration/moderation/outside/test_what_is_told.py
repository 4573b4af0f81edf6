"""What outside checks say reaches moderators in full, and authors only as far as it helps them."""

from typing import Any

import httpx
import pytest

from tests.integration.comments.test_comments import outline, read, write
from tests.integration.moderation.outside.attempts import attempt, checked
from tests.integration.moderation.outside.conftest import Change
from tests.integration.moderation.outside.others import CHECK, HOOK, MODERATIONS, Others
from tests.integration.moderation.outside.test_openai_shape import judged
from tests.integration.moderation.outside.test_trouble import ALL_ON, SWITCHES
from tests.integration.moderation.test_decisions import decide, staff
from tests.integration.moderation.test_reports import report
from tests.people import Person
from threadkit.app import Application
from threadkit.sites.model import NewSite

INTERNAL = ("Akismet", "webhook", "moderation service", "could not be asked", "0.91")


async def told(person: Person) -> list[str]:
    (item,) = (await person.call("GET", "/v1/users/me/comments")).json()["comments"]
    reasons: list[str] = item["reasons"]
    return reasons


@pytest.mark.parametrize(
    ("path", "answer", "sentence", "author_hears"),
    [
        (CHECK, "true", "Akismet calls it spam", "it looks like spam"),
        (MODERATIONS, judged(hate=0.91), "the moderation service sees hate speech (0.91)", "hate speech"),
        (HOOK, {"verdict": "hold", "reason": "odd"}, "odd", "odd"),
    ],
)
async def test_authors_are_told_less_than_moderators(
    path: str,
    answer: Any,
    sentence: str,
    author_hears: str,
    app: Application,
    http: httpx.AsyncClient,
    new_site: NewSite,
    change: Change,
    others: Others,
    jane: Person,
) -> None:
    mo = await staff(app, http, new_site)
    await change(**SWITCHES[path], content_moderation__action="queue")
    others.answers[path] = answer
    assert (await write(jane, "hello"))["s"] == "pending"
    (item,) = (await mo.call("GET", "/v1/moderation/queue")).json()["items"]
    assert sentence in item["reasons"][0]
    assert await told(jane) == [author_hears]


@pytest.mark.parametrize("lie", ["500", "down"])
async def test_a_check_that_fails_is_no_business_of_the_authors(
    lie: str,
    app: Application,
    http: httpx.AsyncClient,
    new_site: NewSite,
    change: Change,
    others: Others,
    jane: Person,
) -> None:
    mo = await staff(app, http, new_site)
    await change(**ALL_ON)
    others.lies = dict.fromkeys(SWITCHES, lie)
    if lie == "down":
        others.close()
    await write(jane, "hello")
    (item,) = (await mo.call("GET", "/v1/moderation/queue")).json()["items"]
    assert all("could not be asked" in reason for reason in item["reasons"])
    assert set(await told(jane)) == {"somebody looks at the first comments of new authors"}


async def test_a_note_of_a_check_reaches_moderators_and_nobody_else(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, change: Change, others: Others, jane: Person
) -> None:
    mo = await staff(app, http, new_site)
    await change(content_moderation__enabled=True, content_moderation__action="flag")
    others.answers[MODERATIONS] = judged(hate=0.91)
    comment = await write(jane, "hm")
    assert outline(await read(http, new_site)) == ["hm"], "a note holds nothing up"
    note = "the moderation service sees hate speech (0.91)"
    card = (await mo.call("GET", f"/v1/moderation/users/{jane.id}")).json()
    assert [one["flags"] for one in card["comments"]] == [[note]]
    await report(mo, comment)
    (item,) = (await mo.call("GET", "/v1/moderation/queue")).json()["items"]
    assert (item["flags"], item["reasons"]) == ([note], ["reported by a moderator"])
    for path in ("/v1/users/me/comments", "/v1/users/me/export", f"/v1/users/{jane.id}/comments"):
        answer = await jane.call("GET", path)
        assert [word for word in INTERNAL if word in answer.text] == [], path


async def test_a_note_is_no_reason_that_an_author_hears_when_something_else_holds_it(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, change: Change, others: Others, jane: Person
) -> None:
    mo = await staff(app, http, new_site)
    await change(**SWITCHES[HOOK], content_moderation__enabled=True, content_moderation__action="flag")
    others.answers |= {MODERATIONS: judged(hate=0.91), HOOK: {"verdict": "hold", "reason": "odd"}}
    await write(jane, "hm")
    (item,) = (await mo.call("GET", "/v1/moderation/queue")).json()["items"]
    assert len(item["reasons"]) == len(item["flags"]) == 1
    assert await told(jane) == ["odd"]


async def test_a_check_that_breaks_does_not_silence_the_others(
    app: Application, change: Change, others: Others, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = await change(**ALL_ON)
    others.answers[HOOK] = {"verdict": "refuse", "reason": "no"}
    broken = next(check for check in app.services.outside.checks._checks if check.name == "Akismet")

    async def breaks(*args: Any) -> None:
        raise ZeroDivisionError("nobody thought of that")

    monkeypatch.setattr(broken, "judge", breaks)
    verdict = await checked(app.services.outside.checks, attempt(site))
    assert verdict
    assert (verdict.kind, verdict.error().message) == ("refuse", "Content rejected: no")
    others.answers[HOOK] = {"verdict": "pass"}
    verdict = await checked(app.services.outside.checks, attempt(site))
    assert verdict
    assert [reason.code for reason in verdict.reasons] == ["outside_check_failed"]
    assert "nobody thought of that" not in verdict.reasons[0].sentence


@pytest.mark.parametrize("state", ["shown", "held", "rejected"])
async def test_a_note_of_a_check_outlives_an_edit_and_the_new_text_gets_its_own(
    app: Application,
    http: httpx.AsyncClient,
    new_site: NewSite,
    change: Change,
    others: Others,
    jane: Person,
    state: str,
) -> None:
    mo = await staff(app, http, new_site)
    await change(**SWITCHES[HOOK], content_moderation__enabled=True, content_moderation__action="flag")
    others.answers[MODERATIONS] = judged(hate=0.91)
    comment = await write(jane, "hm")
    if state == "rejected":
        await decide(mo, "reject", comment["i"])
    others.answers[MODERATIONS] = judged(violence=0.88)
    if state == "held":
        others.answers[HOOK] = {"verdict": "hold", "reason": "odd"}
    assert (await jane.call("PUT", f"/v1/comments/{comment['i']}", {"content": "hm, hm"})).status_code == 200
    card = (await mo.call("GET", f"/v1/moderation/users/{jane.id}")).json()
    ((first, second),) = [one["flags"] for one in card["comments"]]
    assert ("hate speech" in first, "violence" in second) == (True, True)
    card = await jane.call("PUT", f"/v1/comments/{comment['i']}", {"content": "hm, hm, hm"})
    assert [word for word in INTERNAL if word in card.text] == []
