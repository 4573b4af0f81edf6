"""People as they are: most of them read, some write, vote and leave again. Whatever they add, they take away."""

import asyncio
import contextlib
import itertools
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.integration.live.ears import LiveServer

PAGES = [f"https://blog.example.org/{number}" for number in range(20)]
SORTS = ("top", "new", "hot", "old", "controversial")


class Unexpected(Exception):
    """An answer that nobody should get."""


@dataclass
class Site:
    id: str
    public_key: str
    secret_key: str
    moderator: str
    """A moderator's token."""


@dataclass
class Traffic:
    url: str
    site: Site
    chance: random.Random
    people: int = 8
    done: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    posted: int = 0
    _numbers: Any = field(default_factory=itertools.count)

    async def run(self, seconds: float) -> None:
        """Everybody does their things until the time is over, and ends what they have begun."""
        stories: list[Callable[[httpx.AsyncClient], Awaitable[None]]] = [
            self.reader,
            self.reader,
            self.guest,
            self.member,
            self.moderator,
            self.listener,
        ]
        until = asyncio.get_running_loop().time() + seconds
        async with asyncio.TaskGroup() as group:
            for story in stories:
                for _ in range(self.people):
                    group.create_task(self._repeat(story, until))

    async def _repeat(self, story: Callable[[httpx.AsyncClient], Awaitable[None]], until: float) -> None:
        name = getattr(story, "__name__", "story")
        while asyncio.get_running_loop().time() < until:
            # A browser of their own, as people have it.
            async with httpx.AsyncClient(base_url=self.url, timeout=30) as http:
                try:
                    await story(http)
                    self.done[name] += 1
                except (Unexpected, httpx.HTTPError, OSError) as error:
                    self.faults.append(f"{name}: {error!r}"[:300])
            await asyncio.sleep(self.chance.uniform(0, 0.3))

    async def call(self, http: httpx.AsyncClient, method: str, path: str, body: Any = None, **headers: str) -> Any:
        named = {"projectid": self.site.public_key} | headers
        answer = await http.request(method, path, json=body, headers=named)
        if answer.status_code not in (200, 201, 204, 304, 404, 409):  # others were quicker: no fault
            raise Unexpected(f"{method} {path}: {answer.status_code} {answer.text[:200]}")
        if (method, path) == ("POST", "/v1/comments"):
            self.posted += answer.status_code == 200
        is_json = "json" in answer.headers.get("content-type", "")
        return answer.json() if answer.content and is_json else None

    def page(self) -> str:
        return self.chance.choice(PAGES)

    async def reader(self, http: httpx.AsyncClient) -> None:
        for _ in range(self.chance.randint(2, 8)):
            query = {"page_url": self.page(), "sort": self.chance.choice(SORTS), "limit": self.chance.choice((10, 25))}
            answer = await http.get("/v1/comments", params=query, headers={"projectid": self.site.public_key})
            if answer.status_code != 200:
                raise Unexpected(f"{answer.status_code} {answer.text[:200]}")
            known = {"projectid": self.site.public_key, "if-none-match": answer.headers["etag"]}
            await http.get("/v1/comments", params=query, headers=known)
        await self.call(http, "GET", "/v1/site")

    async def guest(self, http: httpx.AsyncClient) -> None:
        session = await self.call(http, "POST", "/v1/auth/anonymous", {"name": f"guest{next(self._numbers)}"})
        who = {"authorization": f"Bearer {session['token']}"}
        await self.call(http, "GET", "/v1/users/me", **who)
        page, number = self.page(), next(self._numbers)
        posted = await self.call(
            http, "POST", "/v1/comments", {"page_url": page, "content": f"Number **{number}** was here."}, **who
        )
        comment = posted["comment"]["i"]
        await self.call(http, "POST", f"/v1/comments/{comment}/vote", {"direction": "up"}, **who)
        await self.call(http, "PUT", f"/v1/comments/{comment}", {"content": f"Number {number} has edited."}, **who)
        await self.call(http, "DELETE", f"/v1/comments/{comment}", **who)
        await self.call(http, "DELETE", "/v1/users/me", **who)

    async def member(self, http: httpx.AsyncClient) -> None:
        """Made by the host site, answers somebody, and leaves for good."""
        made = await self.call(
            http, "POST", "/v1/admin/create-user", {"name": f"m-{next(self._numbers)}"}, projectid=self.site.secret_key
        )
        who = {"authorization": f"Bearer {made['token']}"}
        page = self.page()
        thread = await self.call(http, "GET", f"/v1/comments?page_url={page}&limit=5", **who)
        roots = thread["tree"]["c"]
        for item in roots[:3]:
            await self.call(http, "POST", f"/v1/comments/{item['i']}/vote", {"direction": "up"}, **who)
            await self.call(http, "POST", f"/v1/comments/{item['i']}/vote", {"direction": "up"}, **who)
        body = {"page_url": page, "content": f"An answer, number {next(self._numbers)}."}
        if roots:
            body["parent_path"] = [roots[0]["i"]]  # type: ignore[assignment]
            await self.call(http, "POST", f"/v1/comments/{roots[0]['i']}/report", {"reason": "spam"}, **who)
        posted = await self.call(http, "POST", "/v1/comments", body, **who)
        await self.call(http, "GET", "/v1/notifications", **who)
        if posted and "comment" in posted:
            await self.call(http, "DELETE", f"/v1/comments/{posted['comment']['i']}", **who)
        await self.call(http, "DELETE", "/v1/users/me", **who)

    async def moderator(self, http: httpx.AsyncClient) -> None:
        """Works the queue down, and reads what readers without scripts read."""
        who = {"authorization": f"Bearer {self.site.moderator}"}
        await self.call(http, "GET", "/v1/moderation/queue", **who)
        reports = await self.call(http, "GET", "/v1/moderation/reports", **who)
        for item in reports["items"][:5]:
            await self.call(http, "POST", f"/v1/moderation/reports/{item['comment_id']}/dismiss", {}, **who)
        await self.call(http, "GET", "/v1/moderation/log", **who)
        for path in ("/v1/render", "/v1/feed.rss"):
            await self.call(http, "GET", f"{path}?key={self.site.public_key}&page_url={self.page()}")

    async def listener(self, http: httpx.AsyncClient) -> None:
        thread = await self.call(http, "GET", f"/v1/comments?page_url={self.page()}&limit=5")
        port = httpx.URL(self.url).port or 80
        async with LiveServer.at(port, self.site.public_key) as ear:
            await ear.subscribe(thread["page_id"])
            with contextlib.suppress(TimeoutError):
                for _ in range(self.chance.randint(1, 20)):
                    await ear.hear(seconds=self.chance.uniform(0.1, 2))
