"""Hostile names, texts, pictures and titles from the store: nothing of it runs in a reader's browser."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import PUBLIC, Host, Talk

CORPUS = Path(__file__).parents[2].parent / "shared/data/hostile"
PER_COMMENT = 40
WATCH = """
window.fired = [];
for (const name of ['alert', 'confirm', 'prompt', 'open', 'print']) window[name] = () => fired.push(name);
window.before = new Set(Object.getOwnPropertyNames(window));
"""
FIRED = """fired.concat(Object.getOwnPropertyNames(window).filter(
  (name) => !before.has(name) && !['before', 'ThreadKit'].includes(name)))"""
# Moves over, into and out of everything, which is what many of them wait for.
POKE = """
for (const root of [document, ...[...document.querySelectorAll('thread-kit')].map((one) => one.shadowRoot)])
  for (const one of root.querySelectorAll('thread-kit, .body *, .control *'))
    for (const name of ['mouseover', 'mouseenter', 'focus', 'pointerenter', 'toggle', 'error', 'load', 'animationstart'])
      one.dispatchEvent(new Event(name, {bubbles: true}));
"""


def texts() -> list[str]:
    found: list[str] = []
    for name in ("dompurify-payloads", "xss-payloads", "naughty-strings"):
        found += json.loads((CORPUS / f"{name}.json").read_text())
    return found


def bundles(every: int) -> list[str]:
    """Many in one comment, each a paragraph of its own; the wilder list is long, so every so many-th of it."""
    chosen = [text for text in texts() if text.strip() and "\x00" not in text and len(text) < 2000][::every]
    return ["\n\n".join(chosen[at : at + PER_COMMENT])[:9900] for at in range(0, len(chosen), PER_COMMENT)]


pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="the hostile texts lie beside the project, not here")


async def test_hostile_texts_execute_nothing(host: Host, talk: Talk, member: Any, visit: Any) -> None:
    ada = member("ada")
    for text in bundles(3):
        answer = talk.api.post(
            "/v1/comments",
            json={"page_url": talk.url, "content": text, "title": "<img src=x onerror=alert(1)>"},
            headers={"projectid": PUBLIC, **ada.headers},
        )
        assert answer.status_code < 500, answer.text
    # The lenient page: the policy of the strict one would hide what our own cleaning lets through.
    url = host.put("/hostile", host.line(url=talk.url, sort="new"), is_strict=False)
    reader = await visit()
    await reader.page.add_init_script(WATCH)
    left: list[str] = []
    reader.page.on("dialog", lambda dialog: left.append(dialog.message))
    reader.page.on("framenavigated", lambda frame: left.append(frame.url))
    await reader.open(url)
    left.clear()
    while await reader.button("Load more comments").count():
        shown = await reader.page.get_by_test_id("comment").count()
        await reader.button("Load more comments").click(timeout=60_000)
        await reader.page.get_by_test_id("comment").nth(shown).wait_for(state="attached", timeout=60_000)
    assert await reader.page.get_by_test_id("comment").count() >= 20
    await reader.page.evaluate(POKE)
    await reader.is_connected()
    assert await reader.page.evaluate(FIRED) == []
    assert left == []
    assert (
        await reader.page.locator("[data-testid=comment] :is(script, iframe, object, embed, form, svg svg)").count()
        == 0
    )


async def test_hostile_names_and_pictures_execute_nothing(host: Host, talk: Talk, visit: Any) -> None:
    names = ["<img src=x onerror=alert(1)>", '"><svg onload=alert(1)>', "{{7*7}}", "\u202egnp.exe", "'-alert(1)-'"]
    pictures = [
        "javascript:alert(1)",
        "data:text/html,<script>alert(1)</script>",
        'https://x.invalid/"onerror="alert(1)',
    ]
    for number, name in enumerate(names):
        comment = {"i": f"00000000-0000-7000-8000-00000000000{number}", "a": f"{name}", "n": name, "k": 0, "t": name}
        talk_to = {"h": "<p>text</p>", "u": 0, "d": 0, "x": 1, "m": 1, "p": pictures[number % len(pictures)]}
        names[number] = json.dumps(comment | talk_to)  # as a broken store would hand it out
    answer = {"page_id": "p", "tree": {"c": [json.loads(one) for one in names], "u": 1}, "total": 5, "version": 1}
    reader = await visit()
    await reader.page.add_init_script(WATCH)
    await reader.page.route("**/v1/comments?**", lambda route: route.fulfill(json=answer))
    await reader.open(host.put("/hostile-names", host.line(url=talk.url), is_strict=False))
    assert await reader.page.get_by_test_id("comment").count() == 5
    await reader.page.evaluate(POKE)
    assert await reader.page.evaluate(FIRED) == []


async def test_the_same_texts_would_be_noticed_if_nobody_cleaned_them(host: Host, visit: Any) -> None:
    """The control: without cleaning they do run, so silence above means something."""
    reader = await visit()
    await reader.page.add_init_script(WATCH)
    await reader.page.goto(host.put("/control", "<div class='control'></div>", is_strict=False))
    await reader.page.evaluate(
        "html => { document.querySelector('.control').innerHTML = html }", "".join(texts()[:400])
    )
    await reader.page.evaluate(POKE)
    await reader.page.wait_for_function("fired.length > 5")
