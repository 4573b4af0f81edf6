"""Everything without a mouse."""

from typing import Any

from playwright.async_api import expect

from tests.e2e.conftest import Talk

HAS_FOCUS = "document.querySelector('thread-kit').shadowRoot.activeElement"


async def test_letters_walk_through_the_thread_vote_and_reply(talk: Talk, member: Any, visit: Any) -> None:
    ada = member("ada")
    root = talk.post("One", ada)
    talk.post("Two", ada, root)
    talk.post("Three", ada)
    visitor = await visit()
    await visitor.sign_in(member("ben"))
    await visitor.open(talk.url)
    await visitor.page.get_by_test_id("sort-dropdown").focus()
    press = visitor.page.keyboard.press
    await visitor.comment("One").focus()
    await press("j")
    await expect(visitor.comment("Two")).to_be_focused()
    await press("j")
    await expect(visitor.comment("Three")).to_be_focused()
    await press("k")
    await expect(visitor.comment("Two")).to_be_focused()
    outline = await visitor.page.evaluate(f"getComputedStyle({HAS_FOCUS}).outlineStyle")
    assert outline == "solid"
    await press("u")
    await expect(visitor.comment("Two").locator(".count")).to_have_text("1")
    await press("r")
    box = visitor.page.get_by_placeholder("Write a reply")
    await expect(box).to_be_focused()
    await visitor.page.keyboard.type("jkru are letters here")
    await expect(box).to_have_value("jkru are letters here")
    await press("Escape")
    await expect(visitor.comment("Two")).to_be_focused()
    assert visitor.complaints == []


async def test_a_menu_is_walked_with_arrows_and_gives_the_focus_back(talk: Talk, member: Any, visit: Any) -> None:
    talk.post("One", member("ada"))
    visitor = await visit()
    await visitor.open(talk.url)
    menu = visitor.comment("One").get_by_test_id("comment-menu")
    press = visitor.page.keyboard.press
    await menu.focus()
    await press("Enter")
    items = visitor.page.get_by_role("menuitem")
    await expect(items.first).to_be_focused()
    await press("ArrowDown")
    await expect(items.nth(1)).to_be_focused()
    await press("End")
    await expect(items.last).to_be_focused()
    await press("ArrowDown")
    await expect(items.first).to_be_focused()
    await press("ArrowUp")
    await expect(items.last).to_be_focused()
    await press("Escape")
    await expect(items).to_have_count(0)
    await expect(menu).to_be_focused()
    await expect(menu).to_have_attribute("aria-expanded", "false")


async def test_a_dialog_keeps_the_focus_and_gives_it_back(talk: Talk, visit: Any) -> None:
    visitor = await visit()
    await visitor.open(talk.url)
    sign_in = visitor.button("Sign in")
    await sign_in.focus()
    await visitor.page.keyboard.press("Enter")
    await expect(visitor.page.get_by_placeholder("Your name")).to_be_focused()
    for _ in range(12):
        await visitor.page.keyboard.press("Tab")
        inside = await visitor.page.evaluate(f"{HAS_FOCUS} ? Boolean({HAS_FOCUS}.closest('dialog')) : true")
        assert inside
    await visitor.page.keyboard.press("Escape")
    await expect(sign_in).to_be_focused()


async def test_everything_that_takes_the_focus_shows_it(talk: Talk, member: Any, visit: Any) -> None:
    talk.post("One", member("ada"))
    visitor = await visit()
    await visitor.open(talk.url)
    await visitor.is_connected()
    await visitor.page.get_by_test_id("sort-dropdown").focus()
    shown = f"(() => {{ const one = {HAS_FOCUS}; if (!one) return 'outside'; const style = getComputedStyle(one);"
    shown += " const around = one.closest('.composer') && getComputedStyle(one.closest('.composer')).boxShadow;"
    shown += " return style.outlineStyle !== 'none' || (around && around !== 'none') })()"
    seen = 0
    for _ in range(14):
        await visitor.page.keyboard.press("Tab")
        answer = await visitor.page.evaluate(shown)
        if answer == "outside":
            break
        seen += 1
        assert answer is True
    assert seen >= 7
