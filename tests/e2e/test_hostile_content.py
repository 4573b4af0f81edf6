"""Hostile names, texts, pictures and titles from the store: nothing of it runs in a reader's browser."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import PUBLIC, Host, Member, Talk, Visitor
from threadkit.text import TooComplex, clean_source, render

CORPUS = Path(__file__).parents[2].parent / "shared/data/hostile"
LONGEST = 9900
PER_PAGE = 700
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
  for (const one of root.querySelectorAll('thread-kit, .body *'))
    for (const name of ['mouseover', 'mouseenter', 'focus', 'pointerenter', 'toggle', 'error', 'load', 'animationstart'])
      one.dispatchEvent(new Event(name, {bubbles: true}));
"""


FORBIDDEN = "[data-testid=comment] .body :is(script, iframe, object, embed, form, style, link, meta, svg, math)"


def texts() -> list[str]:
    found: list[str] = []
    for name in ("dompurify-payloads", "xss-payloads", "naughty-strings"):
        found += json.loads((CORPUS / f"{name}.json").read_text())
    return [text for text in found if text.strip()]


def bundles() -> Iterator[list[str]]:
    """As many as go into one comment, each a paragraph of its own."""
    bundle: list[str] = []
    for text in texts():
        if bundle and len("\n\n".join([*bundle, text])) > LONGEST:
            yield bundle
            bundle = []
        bundle.append(text)
    yield bundle


def write(talk: Talk, author: Member, bundle: list[str]) -> int:
    """What is too much for one comment goes into two. Says how many were written."""
    answer = talk.api.post(
        "/v1/comments",
        json={"page_url": talk.url, "content": "\n\n".join(bundle), "title": "<img src=x onerror=alert(1)>"},
        headers={"projectid": PUBLIC, **author.headers},
    )
    assert answer.status_code < 500, answer.text
    if answer.is_success:
        return 1
    half = len(bundle) // 2
    return write(talk, author, bundle[:half]) + write(talk, author, bundle[half:]) if half else 0


def cleaned(text: str) -> str | None:
    """As the server keeps it; None where it keeps nothing."""
    try:
        return render(clean_source(text)).html
    except TooComplex:
        return None


async def show(reader: Visitor, url: str, htmls: list[str]) -> None:
    """Comments with this HTML, each alone, in the embed, and touched everywhere."""
    comments = [
        {"i": f"00000000-0000-7000-8000-{number:012}", "a": "a", "n": "ada", "k": 0, "t": "", "h": html}
        | {"u": 0, "d": 0, "x": 1, "m": 1, "p": None}
        for number, html in enumerate(htmls)
    ]
    answer = {"page_id": "p", "tree": {"c": comments, "u": 1}, "total": len(comments), "version": 1}
    await reader.page.unroute("**/v1/comments?**")
    await reader.page.route("**/v1/comments?**", lambda route: route.fulfill(json=answer))
    await reader.open(url)
    assert await reader.page.get_by_test_id("comment").count() == len(htmls)
    await reader.page.evaluate(POKE)


pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="the hostile texts lie beside the project, not here")


async def test_hostile_texts_execute_nothing(host: Host, talk: Talk, member: Any, visit: Any) -> None:
    ada = member("ada")
    written = sum(write(talk, ada, bundle) for bundle in bundles())
    assert written >= 60
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
    assert await reader.page.get_by_test_id("comment").count() == written
    await reader.page.evaluate(POKE)
    await reader.is_connected()
    assert await reader.page.evaluate(FIRED) == []
    assert left == []
    assert await reader.page.locator(FORBIDDEN).count() == 0


async def test_each_hostile_text_alone_executes_nothing(host: Host, talk: Talk, visit: Any) -> None:
    """One may swallow its neighbours where many stand in one comment, as a code block does."""
    url = host.put("/hostile-alone", host.line(url=talk.url), is_strict=False)
    reader = await visit()
    await reader.page.add_init_script(WATCH)
    htmls = [html for text in texts() if (html := cleaned(text))]
    assert len(htmls) > 0.98 * len(texts())
    for at in range(0, len(htmls), PER_PAGE):
        await show(reader, url, htmls[at : at + PER_PAGE])
        assert await reader.page.evaluate(FIRED) == []
        assert await reader.page.locator(FORBIDDEN).count() == 0
        assert reader.page.url == url


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


async def test_the_same_texts_would_be_noticed_if_nobody_cleaned_them(host: Host, talk: Talk, visit: Any) -> None:
    """The control: in the same embed, without the server's cleaning, they do run, so silence above means something."""
    reader = await visit()
    await reader.page.add_init_script(WATCH)
    url = host.put("/control", host.line(url=talk.url), is_strict=False)
    hostile = [
        text for text in texts() if text.lower().startswith("<img") and "onerror" in text.lower() and "alert" in text
    ]
    await show(reader, url, ["<img src=x onerror=alert(1)>", "<svg></svg><form></form>", *hostile])
    await reader.page.wait_for_function("() => fired.length >= 50")
    print(f"\nG6: the control arm: {await reader.page.evaluate('fired.length')} executions")
    assert await reader.page.locator(FORBIDDEN).count() > 0
