"""A mid-range phone as Chromium plays it, and what the embed is measured by on it. For tests and for `make bench`."""

import asyncio
import contextlib

from playwright.async_api import Error, Page, Route, ViewportSize

VIEWPORT = ViewportSize(width=390, height=844)
SLOWER = 4
ROUND_TRIP_MS = 150
BYTES_PER_S = 1_600_000 // 8

# A page of another origin may send these only after the browser has asked the server, which takes a round trip more.
_ASKS_FIRST = {"authorization", "projectid"}
ROOT = "document.querySelector('thread-kit').shadowRoot"
# Long tasks as [start, duration], and when the first comment had been painted.
_WATCH = """
window.tasks = [];
new PerformanceObserver((list) => tasks.push(...list.getEntries().map((one) => [one.startTime, one.duration])))
  .observe({type: 'longtask', buffered: true});
const look = () => {
  if (document.querySelector('thread-kit')?.shadowRoot?.querySelector('article'))
    setTimeout(() => { window.painted = performance.now() });
  else requestAnimationFrame(look);
};
requestAnimationFrame(look);
"""
# By hand: the driver's own way to look for buttons would be the longest task of all.
_READ_ON = f"""async () => {{
  const frame = () => new Promise(requestAnimationFrame);
  await frame();
  for (let more; (more = {ROOT}.querySelector('.foot button')); ) {{
    more.click();
    while (more.isConnected) await frame();
  }}
  scrollTo(0, 0);
  for (let screen = 0; screen < 400 && scrollY + innerHeight < document.documentElement.scrollHeight - 1; screen++) {{
    scrollBy(0, innerHeight);
    await frame();
  }}
}}"""
_SCRIPT_CAME = "performance.getEntriesByType('resource').find((one) => one.name.endsWith('/embed.js')).responseEnd"


class Phone:
    def __init__(self, page: Page) -> None:
        self.page = page

    async def slow_down(self, times: float) -> None:
        session = await self.page.context.new_cdp_session(self.page)
        await session.send("Emulation.setCPUThrottlingRate", {"rate": times})

    async def go_online(self, round_trip_ms: float) -> None:
        """Over a network as HTTP/2 uses it: what is asked for at the same time takes one round trip together."""
        session = await self.page.context.new_cdp_session(self.page)
        await session.send("Network.enable")
        await session.send(
            "Network.emulateNetworkConditions",
            {
                "offline": False,
                "latency": 0,
                "downloadThroughput": BYTES_PER_S,
                "uploadThroughput": BYTES_PER_S,
            },
        )

        async def answer(route: Route) -> None:
            trips = 2 if _ASKS_FIRST & route.request.headers.keys() else 1
            await asyncio.sleep(trips * round_trip_ms / 1000)
            # A page that is closed meanwhile wants no answer.
            with contextlib.suppress(Error):
                await route.continue_()

        await self.page.route("**/*", answer)

    async def watch(self) -> None:
        await self.page.add_init_script(_WATCH)

    async def open(self, url: str) -> None:
        await self.page.goto(url)
        await self.page.wait_for_function("() => window.painted")

    async def is_at_rest(self) -> None:
        """All of the first window is drawn, and the live connection stands."""
        await self.page.wait_for_function(
            f"() => !{ROOT}.querySelector('.list').hasAttribute('aria-busy')"
            f" && {ROOT}.querySelector('[data-testid=connection-status]').textContent === 'connected'"
        )

    async def first_comments_ms(self) -> float:
        """From the script's arrival to the first comments on the screen."""
        return float(await self.page.evaluate(f"painted - {_SCRIPT_CAME}"))

    async def read_to_the_end(self) -> None:
        """Load window after window, and scroll through all of them, a screen with every frame."""
        await self.page.evaluate(_READ_ON)

    async def longest_task_ms(self) -> float:
        """After the first comments were painted; 0 if none was long enough to be noticed (50 ms)."""
        return float(
            await self.page.evaluate("Math.max(0, ...tasks.filter(([at]) => at >= painted).map(([, took]) => took))")
        )
