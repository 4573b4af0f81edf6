"""A real server, a page on another origin, and Chromium.

The page comes from 127.0.0.1 and ThreadKit from localhost, which for a browser are two sites: what works here works with
third-party cookies blocked. Screenshots go to `tests/e2e/shots/`, which is not committed.
"""

import inspect
import json
import os
import re
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, BrowserContext, Locator, Page, expect

from tests.browser import CHROMIUM, chromium
from tests.folders import quick_folder
from tests.hosting import Host as Host
from tests.hosting import hosting
from tests.integration.server.program import Server, command, environment, serving

PUBLIC, SECRET = "tk_pub_browserbrowser", "tk_sec_browserbrowser"
SHOTS = Path(__file__).parent / "shots"
PATIENCE_MS = 15_000
expect.set_options(timeout=PATIENCE_MS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            # One browser for all that a worker runs, so one loop too; and none where there is none.
            if isinstance(item, pytest.Function) and inspect.iscoroutinefunction(item.function):
                item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)
            item.add_marker(pytest.mark.timeout(120))
            if CHROMIUM is None:
                item.add_marker(pytest.mark.skip(reason="there is no Chromium"))


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    env = environment(
        PROJECT_ID_PUBLIC=PUBLIC,
        THREADKIT_SECRET_KEY=SECRET,
        THREADKIT_LOG_LEVEL="info",  # without a mail server the codes are there
        THREADKIT_LIVE_SOCKETS_PER_ADDRESS="1000",
        THREADKIT_LIMITS_SIGN_INS_PER_MINUTE="1000",
        THREADKIT_LIMITS_SIGN_INS_PER_HOUR="1000",
        THREADKIT_ACCOUNTS_CODES_PER_CLIENT_PER_HOUR="1000",
    )
    with (
        quick_folder() as folder,
        serving(Path(folder) / "d", env=env) as found,
    ):
        chosen = (
            "auth.anonymous=true",
            "auth.password=true",
            "screening.too_fast.enabled=false",
            "screening.repeated.enabled=false",
            "screening.links.enabled=false",
        )
        command("site", "set", PUBLIC, *chosen, "--data", str(found.folder))
        yield found


@pytest.fixture(scope="session")
def host(server: Server) -> Iterator[Host]:
    with hosting(server.port, PUBLIC) as found:
        yield found


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as found:
        yield found


@dataclass
class Visitor:
    """Somebody with a browser of their own, and what their console said."""

    page: Page
    complaints: list[str]

    async def sign_in(self, member: "Member", project: str = PUBLIC) -> None:
        """As if they had done so on an earlier visit."""
        session = json.dumps(member.session)
        await self.page.context.add_init_script(
            f"if (location.protocol === 'http:' && !localStorage.wasHere) {{"
            f"localStorage.wasHere = 1; localStorage.setItem('threadkit:{project}', {json.dumps(session)}) }}"
        )

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

    def comment(self, text: str) -> Locator:
        return self.page.locator("[data-testid=comment]").filter(has_text=text).first

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    @property
    def box(self) -> Locator:
        return self.page.get_by_placeholder("Write a comment")

    async def menu(self, text: str, item: str) -> None:
        await self.comment(text).get_by_test_id("comment-menu").click()
        await self.page.get_by_role("menuitem", name=item, exact=True).click()

    async def texts(self) -> list[str]:
        """What the comments say, from top to bottom."""
        return [text.strip() for text in await self.page.locator("[data-testid=comment] .body").all_text_contents()]

    async def is_connected(self) -> None:
        await expect(self.page.get_by_test_id("connection-status")).to_have_text("connected")

    async def shot(self, name: str, *, full: bool = True) -> None:
        SHOTS.mkdir(exist_ok=True)
        await self.page.screenshot(path=str(SHOTS / f"{name}.png"), full_page=full)

    async def is_accessible(self) -> None:
        """axe looks into shadow roots too; what it looks at is the embed, not the page around it."""
        # The page's policy forbids evaluating strings, which is how axe comes in; its source is allowed by the driver.
        found = await Axe().run(self.page, context="thread-kit")
        faults = [f"{fault['id']}: {fault['nodes'][0]['html'][:200]}" for fault in found.response["violations"]]
        assert faults == []


