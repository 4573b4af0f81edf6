"""Everything the first comments need is asked for at once, and a long thread stays smooth."""

import asyncio
import os
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
import pytest_asyncio
from playwright.async_api import Route, expect

from tests.e2e.conftest import Member, Talk
from tests.hosting import Host
from tests.integration.server.program import Server
from tests.phone import ROOT, SLOWER, VIEWPORT, Phone
from tests.wait import until

# Beside other tests the machine is slow enough; with THREADKIT_SOAK=1, alone, it is held to a mid-range phone's pace.
IS_ALONE = bool(os.environ.get("THREADKIT_SOAK"))
LONGEST_TASK_MS = 100 if IS_ALONE else 250
THREADS, PER_THREAD = 33, 31
FIRST = (
    "/app.",
    "/view.",
    "/thread.",
    "/api.",
    "/dom.",
    "/words.",
    "/style.",
    "/locales/",
    "/v1/comments?",
    "/v1/site",
)

pytestmark = pytest.mark.prove


@pytest.mark.parametrize("is_signed_in", [False, True])
async def test_comments_modules_looks_and_words_are_asked_for_before_any_has_answered(
    talk: Talk, member: Any, visit: Any, is_signed_in: bool
) -> None:
    talk.post("Quick", member("ada"))
    reader = await visit()
    if is_signed_in:
        await reader.sign_in(member("ben"))
    asked: list[str] = []
    asked_permission: list[bool] = []
    may_go = asyncio.Event()

    async def hold(route: Route) -> None:
        asked.append(route.request.url)
        asked_permission.append("projectid" in route.request.headers)
        await may_go.wait()
        await route.continue_()

    await reader.page.route(re.compile("/embed/|/v1/"), hold)
    await reader.page.goto(talk.url)
    await until(lambda: len(asked) >= len(FIRST), "all that the first comments need")
    assert all(any(part in url for url in asked) for part in FIRST), asked
    assert len(set(asked)) == len(asked) == len(FIRST)
    # Headers of ours cost a browser a round trip before the request; only who is signed in needs them.
    assert any(asked_permission) is is_signed_in
    may_go.set()
    await expect(reader.comment("Quick")).to_be_visible()


@pytest.fixture(scope="module")
def long_talk(server: Server, host: Host) -> Iterator[Talk]:
    """A thousand comments: threads of five replies with five answers each."""
    text = "something to read that is about as long as most comments are, or a little longer than that."
    with httpx.Client(base_url=server.url, timeout=30) as api, ThreadPoolExecutor(8) as writers:
        talk = Talk(api, host.put("/long", host.line()))
        made = talk.as_owner("POST", "/v1/admin/create-user", {"name": "long-talker"})
        writer = Member(made["user"]["id"], "long-talker", made)

        def thread(number: int) -> None:
            root = talk.post(f"Thread {number}: {text}", writer)
            for reply in [talk.post(f"Reply: {text}", writer, root) for _ in range(5)]:
                for _ in range(5):
                    talk.post(f"Answer: {text}", writer, root, reply)

        list(writers.map(thread, range(THREADS)))
        yield talk


@pytest_asyncio.fixture(loop_scope="session")
async def phone(visit: Any) -> Phone:
    found = Phone((await visit(viewport=VIEWPORT)).page)
    await found.watch()
    return found


async def test_a_thousand_comments_stay_smooth(long_talk: Talk, member: Any, phone: Phone) -> None:
    await phone.slow_down(SLOWER if IS_ALONE else 1)
    await phone.open(long_talk.url)
    await phone.is_at_rest()
    await phone.read_to_the_end()
    assert await phone.page.get_by_test_id("comment").count() >= THREADS * PER_THREAD
    long_talk.post("One more, live", member("ada"))
    await phone.page.wait_for_function(f"() => {ROOT}.querySelectorAll('.fresh').length === 1")
    assert await phone.longest_task_ms() <= LONGEST_TASK_MS


# What is drawn, from top to bottom, against what the thread holds.
IN_ORDER = f"""() => JSON.stringify([...{ROOT}.querySelectorAll('article')].map((one) => one.dataset.id))
  === JSON.stringify([...document.querySelector('thread-kit').thread.tree()])"""
AT_FIRST = """
window.shifted = 0;
new PerformanceObserver((list) => { for (const one of list.getEntries()) window.shifted += one.value })
  .observe({type: 'layout-shift', buffered: true});
document.addEventListener('threadkit:ready', ({target}) => {
  window.atFirst = target.shadowRoot.querySelectorAll('article').length;
  window.onFirst?.(target);
});
"""


async def test_a_long_window_begins_with_a_screenful_and_grows_downwards(long_talk: Talk, phone: Phone) -> None:
    await phone.page.add_init_script(AT_FIRST)
    await phone.slow_down(SLOWER)
    await phone.open(long_talk.url)
    await phone.is_at_rest()
    at_first, shown = await phone.page.evaluate(f"[atFirst, {ROOT}.querySelectorAll('article').length]")
    assert 10 <= at_first < shown
    assert shown >= 25 * PER_THREAD
    assert await phone.page.evaluate(IN_ORDER)
    assert await phone.page.evaluate("shifted") < 0.01


async def test_what_others_do_while_a_window_is_drawn_finds_its_place(long_talk: Talk, phone: Phone) -> None:
    """A reply under what is not drawn yet, a new thread, and one that goes: each before the second slice."""
    await phone.page.add_init_script(AT_FIRST)
    await phone.page.add_init_script("""window.onFirst = (app) => {
      const {thread} = app;
      const made = (i, q) => ({i, q, a: "a", n: "ada", p: null, k: 0, t: i, h: i, u: 0, d: 0, x: 1, m: 1});
      const last = thread.roots.at(-1);
      window.wasDrawn = app.views.has(last);
      for (const wire of [made("reply", last), made("root")]) {
        thread.add(wire);
        app.show(wire.i);
      }
      thread.drop(thread.roots.at(-3));
    }""")
    await phone.slow_down(SLOWER)
    await phone.open(long_talk.url)
    await phone.is_at_rest()
    assert not await phone.page.evaluate("wasDrawn")
    assert await phone.page.evaluate(IN_ORDER)
    assert await phone.page.locator("[data-id=reply], [data-id=root]").count() == 2


async def test_a_link_leads_to_what_is_not_drawn_yet(long_talk: Talk, phone: Phone) -> None:
    await phone.page.add_init_script(AT_FIRST)
    await phone.page.add_init_script("""window.onFirst = (app) => {
      window.wanted = [...app.thread.tree()].at(-1);
      window.wasDrawn = app.views.has(wanted);
      location.hash = `comment-${wanted}`;
    }""")
    await phone.slow_down(SLOWER)
    await phone.open(long_talk.url)
    await phone.is_at_rest()
    assert not await phone.page.evaluate("wasDrawn")
    found = phone.page.locator(".highlight")
    await expect(found).to_have_attribute("data-id", await phone.page.evaluate("wanted"))
    await expect(found).to_be_in_viewport()
    await expect(found).to_be_focused()
