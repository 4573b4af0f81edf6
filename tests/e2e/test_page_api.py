"""What the page around the embed can do with it: options, events, single-page apps, looks and words of its own."""

from typing import Any

import pytest
from playwright.async_api import expect

from tests.e2e.conftest import PUBLIC, Host, Talk


async def test_the_element_stands_anywhere_and_the_script_elsewhere(
    host: Host, talk: Talk, member: Any, visit: Any
) -> None:
    talk.post("Found by its element", member("ada"))
    reader = await visit()
    script = f'<script async src="{host.threadkit}/embed.js"></script>'
    await reader.open(
        host.put("/element", f'<thread-kit project="{PUBLIC}" url="{talk.url}"></thread-kit><p>After</p>', head=script)
    )
    await expect(reader.comment("Found by its element")).to_be_visible()
    assert reader.complaints == []


async def test_a_single_page_app_mounts_shows_another_page_and_takes_it_away(
    host: Host, talk: Talk, member: Any, visit: Any
) -> None:
    ada = member("ada")
    other = Talk(talk.api, talk.url + "-two")
    talk.post("On page one", ada)
    other.post("On page two", ada)
    script = f'<script async src="{host.threadkit}/embed.js"></script>'
    reader = await visit()
    await reader.page.goto(host.put("/app", '<div id="place"></div>', head=script))
    await reader.page.wait_for_function("() => Boolean(window.ThreadKit?.mount)")
    sockets: list[Any] = []
    reader.page.on("websocket", lambda socket: sockets.append(socket))
    await reader.page.evaluate(
        "async ([project, url]) => { window.heard = [];"
        "ThreadKit.on(document, 'ready', (detail) => heard.push(['ready', detail.total]));"
        "window.thread = await ThreadKit.mount('#place', {project, url, theme: 'dark'}) }",
        [PUBLIC, talk.url],
    )
    await expect(reader.comment("On page one")).to_be_visible()
    await reader.is_connected()
    await reader.page.evaluate("url => ThreadKit.update(thread, {url})", other.url)
    await expect(reader.comment("On page two")).to_be_visible()
    await expect(reader.comment("On page one")).to_have_count(0)
    await reader.is_connected()
    assert await reader.page.evaluate("heard") == [["ready", 1], ["ready", 1]]
    assert [socket.is_closed() for socket in sockets] == [True, False]
    other.post("Fresh on page two", ada)
    await expect(reader.comment("Fresh on page two")).to_be_visible()
    # Moved in the page: it comes back to life.
    await reader.page.evaluate("document.body.append(thread)")
    await expect(reader.comment("On page two")).to_be_visible()
    await reader.is_connected()
    await reader.page.evaluate("ThreadKit.destroy(thread)")
    await expect(reader.page.locator("thread-kit")).to_have_count(0)
    assert reader.complaints == []


async def test_events_tell_the_page_what_happens(talk: Talk, member: Any, visit: Any) -> None:
    visitor = await visit()
    await visitor.sign_in(member("ada"))
    await visitor.open(talk.url)
    await visitor.page.evaluate(
        "window.heard = []; for (const name of ['posted', 'voted', 'signout', 'error'])"
        " ThreadKit.on(document.querySelector('thread-kit'), name, () => heard.push(name))"
    )
    await visitor.post("Hello")
    await visitor.comment("Hello").get_by_role("button", name="upvote").click()
    await expect(visitor.comment("Hello").locator(".count")).to_have_text("1")
    await visitor.page.wait_for_function("() => heard.length >= 2")
    assert await visitor.page.evaluate("heard") == ["posted", "voted"]


async def test_lazily_nothing_is_loaded_before_the_reader_comes_near(
    host: Host, talk: Talk, member: Any, visit: Any
) -> None:
    talk.post("Down here", member("ada"))
    reader = await visit()
    asked: list[str] = []
    reader.page.on("request", lambda request: asked.append(request.url))
    long = "<p>Text</p>" * 200
    await reader.page.goto(host.put("/lazy", long + host.line(url=talk.url, loading="lazy")))
    await reader.page.wait_for_load_state("networkidle")
    assert [url for url in asked if "/v1/" in url or "/embed/" in url] == []
    await reader.page.evaluate("scrollTo(0, document.body.scrollHeight)")
    await expect(reader.comment("Down here")).to_be_visible()


