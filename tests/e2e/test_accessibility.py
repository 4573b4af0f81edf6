"""axe finds nothing, in any state that a visitor can bring about."""

from typing import Any

import pytest
from playwright.async_api import expect

from tests.e2e.conftest import Host, Member, Talk, Visitor


@pytest.fixture
def full(talk: Talk, member: Any) -> Member:
    """A page with a bit of everything. Returns somebody who wrote there."""
    ada, ben = member("ada"), member("ben")
    root = talk.post("A **root** with `code`, a [link](https://example.org) and\n\n> a quote", ada)
    talk.post("A reply", ben, root)
    gone = talk.post("Gone", ben)
    talk.post("An answer to what is gone", ada, gone)
    talk.call("DELETE", f"/v1/comments/{gone}", ben)
    changed = talk.post("Before", ben)
    talk.call("PUT", f"/v1/comments/{changed}", ben, {"content": "After"})
    talk.vote(changed, *(member("critic") for _ in range(5)), direction="down")
    talk.vote(root, ben)
    talk.post("From a guest", talk.guest("Gus"))
    return ada  # type: ignore[no-any-return]


def lenient(host: Host, talk: Talk, **options: str) -> str:
    """axe is a string that is evaluated, which the strict page forbids."""
    return host.put("/lenient", host.line(url=talk.url, **options), is_strict=False)


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.prove)])
async def test_a_thread_and_all_that_opens_in_it(
    host: Host, talk: Talk, full: Member, visit: Any, theme: str, member: Any
) -> None:
    visitor: Visitor = await visit()
    await visitor.sign_in(full)
    await visitor.open(lenient(host, talk, theme=theme))
    await visitor.page.evaluate(
        "theme => { document.body.style.background = theme === 'dark' ? '#111' : '#fff' }", theme
    )
    await visitor.is_connected()
    await visitor.is_accessible()
    await visitor.shot(f"thread-{theme}")
    await visitor.box.fill("Something @ad")
    await visitor.is_accessible()
    await visitor.page.keyboard.press("Escape")
    await visitor.button("Preview").click()
    await visitor.is_accessible()
    await visitor.comment("A reply").get_by_role("button", name="Reply").click()
    await visitor.page.get_by_placeholder("Write a reply").fill("Hm")
    await visitor.is_accessible()
    await visitor.comment("A reply").get_by_test_id("comment-menu").click()
    await visitor.is_accessible()
    await visitor.shot(f"menu-{theme}")
    await visitor.page.get_by_role("menuitem", name="Report").click()
    await visitor.is_accessible()
    await visitor.page.keyboard.press("Escape")
    await visitor.menu("A root", "Delete")
    await visitor.is_accessible()
    await visitor.button(full.name).first.click()
    await expect(visitor.page.get_by_text("This device")).to_be_visible()
    await visitor.is_accessible()
    await visitor.page.keyboard.press("Escape")
    await visitor.page.locator("thread-kit .bell").click()
    await expect(visitor.page.get_by_text("replied to you").first).to_be_visible()
    await visitor.is_accessible()
    await visitor.page.keyboard.press("Escape")
    talk.post("Fresh", member("cleo"))
    await expect(visitor.button("1 new comment")).to_be_visible()
    await visitor.is_accessible()


async def test_an_empty_page_and_the_ways_in(host: Host, talk: Talk, visit: Any) -> None:
    visitor: Visitor = await visit()
    await visitor.open(lenient(host, talk))
    await visitor.is_accessible()
    await visitor.button("Sign in").click()
    await visitor.is_accessible()
    await visitor.button("Use a password").click()
    await visitor.is_accessible()


async def test_a_page_without_a_server(host: Host, talk: Talk, visit: Any) -> None:
    visitor: Visitor = await visit()
    await visitor.page.route("**/v1/comments?**", lambda route: route.abort())
    await visitor.page.goto(lenient(host, talk))
    await expect(visitor.button("Try again")).to_be_visible()
    await visitor.is_accessible()


async def test_right_to_left(host: Host, talk: Talk, full: Member, visit: Any) -> None:
    visitor: Visitor = await visit()
    await visitor.sign_in(full)
    await visitor.open(lenient(host, talk, lang="ar"))
    await expect(visitor.page.locator("[data-threadkit-root]")).to_have_attribute("dir", "rtl")
    outer, inner = await visitor.comment("A root").bounding_box(), await visitor.comment("A reply").bounding_box()
    assert outer
    assert inner
    assert inner["x"] + inner["width"] < outer["x"] + outer["width"]
    await visitor.is_accessible()
    await visitor.shot("right-to-left")


@pytest.mark.parametrize(("width", "zoom"), [(320, 1), pytest.param(640, 2, marks=pytest.mark.prove)])
async def test_narrow_or_enlarged_nothing_needs_scrolling_sideways(
    host: Host, talk: Talk, full: Member, visit: Any, member: Any, width: int, zoom: int
) -> None:
    ada, path = member("ada"), [talk.post("Deep down", full)]
    for level in range(9):
        path.append(talk.post(f"Level {level} of a conversation that goes on and on", ada, *path))
    talk.post("A" * 300 + " https://example.org/" + "b" * 300, ada)
    # Zoom of 200 % means half as many pixels for the page.
    visitor: Visitor = await visit(
        viewport={"width": width // zoom, "height": 700}, device_scale_factor=zoom, is_mobile=zoom == 1
    )
    await visitor.sign_in(full)
    await visitor.open(f"{lenient(host, talk)}#comment-{path[-1]}")
    await expect(visitor.page.locator(".highlight")).to_have_count(1)
    await visitor.box.fill("Hello")
    fits = "document.documentElement.scrollWidth <= innerWidth"
    assert await visitor.page.evaluate(fits)
    await visitor.is_accessible()
    await visitor.shot(f"narrow-{zoom}")
    await visitor.button(full.name).first.click()
    await expect(visitor.page.get_by_text("This device")).to_be_visible()
    assert await visitor.page.evaluate(fits)
    box = await visitor.page.get_by_role("dialog").bounding_box()
    assert box
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width // zoom
    await visitor.is_accessible()
    await visitor.shot(f"narrow-account-{zoom}", full=False)


async def test_who_wants_less_motion_gets_none(talk: Talk, full: Member, visit: Any) -> None:
    visitor: Visitor = await visit(reduced_motion="reduce")
    await visitor.open(talk.url)
    moving = "[...document.querySelector('thread-kit').shadowRoot.querySelectorAll('*')]"
    moving += ".filter((one) => one.getAnimations().length).length"
    assert await visitor.page.evaluate(moving) == 0
