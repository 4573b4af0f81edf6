"""One world with something hidden in it, the same without: whoever may not see it can find no byte that differs. T1, G10."""

import re
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from tests.integration.comments.test_comments import URL, write
from tests.integration.notifications.inbox import settle
from tests.people import Person, create
from threadkit.app import Application
from threadkit.sites.model import NewSite
from threadkit.sites.roles import Role

OTHER_URL = "https://blog.example.org/empty"
SORTS = ("new", "old", "top", "hot", "controversial")
# What tells requests apart, and what time it is.
_OWN_OF_AN_ANSWER = ("x-request-id", "date")
_FORM_TOKEN = re.compile(rb'name="token" value="[^"]*"')


class Worlds:
    def __init__(self, app: Application, http: httpx.AsyncClient, site: NewSite) -> None:
        self.app = app
        self.http = http
        self.site = site
        self.people: dict[str, Person] = {}
        self.root: dict[str, Any] = {}

    async def begin(self) -> None:
        for name in ("ada", "bob", "eve", "mona"):
            self.people[name] = await create(self.http, self.site, name)
        await self.app.services.roles.grant(self.site.site.id, self.people["mona"].id, Role.MODERATOR)  # type: ignore[arg-type]
        self.root = await write(self.people["ada"], "A question about bread.")
        await write(self.people["bob"], "An answer.", under=[self.root["i"]])
        await write(self.people["eve"], "Another thought.")
        await settle(self.app)

    async def seen(self, person: Person | None) -> dict[str, tuple[int, bytes, list[tuple[str, str]]]]:
        """Everything this person can read, with its headers: an ETag tells too."""
        key = self.site.site.api_key_public
        paths = [f"/v1/comments?page_url={URL}&sort={sort}" for sort in SORTS]
        paths += [f"/v1/comments?page_url={URL}&sort={sort}&limit=2&replies=1&depth=1" for sort in SORTS]
        paths += [f"/v1/comments?page_url={OTHER_URL}", f"/v1/comments?page_url={URL}&around={self.root['i']}&limit=1"]
        paths += [f"/v1/comments/{self.root['i']}/replies", f"/v1/counts?url={URL}&url={OTHER_URL}"]
        paths += [f"/v1/changes?page_url={URL}&since=0", "/v1/site"]
        paths += [
            f"/v1/{feed}?key={key}{page}" for feed in ("feed.rss", "feed.atom") for page in ("", f"&page_url={URL}")
        ]
        paths += [f"/v1/render?key={key}&page_url={url}" for url in (URL, OTHER_URL)]
        for name in ("ada", "bob", "eve"):
            paths += [f"/v1/users/{self.people[name].id}", f"/v1/users/{self.people[name].id}/comments"]
        if person:
            paths += ["/v1/notifications", "/v1/users/me", f"/v1/pages/my_votes?page_url={URL}"]
        headers = {"projectid": key} | ({"authorization": f"Bearer {person.token}"} if person else {})
        found = {}
        for path in paths:
            answer = await self.http.get(path, headers=headers)
            kept = [(name, value) for name, value in answer.headers.multi_items() if name not in _OWN_OF_AN_ANSWER]
            assert answer.status_code == 200, f"{path}: {answer.text}"
            found[path] = (answer.status_code, _FORM_TOKEN.sub(b"", answer.content), kept)
        return found


@pytest.fixture
async def worlds(app: Application, http: httpx.AsyncClient, new_site: NewSite) -> Worlds:
    # Views are counted on purpose, by whoever looks.
    settings = {"display.show_pageviews": False, "screening.words.enabled": True, "screening.words.hold": ["casino"]}
    await app.services.sites.change(new_site.site.id, settings=settings, strict=True)
    made = Worlds(app, http, new_site)
    await made.begin()
    return made


async def held(worlds: Worlds) -> None:
    await worlds.people["eve"].call("POST", "/v1/comments", {"page_url": URL, "content": "A casino for @ada"})


async def held_reply(worlds: Worlds) -> None:
    body = {"page_url": URL, "content": "casino", "parent_path": [worlds.root["i"]]}
    await worlds.people["eve"].call("POST", "/v1/comments", body)


async def held_on_a_page_without_comments(worlds: Worlds) -> None:
    await worlds.people["eve"].call("POST", "/v1/comments", {"page_url": OTHER_URL, "content": "casino"})


async def rejected(worlds: Worlds) -> None:
    answer = await worlds.people["eve"].call("POST", "/v1/comments", {"page_url": URL, "content": "My casino"})
    comment = answer.json()["comment"]["i"]
    decided = await worlds.people["mona"].call("POST", f"/v1/moderation/reject/{comment}", {})
    assert decided.status_code == 200, decided.text


async def by_somebody_shadow_banned(worlds: Worlds) -> None:
    eve = worlds.people["eve"]
    await write(eve, "Nobody hears this, @bob.", under=[worlds.root["i"]])
    await eve.call("POST", f"/v1/comments/{worlds.root['i']}/vote", {"direction": "up"})


HIDDEN = [held, held_reply, held_on_a_page_without_comments, rejected, by_somebody_shadow_banned]


@pytest.mark.parametrize("hide", HIDDEN, ids=lambda hide: hide.__name__)
async def test_nobody_else_can_tell_the_worlds_apart(worlds: Worlds, hide: Callable[[Worlds], Awaitable[None]]) -> None:
    if hide is by_somebody_shadow_banned:  # what they wrote before goes with them, so that comes first
        await worlds.people["mona"].call("POST", f"/v1/moderation/shadowban/{worlds.people['eve'].id}")
        await settle(worlds.app)
    lookers = {"nobody": None, "ada": worlds.people["ada"], "bob": worlds.people["bob"]}
    before = {name: await worlds.seen(person) for name, person in lookers.items()}
    await hide(worlds)
    await settle(worlds.app)
    for name, person in lookers.items():
        after = await worlds.seen(person)
        differing = [path for path, answer in after.items() if answer != before[name][path]]
        assert differing == [], f"{name} can tell by {differing}: {before[name][differing[0]]} {after[differing[0]]}"
    print(f"\nG10: {hide.__name__}: {len(before['nobody'])} answers for {len(lookers)} readers, 0 bytes differ")


async def test_the_comparison_notices_what_is_shown(worlds: Worlds) -> None:
    before = await worlds.seen(None)
    await write(worlds.people["eve"], "For all to see.")
    await settle(worlds.app)
    assert sum(answer != before[path] for path, answer in (await worlds.seen(None)).items()) > 10