@pytest_asyncio.fixture(loop_scope="session")
async def contexts(browser: Browser) -> AsyncIterator[list[BrowserContext]]:
    opened: list[BrowserContext] = []
    yield opened
    for context in opened:
        await context.close()


@pytest_asyncio.fixture(loop_scope="session")
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


@dataclass
class Member:
    id: str
    name: str
    session: dict[str, Any]

    @property
    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.session['token']}"}


@dataclass
class Talk:
    """A thread that is there before anybody looks, written through the API."""

    api: httpx.Client
    url: str
    project: str = PUBLIC

    def post(self, text: str, by: Member, *path: str, **more: Any) -> str:
        body = {"page_url": self.url, "content": text, **({"parent_path": list(path)} if path else {}), **more}
        return str(self.call("POST", "/v1/comments", by, body)["comment"]["i"])

    def vote(self, comment: str, *voters: Member, direction: str = "up") -> None:
        for voter in voters:
            self.call("POST", f"/v1/comments/{comment}/vote", voter, {"direction": direction})

    def guest(self, name: str) -> Member:
        session = self.call("POST", "/v1/auth/anonymous", None, {"name": name})
        return Member(session["user"]["id"], name, session)

    def appoint(self, moderator: Member) -> Member:
        own_site = self.call("GET", "/v1/site")["id"]
        self.as_owner("POST", f"/v1/admin/sites/{own_site}/moderators", {"user_id": moderator.id})
        return moderator

    def as_owner(self, method: str, path: str, body: Any = None) -> Any:
        return self._call(method, path, {"projectid": SECRET}, body)

    def call(self, method: str, path: str, by: Member | None = None, body: Any = None) -> Any:
        return self._call(method, path, {"projectid": self.project, **(by.headers if by else {})}, body)

    def _call(self, method: str, path: str, headers: dict[str, str], body: Any) -> Any:
        answer = self.api.request(method, path, headers=headers, json=body)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None


@pytest.fixture
def member(api: httpx.Client) -> Callable[[str], Member]:
    """Makes members; a name gets something behind it, because all tests share one server."""

    def make(name: str) -> Member:
        unique = f"{name}-{uuid.uuid4().hex[:6]}"
        made = api.post(
            "/v1/admin/create-user", json={"name": unique, "allow_reserved": True}, headers={"projectid": SECRET}
        )
        assert made.status_code == 200, made.text
        return Member(made.json()["user"]["id"], unique, made.json())

    return make


@pytest.fixture
def talk(api: httpx.Client, host: Host, request: pytest.FixtureRequest) -> Talk:
    """The thread of a page that only this test has."""
    return Talk(api, host.put(f"/{request.node.name}", host.line()))


def make_site(server: Server, **settings: Any) -> tuple[str, str]:
    """A site with settings of its own, on which guests may write as quickly as they like; says its two keys."""
    name = f"{uuid.uuid4().hex[:8]}.example.org"
    made = command("site", "create", name, name, "--json", "--data", str(server.folder))
    chosen = {"auth.anonymous": "true", "screening.too_fast.enabled": "false"}
    chosen |= {key.replace("__", "."): value for key, value in settings.items()}
    words = [f"{key}={value}" for key, value in chosen.items()]
    command("site", "set", name, *words, "--data", str(server.folder))
    public, secret = (re.search(rf"tk_{kind}_\w+", made)[0] for kind in ("pub", "sec"))  # type: ignore[index]
    return public, secret


@pytest.fixture
def site(server: Server) -> Callable[..., str]:
    """Makes sites with settings of their own; says their public key."""

    def make(**settings: Any) -> str:
        return make_site(server, **{"screening__links__enabled": "false", **settings})[0]

    return make


def pytest_configure() -> None:
    os.environ.setdefault("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1")
