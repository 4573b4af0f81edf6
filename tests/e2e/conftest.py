"""A real server, a page on another origin, and Chromium.

The page comes from 127.0.0.1 and ThreadKit from localhost, which for a browser are two sites: what works here works with
third-party cookies blocked. Screenshots go to `tests/e2e/shots/`, which is not committed.
"""

import http.server
import os
import shutil
import tempfile
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, BrowserContext, Page, async_playwright

from tests.integration.server.program import Server, environment, run, serving

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PUBLIC, SECRET = "tk_pub_browserbrowser", "tk_sec_browserbrowser"
SHOTS = Path(__file__).parent / "shots"
PATIENCE_MS = 15_000

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            # One browser at a time, and none where there is none.
            item.add_marker(pytest.mark.xdist_group("browser"))
            item.add_marker(pytest.mark.timeout(120))
            if CHROMIUM is None:
                item.add_marker(pytest.mark.skip(reason="there is no Chromium"))


@dataclass
class Host:
    """The site that embeds ThreadKit: pages by path, all under one strict policy."""

    port: int
    threadkit: str
    pages: dict[str, str] = field(default_factory=dict)
    policy: str = ""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def line(self, **options: str) -> str:
        """The one line."""
        more = "".join(f' data-{name.replace("_", "-")}="{value}"' for name, value in options.items())
        return f'<script async src="{self.threadkit}/embed.js" data-project="{PUBLIC}"{more}></script>'

    def put(self, path: str, body: str, *, lang: str = "en") -> str:
        self.pages[path] = (
            f'<!doctype html><html lang="{lang}"><head><meta charset="utf-8"><title>An article</title>'
            f'<meta name="viewport" content="width=device-width"></head>'
            f"<body><main><h1>An article</h1>{body}</main></body></html>"
        )
        return self.url + path


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    env = environment(
        PROJECT_ID_PUBLIC=PUBLIC,
        THREADKIT_SECRET_KEY=SECRET,
        THREADKIT_LOG_LEVEL="warning",
        THREADKIT_LIVE_SOCKETS_PER_ADDRESS="1000",
    )
    with (
        tempfile.TemporaryDirectory(prefix="tk-", ignore_cleanup_errors=True) as folder,
        serving(Path(folder) / "d", env=env) as found,
    ):
        chosen = (
            "auth.anonymous=true",
            "auth.password=true",
            "screening.too_fast.enabled=false",
            "screening.repeated.enabled=false",
            "screening.links.enabled=false",
        )
        done = run("site", "set", PUBLIC, *chosen, "--data", str(found.folder), env=env)
        assert done.returncode == 0, done.stdout + done.stderr
        yield found


@pytest.fixture(scope="session")
def host(server: Server) -> Iterator[Host]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = found.pages.get(self.path.partition("?")[0])
            content = (body or "nothing here").encode()
            self.send_response(200 if body else 404)
            self.send_header("content-type", "text/html; charset=utf-8")
            self.send_header("content-length", str(len(content)))
            self.send_header("content-security-policy", found.policy)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    listening = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threadkit = f"http://localhost:{server.port}"
    found = Host(listening.server_port, threadkit)
    found.policy = (
        f"default-src 'none'; script-src {threadkit}; connect-src {threadkit} ws://localhost:{server.port}; "
        f"frame-src {threadkit}; require-trusted-types-for 'script'; trusted-types threadkit"
    )
    threading.Thread(target=listening.serve_forever, daemon=True).start()
    yield found
    listening.shutdown()
    listening.server_close()


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        found = await playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
        )
        yield found
        await found.close()


@dataclass
class Visitor:
    """Somebody with a browser of their own, and what their console said."""

    page: Page
    complaints: list[str]

    async def open(self, url: str) -> None:
        await self.page.goto(url)
        await self.page.locator("thread-kit [data-threadkit-root]").wait_for()
        await self.page.locator("thread-kit .list:not([aria-busy])").wait_for()

    async def be_guest(self, name: str) -> None:
        await self.page.get_by_role("button", name="Sign in", exact=True).click()
        await self.page.get_by_placeholder("Your name").fill(name)
        await self.page.get_by_role("button", name="Continue as Guest").click()
        await self.page.get_by_role("button", name=name.lower(), exact=True).first.wait_for()

    async def post(self, text: str) -> None:
        await self.page.get_by_placeholder("Write a comment").fill(text)
        await self.page.get_by_role("button", name="Post", exact=True).click()
        await self.comment(text).wait_for()
        await self.page.locator("thread-kit .sending").wait_for(state="detached")

    def comment(self, text: str) -> Any:
        return self.page.locator("[data-testid=comment]").filter(has_text=text).first

    async def shot(self, name: str, *, full: bool = True) -> None:
        SHOTS.mkdir(exist_ok=True)
        await self.page.screenshot(path=str(SHOTS / f"{name}.png"), full_page=full)

    async def is_accessible(self) -> None:
        """axe looks into shadow roots too; what it looks at is the embed, not the page around it."""
        # The page's policy forbids evaluating strings, which is how axe comes in; its source is allowed by the driver.
        found = await Axe().run(self.page, context="thread-kit")
        faults = [f"{fault['id']}: {fault['nodes'][0]['html'][:200]}" for fault in found.response["violations"]]
        assert faults == []


@pytest.fixture
async def contexts(browser: Browser) -> AsyncIterator[list[BrowserContext]]:
    opened: list[BrowserContext] = []
    yield opened
    for context in opened:
        await context.close()


@pytest.fixture
async def visit(browser: Browser, contexts: list[BrowserContext]) -> Any:
    """Makes visitors; nothing in the console may complain, unless a test says why."""

    async def make(**options: Any) -> Visitor:
        context = await browser.new_context(**{"bypass_csp": False, "locale": "en-GB", **options})
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        page = await context.new_page()
        visitor = Visitor(page, [])
        page.on(
            "console",
            lambda message: visitor.complaints.append(message.text) if message.type in ("error", "warning") else None,
        )
        page.on("pageerror", lambda error: visitor.complaints.append(str(error)))
        return visitor

    return make


@pytest.fixture
def api(server: Server) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, headers={"projectid": PUBLIC}, timeout=30) as client:
        yield client


@pytest.fixture
def member(api: httpx.Client) -> Any:
    """Makes members: a function from a name to what signs their calls."""

    def make(name: str) -> dict[str, str]:
        made = api.post("/v1/admin/create-user", json={"name": name}, headers={"projectid": SECRET})
        assert made.status_code == 200, made.text
        return {"authorization": f"Bearer {made.json()['token']}", "id": made.json()["user"]["id"]}

    return make


def pytest_configure() -> None:
    os.environ.setdefault("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1")