async def test_a_page_chooses_colours_parts_and_words(host: Host, talk: Talk, member: Any, visit: Any) -> None:
    talk.post("Hello", member("ada"))
    strings = f'<script src="{host.url}/strings.js"></script>'
    looks = (
        "<style>thread-kit { --tk-accent: rgb(10, 120, 60) } thread-kit::part(comment) { border: 3px solid }</style>"
    )
    host.pages["/strings.js"] = "window.ThreadKit = { strings: { reply: 'Answer', de: { reply: 'Antworten' } } }"
    reader = await visit()
    await reader.open(host.put("/own", host.line(url=talk.url), head=strings + looks, is_strict=False))
    comment = reader.comment("Hello")
    await expect(comment.get_by_role("button", name="Answer")).to_be_visible()
    await expect(comment).to_have_css("border-top-width", "3px")
    await expect(reader.button("Sign in")).to_have_css("color", "rgb(10, 120, 60)")


@pytest.mark.parametrize(
    ("theme", "scheme", "expected"),
    [
        ("light", "dark", "rgb(27, 31, 39)"),
        ("dark", "light", "rgb(231, 233, 238)"),
        ("auto", "dark", "rgb(231, 233, 238)"),
        ("auto", "light", "rgb(27, 31, 39)"),
    ],
)
async def test_the_theme_is_the_pages_or_the_readers(
    host: Host, talk: Talk, visit: Any, theme: str, scheme: str, expected: str
) -> None:
    reader = await visit(color_scheme=scheme)
    await reader.open(host.put("/theme", host.line(url=talk.url, theme=theme)))
    await expect(reader.page.locator("[data-threadkit-root]")).to_have_css("color", expected)


async def test_counts_are_filled_in_with_one_request_also_beside_the_embed(
    host: Host, talk: Talk, member: Any, visit: Any
) -> None:
    talk.post("One", member("ada"))
    spans = f'<span data-threadkit-count="{talk.url}"></span><i data-threadkit-count="{host.url}/nothing"></i>'
    count = f'<script src="{host.threadkit}/count.js" data-project="{PUBLIC}"></script>'
    reader = await visit()
    asked: list[str] = []
    reader.page.on("request", lambda request: asked.append(request.url) if "/v1/counts" in request.url else None)
    # count.js comes first here, and the embed must not take it for itself.
    await reader.open(host.put("/counts", spans + host.line(url=talk.url), head=count))
    await expect(reader.page.locator("span[data-threadkit-count]")).to_have_text("1")
    await expect(reader.page.locator("i[data-threadkit-count]")).to_have_text("0")
    await expect(reader.comment("One")).to_be_visible()
    assert len(asked) == 1
    assert reader.complaints == []


async def test_in_a_frame_it_works_and_grows_with_the_thread(host: Host, talk: Talk, member: Any, visit: Any) -> None:
    for number in range(8):
        talk.post(f"Comment {number}", member("ada"))
    reader = await visit()
    await reader.page.goto(host.put("/framed", host.line(url=talk.url, mode="iframe")))
    frame = reader.page.frame_locator("thread-kit iframe")
    await expect(frame.get_by_test_id("comment")).to_have_count(8)
    inside = "document.querySelector('thread-kit').shadowRoot.querySelector('iframe').getBoundingClientRect().height"
    await reader.page.wait_for_function(f"() => {inside} > 800")
    await frame.get_by_role("button", name="Sign in").click()
    await frame.get_by_placeholder("Your name").fill("Fritz")
    await frame.get_by_role("button", name="Continue as Guest").click()
    await expect(frame.get_by_test_id("auth-modal")).to_have_count(0)
    await frame.get_by_placeholder("Write a comment").fill("From the frame")
    await frame.get_by_role("button", name="Post", exact=True).click()
    await expect(frame.get_by_test_id("comment").filter(has_text="From the frame")).to_be_visible()
    await reader.shot("frame")
    await reader.page.evaluate("document.querySelector('thread-kit').setAttribute('theme', 'dark')")
    await expect(frame.locator("[data-threadkit-root]")).to_have_attribute("data-theme", "dark")
    assert reader.complaints == []


async def test_without_javascript_a_link_leads_to_the_same_thread(
    host: Host, talk: Talk, member: Any, visit: Any
) -> None:
    talk.post("Readable without scripts", member("ada"))
    reader = await visit(java_script_enabled=False)
    link = f"{host.threadkit}/v1/render?key={PUBLIC}&amp;page_url={talk.url}"
    await reader.page.goto(
        host.put("/noscript", f'{host.line(url=talk.url)}<noscript><a href="{link}">Read the comments</a></noscript>')
    )
    await reader.page.get_by_role("link", name="Read the comments").click()
    await expect(reader.page.get_by_text("Readable without scripts")).to_be_visible()


async def test_a_browser_that_keeps_nothing_still_works(talk: Talk, visit: Any) -> None:
    visitor = await visit()
    await visitor.page.add_init_script(
        "Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('no', 'SecurityError') }})"
    )
    await visitor.open(talk.url)
    await visitor.be_guest("Nemo")
    await visitor.post("Nothing is kept here")
    assert visitor.complaints == []
