"""Several threads, frames, and threads far below: links and notices lead where they should."""

from typing import Any

from playwright.async_api import expect

from tests.e2e.conftest import PUBLIC, Host, Talk

LONG = "<p>Text</p>" * 200


def two(host: Host, path: str, first: str, second: str) -> str:
    script = f'<script async src="{host.threadkit}/embed.js"></script>'
    elements = "".join(f'<thread-kit project="{PUBLIC}" url="{url}"></thread-kit>' for url in (first, second))
    return host.put(path, elements, head=script)


async def test_a_link_into_one_of_two_threads_is_not_called_gone_by_the_other(
    host: Host, talk: Talk, member: Any, visit: Any
) -> None:
    ada = member("ada")
    other = Talk(talk.api, talk.url + "-two")
    talk.post("In the first", ada)
    wanted = other.post("In the second", ada)
    gone = other.post("Gone", ada)
    other.call("DELETE", f"/v1/comments/{gone}", ada)
    reader = await visit()
    await reader.page.goto(f"{two(host, '/two', talk.url, other.url)}#comment-{wanted}")
    await expect(reader.page.locator(".highlight")).to_have_attribute("data-id", wanted)
    await expect(reader.comment("In the first")).to_be_visible()
    told = "[...document.querySelectorAll('thread-kit')].map(one => one.missed ?? null)"
    await reader.page.wait_for_function(f"wanted => {told}.includes(wanted)", arg=wanted)
    await expect(reader.page.locator(".toast")).to_have_count(0)
    # What neither has is gone, and that is said once.
    await reader.page.evaluate("id => { location.hash = `comment-${id}` }", gone)
    await expect(reader.page.locator(".toast")).to_have_text("This comment is not there any more.")
    assert [one for one in reader.complaints if "404" not in one] == []


async def test_a_link_leads_to_a_comment_of_a_thread_that_waits_to_be_near(
    host: Host, talk: Talk, member: Any, visit: Any
) -> None:
    ada = member("ada")
    first, second = talk.post("Down here", ada), talk.post("And here", ada)
    page = host.put("/lazy-link", LONG + host.line(url=talk.url, loading="lazy"))
    reader = await visit()
    await reader.page.goto(f"{page}#comment-{first}")
    await expect(reader.comment("Down here")).to_be_in_viewport()
    other = await visit()
    await other.page.goto(page)
    await other.page.evaluate("id => { location.hash = `comment-${id}` }", second)
    await expect(other.comment("And here")).to_be_in_viewport()


async def test_a_link_leads_to_a_comment_in_a_frame(host: Host, talk: Talk, member: Any, visit: Any) -> None:
    ada = member("ada")
    ids = [talk.post(f"Comment {number}", ada) for number in range(20)]
    reader = await visit()
    page = host.put("/framed-link", LONG + host.line(url=talk.url, mode="iframe", sort="old"))
    await reader.page.goto(f"{page}#comment-{ids[15]}")
    frame = reader.page.frame_locator("thread-kit iframe")
    await expect(frame.locator(".highlight")).to_have_attribute("data-id", ids[15])
    seen = """() => {
      const frame = document.querySelector('thread-kit').shadowRoot.querySelector('iframe').getBoundingClientRect();
      return frame.top < innerHeight / 2 && frame.bottom > innerHeight / 2;
    }"""
    await reader.page.wait_for_function(seen)
    await expect(frame.locator(".highlight")).to_be_in_viewport()
    await reader.shot("framed-link", full=False)
    await reader.page.evaluate("scrollTo(0, 0)")
    await reader.page.evaluate("id => { location.hash = `comment-${id}` }", ids[2])
    await expect(frame.locator(".highlight")).to_have_attribute("data-id", ids[2])
    await expect(frame.locator(".highlight")).to_be_in_viewport()
    assert reader.complaints == []


async def test_a_notice_about_another_page_leaves_the_frame(host: Host, talk: Talk, member: Any, visit: Any) -> None:
    ada, ben = member("ada"), member("ben")
    elsewhere = Talk(talk.api, host.put("/another-article", host.line()))
    root = elsewhere.post("Ask me", ada)
    elsewhere.post("How are you?", ben, root)
    reader = await visit()
    page = host.put("/framed-notice", host.line(url=talk.url, mode="iframe"))
    await reader.sign_in(ada)
    await reader.page.goto(page)
    frame = reader.page.frame_locator("thread-kit iframe")
    await frame.locator(".bell").click()
    note = frame.get_by_role("link", name=f"{ben.name} replied to you")
    # The page itself goes there, by the address that the server keeps, which is https.
    async with reader.page.expect_request(lambda asked: asked.url.endswith("/another-article")) as going:
        await note.click()
    assert (await going.value).frame == reader.page.main_frame
