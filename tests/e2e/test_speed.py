"""Everything the first comments need is asked for at once, and a long thread stays smooth."""

from typing import Any

from playwright.async_api import expect

from tests.e2e.conftest import Talk

LONGEST_TASK_MS = 100


async def test_comments_modules_looks_and_words_are_asked_for_at_the_same_time(
    talk: Talk, member: Any, visit: Any
) -> None:
    talk.post("Quick", member("ada"))
    for signed_in in (None, member("ben")):
        reader = await visit()
        if signed_in:
            await reader.sign_in(signed_in)
        await reader.open(talk.url)
        first = (
            "app.",
            "view.",
            "thread.",
            "api.",
            "dom.",
            "words.",
            "style.",
            "locales/",
            "/v1/comments?",
            "/v1/site",
        )
        timing = await reader.page.evaluate(
            "performance.getEntriesByType('resource').map((one) => [one.name, one.startTime, one.responseEnd])"
        )
        found = {part: next(one for one in timing if part in one[0]) for part in first}
        last_start = max(start for _, start, _ in found.values())
        first_end = min(end for _, _, end in found.values())
        assert last_start < first_end, found
        # And nothing of it twice.
        names = [name for name, _, _ in timing if any(part in name for part in first)]
        assert len(names) == len(set(names)), names


async def test_a_thousand_comments_stay_smooth(talk: Talk, member: Any, visit: Any) -> None:
    ada = member("ada")
    for number in range(100):
        root = talk.post(f"Thread {number}: something to read that is about as long as most comments are.", ada)
        for answer in range(9):
            talk.post(f"Answer {answer} to thread {number}, also of a usual length for such a thing.", ada, root)
    reader = await visit(viewport={"width": 390, "height": 844})
    await reader.page.add_init_script(
        "window.tasks = []; new PerformanceObserver((list) => tasks.push(...list.getEntries().map("
        "(one) => [one.startTime, one.duration]))).observe({type: 'longtask', buffered: true})"
    )
    await reader.open(talk.url)
    await reader.is_connected()
    painted = await reader.page.evaluate("performance.now()")
    while await reader.button("Load more comments").count():
        shown = await reader.page.get_by_test_id("comment").count()
        await reader.button("Load more comments").click()
        await expect(reader.page.get_by_test_id("comment").nth(shown)).to_be_attached()
    while await (more := reader.page.get_by_role("button", name="more repl")).count():
        left = await more.count()
        await more.first.click()
        await expect(more).to_have_count(left - 1)
    await expect(reader.page.get_by_test_id("comment")).to_have_count(1000)
    for _ in range(20):
        await reader.page.mouse.wheel(0, 4000)
        await reader.page.evaluate("new Promise(requestAnimationFrame)")
    talk.post("One more, live", ada)
    await expect(reader.comment("One more, live")).to_be_attached()
    tasks = await reader.page.evaluate("tasks")
    assert [task for task in tasks if task[0] > painted and task[1] > LONGEST_TASK_MS] == []
