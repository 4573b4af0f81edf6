"""Every hostile text in every field, as a broken store would hand it out: nothing runs on the moderators' page or in the
embed. THREADKIT_SOAK=1 takes all of the corpus, otherwise a few. T9, T10, G6."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from playwright.async_api import expect

from tests.e2e.conftest import Host, Talk
from tests.e2e.moderating import newsroom
from tests.e2e.test_hostile_content import CORPUS, FIRED, WATCH, cleaned, texts
from tests.integration.server.program import Server

EVERY = 1 if os.environ.get("THREADKIT_SOAK") else 200
A_PAGE = 300
# What the pages decide by stays as it is; HTML is what the server's cleaning leaves of a text.
_KEPT = {
    "i",
    "id",
    "a",
    "by",
    "user_id",
    "comment_id",
    "page_id",
    "site_id",
    "status",
    "action",
    "at",
    "until",
    "x",
    "m",
}
_KEPT |= {"created_at", "kind", "reason_code", "state", "next", "reporter_id", "s", "parent_id", "job_id", "role", "v"}
POKE = """
for (const one of document.querySelectorAll('main *'))
  for (const name of ['mouseover', 'mouseenter', 'pointerenter', 'focus', 'toggle', 'error', 'load', 'animationstart'])
    one.dispatchEvent(new Event(name, {bubbles: false}));
"""
_IN_SHADOW = "[...document.querySelectorAll('thread-kit')].flatMap((one) => [...one.shadowRoot.querySelectorAll('*')])"
FORBIDDEN = "main :is(script, iframe, object, embed, svg svg, [onerror], [onload], a[href^='javascript' i])"

pytestmark = [
    pytest.mark.skipif(not CORPUS.is_dir(), reason="the hostile texts lie beside the project, not here"),
    pytest.mark.timeout(1800),
]


def batches() -> Iterator[list[str]]:
    chosen = texts()[::EVERY]
    for start in range(0, len(chosen), A_PAGE):
        yield chosen[start : start + A_PAGE]


def filled(value: Any, text: str, name: str = "") -> tuple[Any, int]:
    """The same thing with the text in every field that people can fill; how many there were."""
    if isinstance(value, dict):
        found = {key: filled(inner, text, key) for key, inner in value.items()}
        return {key: inner for key, (inner, _) in found.items()}, sum(count for _, count in found.values())
    if isinstance(value, list):
        inner = [filled(one, text, name) for one in value]
        return [one for one, _ in inner], sum(count for _, count in inner)
    if name == "h":
        return cleaned(text) or "", 1
    if not isinstance(value, str) or name in _KEPT:
        return value, 0
    return text, 1


def saying(answer: dict[str, Any]) -> Callable[[Any], Any]:
    return lambda route: route.fulfill(json=answer)


class Forger:
    """Answers a call of the page with things made of a real one and of the next texts."""

    def __init__(self, field: str) -> None:
        self._field = field
        self.batch: list[str] = []
        self.fields = 0

    async def __call__(self, route: Any) -> None:
        answer = await route.fetch()
        found = await answer.json()
        real = found[self._field][0]
        made = [filled(real, text) for text in self.batch]
        self.fields = max([count for _, count in made], default=0)
        unique = [one | {"id": f"{one.get('id', '')}{number}"} for number, (one, _) in enumerate(made)]
        if "names" in found:
            found["names"] = dict.fromkeys(found["names"], self.batch[0])
        await route.fulfill(response=answer, json=found | {self._field: unique})


VIEWS = {
    "queue": ("**/v1/moderation/queue?**", "items", "article"),
    "reports": ("**/v1/moderation/reports**", "items", "article"),
    "people": ("**/v1/moderation/users?**", "people", ".person-row"),
    "log": ("**/v1/moderation/log?**", "entries", ".log li"),
}


@pytest.mark.parametrize("view", VIEWS)
async def test_no_field_of_the_moderators_page_executes_anything(
    server: Server, visit: Any, api: httpx.Client, view: str
) -> None:
    room = newsroom(server, visit, api, moderation_mode="none", screening__words__hold="casino")
    ada, ben, mona = room.author("ada"), room.author("ben"), room.staff("mona")
    shown = room.talk.post("an opinion", ada, title="A title")
    room.talk.post("casino", ada, shown)
    room.talk.call("POST", f"/v1/comments/{shown}/report", ben, {"reason": "other", "details": "details"})
    room.talk.call("POST", f"/v1/moderation/ban/{ben.id}", mona, {"hours": 24, "reason": "a reason"})
    address, field, row = VIEWS[view]
    forger, tried = Forger(field), 0
    desk = await room.desk(mona, bypass_csp=True)
    await desk.page.add_init_script(WATCH)
    await desk.page.route(address, forger)
    left: list[str] = []
    desk.page.on("dialog", lambda dialog: left.append(dialog.message))
    for batch in batches():
        forger.batch = batch
        await desk.page.goto(f"{desk.url}/mod#/{view}")
        await desk.page.reload()
        await expect(desk.page.locator(row).first).to_be_visible()
        await desk.page.evaluate(POKE)
        assert await desk.page.evaluate(FIRED) == [], view
        assert await desk.page.locator(FORBIDDEN).count() == 0
        tried += len(batch) * forger.fields
    assert left == []
    print(f"\nG6: {view}: {len(texts()[::EVERY])} texts × {forger.fields} fields = {tried}, 0 executions")


async def test_no_field_of_the_embed_executes_anything(host: Host, talk: Talk, member: Any, visit: Any) -> None:
    ada = member("ada")
    talk.post("an opinion", ada, title="A title")
    url = host.put("/hostile-fields", host.line(url=talk.url), is_strict=False)
    reader = await visit()
    await reader.page.add_init_script(WATCH)
    real = talk.call("GET", f"/v1/comments?page_url={talk.url}")["tree"]["c"][0] | {"p": "https://a.example/a.png"}
    fields = 0
    for batch in batches():
        made = [filled(real, text) for text in batch]
        fields = made[0][1]
        comments = [one | {"i": f"00000000-0000-7000-8000-{n:012}"} for n, (one, _) in enumerate(made)]
        answer = {"page_id": "p", "tree": {"c": comments, "u": 1}, "total": len(comments), "version": 1}
        await reader.page.unroute("**/v1/comments?**")
        await reader.page.route("**/v1/comments?**", saying(answer))
        await reader.open(url)
        await reader.page.evaluate(POKE.replace("document.querySelectorAll('main *')", _IN_SHADOW))
        assert await reader.page.evaluate(FIRED) == []
    print(f"\nG6: embed: {len(texts()[::EVERY])} texts × {fields} fields, 0 executions")
