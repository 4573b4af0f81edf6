"""A server with a bit of everything in its store, made through the API, and looked at again on a copy."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx

from tests.conftest import NOTHING_HELD
from tests.integration.comments.test_comments import URL, write
from tests.integration.comments.test_votes import vote
from tests.integration.moderation.test_decisions import decide, queued, staff
from tests.integration.moderation.test_people import abroad
from tests.integration.moderation.test_reports import report
from tests.people import Person, create, guest
from tests.wait import until
from threadkit.app import Application, create_app
from threadkit.keyring import Keyring
from threadkit.settings import Settings
from threadkit.sites.model import AuthSettings, NewSite, SiteSettings
from threadkit.sites.roles import Role
from threadkit.storage.client import StoreAddress

ELSEWHERE = "https://blog.example.org/only-looked-at"


@dataclass
class Life:
    """Two sites, on which the same person votes."""

    blog: NewSite
    careful: NewSite
    ada: Person
    eve: Person
    mo: Person
    banned: Person
    judge: Person
    root: str
    waiting: str

    def people(self) -> list[Person]:
        return [self.ada, self.eve, self.mo, self.banned, self.judge]


@asynccontextmanager
async def serving(
    address: StoreAddress, settings: Settings, keyring: Keyring
) -> AsyncIterator[tuple[Application, httpx.AsyncClient]]:
    application = create_app(settings, address, keyring)
    async with application.lifespan():
        transport = httpx.ASGITransport(application, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://comments.test") as http:
            yield application, http


async def lived(app: Application, http: httpx.AsyncClient) -> Life:
    sites = app.services.sites
    open_to_all = SiteSettings(auth=AuthSettings(anonymous=True), screening=NOTHING_HELD)
    blog = await sites.create("Blog", "blog.example.org", settings=open_to_all)
    careful = await sites.create("Careful", "careful.example.org", settings=SiteSettings(moderation_mode="pre"))
    ada, eve = await create(http, blog, "ada", "ada@example.org"), await create(http, blog, "eve")
    banned, visitor = await create(http, blog, "rude"), await guest(http, blog)
    mo, judge = await staff(app, http, blog), await staff(app, http, careful, Role.ADMIN)
    root = str((await write(ada, "root"))["i"])
    reply = await write(eve, "reply to @ada", under=[root])
    await write(visitor, "from a guest", under=[root, str(reply["i"])])
    rude = await write(banned, "something rude")
    await report(eve, rude)
    await decide(mo, "reject", str(rude["i"]))
    await report(ada, reply)
    assert (await mo.call("POST", f"/v1/moderation/ban/{banned.id}", {"hours": 72})).status_code == 200
    assert (await ada.call("POST", f"/v1/users/{banned.id}/block")).status_code in (200, 204)
    for person in (eve, visitor):
        await vote(person, root, "up")
    there = await abroad(app, http, eve, careful)
    waiting = str((await write(there, "please look"))["i"])
    shown = str((await write(there, "approved"))["i"])
    await decide(judge, "approve", shown)
    await vote(await abroad(app, http, ada, careful), shown, "down")
    await vote(there, shown, "up")
    headers = {"projectid": blog.site.api_key_public, "idempotency-key": "once-and-no-more"}
    draft = {"page_url": URL, "content": "sent twice"}
    await http.post("/v1/comments", json=draft, headers={**headers, "authorization": f"Bearer {ada.token}"})
    browser = {"projectid": blog.site.api_key_public, "user-agent": "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0"}
    assert (await http.get("/v1/comments", params={"page_url": ELSEWHERE}, headers=browser)).status_code == 200
    await _settled(app, blog, careful)
    return Life(blog, careful, ada, eve, mo, banned, judge, root, waiting)


async def _settled(app: Application, *sites: NewSite) -> None:
    """What was done has had its effect on people."""
    for site in sites:
        outbox = app.services.keys.site(site.site.id).outbox()

        async def is_empty(outbox: str = outbox) -> bool:
            return not await app.services.store.redis.xlen(outbox)

        await until(is_empty, "the outbox to be empty")


async def seen(http: httpx.AsyncClient, life: Life) -> dict[str, str]:
    """What everybody is told, as it goes over the wire."""
    found = {}
    for site in (life.blog, life.careful):
        for sort in ("new", "top", "hot", "old"):
            answer = await http.get(
                "/v1/comments",
                params={"page_url": URL, "sort": sort},
                headers={"projectid": site.site.api_key_public},
            )
            assert answer.status_code == 200, answer.text
            found[f"{site.site.name} {sort}"] = answer.text
    for person in life.people():
        person.http = http
        for path in ("/v1/users/me", "/v1/notifications", "/v1/users/me/sessions", "/v1/users/me/comments"):
            answer = await person.call("GET", path)
            assert answer.status_code == 200, (path, answer.text)
            found[f"{person.name} {path}"] = answer.text
    for judge in (life.mo, life.judge):
        for path in ("queue", "log", "reports"):
            answer = await judge.call("GET", f"/v1/moderation/{path}")
            assert answer.status_code == 200, (path, answer.text)
            found[f"{judge.name} of {judge.key} {path}"] = answer.text
    return found


async def goes_on(http: httpx.AsyncClient, life: Life) -> None:
    """Everybody can do what they could do before."""
    for person in life.people():
        person.http = http
    counts = await vote(life.mo, life.root, "up")
    assert counts["upvotes"] == 3
    assert (await vote(life.eve, life.root, "up"))["user_vote"] is None, "she takes her vote back"
    await write(life.ada, "one more", under=[life.root])
    refused = await life.banned.call("POST", "/v1/comments", {"page_url": URL, "content": "may I?"})
    assert refused.status_code == 403
    assert await queued(life.judge) == [life.waiting]
    await decide(life.judge, "approve", life.waiting)
    assert await queued(life.judge) == []
