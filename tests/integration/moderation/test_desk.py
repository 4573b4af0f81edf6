"""What helps to decide: the author's record, the page, the thread around a comment, what reporters said, and the log."""

from typing import Any
from urllib.parse import urlencode

import httpx
import pytest

from tests.integration.comments.test_comments import URL
from tests.integration.moderation.test_decisions import decide, staff
from tests.make import ManualClock
from tests.people import Person, create
from threadkit.app import Application
from threadkit.sites.model import NewSite, SiteSettings


@pytest.fixture
async def careful(app: Application) -> NewSite:
    return await app.services.sites.create("Careful", "blog.example.org", settings=SiteSettings(moderation_mode="pre"))


async def write(person: Person, text: str, **more: Any) -> Any:
    answer = await person.call("POST", "/v1/comments", {"page_url": URL, "content": text, "title": "A page", **more})
    assert answer.status_code == 200, answer.text
    return answer.json()["comment"]


async def test_the_queue_shows_the_authors_record_and_the_pages_title(
    app: Application, http: httpx.AsyncClient, careful: NewSite
) -> None:
    ada, mo = await create(http, careful, "ada"), await staff(app, http, careful)
    await write(mo, "I begin, and what I write is shown at once")
    first, second, _ = [await write(ada, f"number {number}") for number in range(3)]
    await decide(mo, "approve", first["i"])
    await decide(mo, "reject", second["i"])
    await app.services.outbox.drain()
    (item,) = (await mo.call("GET", "/v1/moderation/queue")).json()["items"]
    assert (item["page_title"], item["status"]) == ("A page", "pending")
    created_at = item["author"].pop("created_at")
    assert created_at.endswith("Z")
    assert item["author"] == {"is_guest": False, "comments": 3, "approved": 1, "rejected": 1}


async def test_a_comment_comes_with_the_thread_around_it(
    app: Application, http: httpx.AsyncClient, careful: NewSite, clock: ManualClock
) -> None:
    ada, mo = await create(http, careful, "ada"), await staff(app, http, careful)

    async def reply(text: str, *path: str, is_shown: bool = True) -> Any:
        clock.advance(seconds=1)
        comment = await write(ada, text, parent_path=list(path))
        if is_shown:
            await decide(mo, "approve", comment["i"])
        return comment

    root = await reply("root")
    beside = await reply("beside", root["i"])
    here = await reply("here", root["i"])
    below = await reply("below", root["i"], here["i"])
    await reply("after", root["i"])
    hidden = await reply("hidden", root["i"], is_shown=False)
    found = (await mo.call("GET", f"/v1/moderation/comments/{here['i']}")).json()
    assert found["item"]["comment"]["i"] == here["i"]
    assert [one["i"] for one in found["above"]] == [root["i"]]
    assert [one["i"] for one in found["beside"]] == [beside["i"]]
    assert [one["i"] for one in found["below"]] == [below["i"]]
    held = (await mo.call("GET", f"/v1/moderation/comments/{hidden['i']}")).json()
    assert (held["item"]["status"], held["item"]["updated_at"][:4].isdigit()) == ("pending", True)
    await decide(mo, "delete", hidden["i"])
    assert (await mo.call("GET", f"/v1/moderation/comments/{hidden['i']}")).status_code == 404


async def test_the_reports_of_one_comment(app: Application, http: httpx.AsyncClient, new_site: NewSite) -> None:
    ada, bob = await create(http, new_site, "ada"), await create(http, new_site, "bob")
    mo = await staff(app, http, new_site)
    one, other = await write(ada, "one"), await write(ada, "other")
    for comment in (one, other):
        body = {"reason": "spam", "details": f"about {comment['i']}"}
        assert (await bob.call("POST", f"/v1/comments/{comment['i']}/report", body)).status_code == 204
    (item,) = (await mo.call("GET", f"/v1/moderation/reports?comment_id={one['i']}")).json()["items"]
    assert (item["comment_id"], item["details"], item["page_title"]) == (one["i"], f"about {one['i']}", "A page")


async def test_the_log_can_be_searched_and_says_names(
    app: Application, http: httpx.AsyncClient, careful: NewSite
) -> None:
    ada, bob = await create(http, careful, "ada"), await create(http, careful, "bob")
    mo = await staff(app, http, careful)
    for author in (ada, bob):
        for action in ("approve", "reject"):
            await decide(mo, action, (await write(author, f"to {action}"))["i"])

    async def found(**asked: Any) -> Any:
        return (await mo.call("GET", f"/v1/moderation/log?{urlencode(asked)}")).json()

    everything = await found(by=mo.id)
    assert len(everything["entries"]) == 4
    assert everything["names"] == {ada.id: ada.name, bob.id: bob.name, mo.id: mo.name}
    assert [one["action"] for one in (await found(user_id=ada.id, by=mo.id))["entries"]] == ["reject", "approve"]
    page = await found(action="reject", limit=1)
    assert (len(page["entries"]), page["has_more"]) == (1, True)
    rest = await found(action="reject", limit=10, before=page["next"])
    assert ([one["user_id"] for one in rest["entries"]], rest["next"]) == ([ada.id], None)
    assert (await found(action="nothing"))["entries"] == []
