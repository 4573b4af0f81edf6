"""A mid-range phone as Chromium plays it, and what the embed is measured by on it. For tests and for `make bench`."""

from playwright.async_api import Page, ViewportSize

VIEWPORT = ViewportSize(width=390, height=844)
SLOWER = 4
ROUND_TRIP_MS = 150
BYTES_PER_S = 1_600_000 // 8

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
_READ_ON = f"""async (all) => {{
  const frame = () => new Promise(requestAnimationFrame);
  await frame();
  {ROOT}.querySelector('.foot button').click();
  while ({ROOT}.querySelectorAll('article').length < all) await frame();
  for (let screen = 0; screen < 40; screen++) {{
    scrollBy(0, 3000);
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
        """Over a network on which nothing comes sooner than this, and not much at once."""
        session = await self.page.context.new_cdp_session(self.page)
        await session.send("Network.enable")
        await session.send(
            "Network.emulateNetworkConditions",
            {
                "offline": False,
                "latency": round_trip_ms,
                "downloadThroughput": BYTES_PER_S,
                "uploadThroughput": BYTES_PER_S,
            },
        )

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

    async def read_on(self, comments: int) -> None:
        """Load the next window until there are so many comments, and scroll through all of them."""
        await self.page.evaluate(_READ_ON, comments)

    async def longest_task_ms(self) -> float:
        """After the first comments were painted; 0 if none was long enough to be noticed (50 ms)."""
        return float(
            await self.page.evaluate("Math.max(0, ...tasks.filter(([at]) => at >= painted).map(([, took]) => took))")
        )
