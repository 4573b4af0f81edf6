"""A site is deleted completely: its keys at once, everything else soon after, and nothing of anybody else's."""

import asyncio
import contextlib
import subprocess
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from tests.integration.comments.test_comments import write
from tests.integration.comments.test_votes import vote
from tests.integration.live.ears import serving
from tests.integration.outbox.entries import Owner
from tests.integration.server.program import THREADKIT
from tests.make import ManualClock
from tests.people import Person, create, guest
from tests.stores import url_of
from tests.wait import until
from threadkit.app import Application, create_app
from threadkit.ids import SiteId, UserId
from threadkit.keyring import Keyring
from threadkit.services import Services
from threadkit.settings import Settings
from threadkit.sites.belongings import Belongings, forgotten, how_found
from threadkit.sites.deletion import STRAGGLERS_MS
from threadkit.sites.model import AuthSettings, NewSite, SiteSettings
from threadkit.sites.roles import Role
from threadkit.sites.service import SiteIsBeingDeleted
from threadkit.storage.bundled import BundledStore
from threadkit.storage.keys import SCHEMA, Entry, Keys, Kind
from threadkit.users.sessions import Device

SETTLED_S = STRAGGLERS_MS / 1000 + 1
URL = "https://blog.example.org/post"
BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:120.0) Gecko/20100101 Firefox/120.0"


@dataclass
class Lived:
    """What a site had."""

    site: NewSite
    people: dict[str, Person]
    ids: set[str]
    """Its own id, and those of its pages and comments."""


async def live(
    app: Application, http: httpx.AsyncClient, site: NewSite, people: dict[str, Person], label: str
) -> Lived:
    """Everything that leaves a trace: comments of every kind, votes, roles, bans, notices, views, sessions, settings."""
    ada, eve, bob = (people[name] for name in ("ada", "eve", "bob"))
    root = await write(ada, f"{label}: root")
    reply = await write(eve, f"{label}: reply to @ada and @bob", under=[str(root["i"])])
    gone = await write(bob, f"{label}: taken back")
    elsewhere = await write(bob, f"{label}: on another page", url="https://blog.example.org/other")
    with_key = await http.post(
        "/v1/comments",
        json={"page_url": URL, "content": f"{label}: once"},
        headers={"projectid": ada.key, "authorization": f"Bearer {ada.token}", "idempotency-key": f"{label}-1"},
    )
    visitor = await guest(http, site, "visitor")
    held = await write(visitor, f"{label}: from a guest")
    await bob.call("DELETE", f"/v1/comments/{gone['i']}")
    for voter, comment, way in ((bob, root, "up"), (eve, root, "up"), (ada, reply, "down"), (ada, elsewhere, "up")):
        await vote(voter, comment["i"], way) if comment is not elsewhere else await voter.call(
            "POST", f"/v1/comments/{comment['i']}/vote", {"direction": way}
        )
    await app.services.roles.grant(site.site.id, UserId(ada.id), Role.OWNER)
    await app.services.roles.grant(site.site.id, UserId(eve.id), Role.MODERATOR)
    await eve.call("POST", f"/v1/comments/{root['i']}/pin", {})
    done = [
        await eve.call("POST", f"/v1/moderation/ban/{visitor.id}", {"hours": 24, "reason": f"{label}: rude"}),
        await eve.call("POST", f"/v1/moderation/users/{visitor.id}/notes", {"text": f"{label}: was warned"}),
        await eve.call("POST", f"/v1/moderation/users/{visitor.id}/delete-comments"),
    ]
    assert [answer.status_code for answer in done] == [200, 200, 202]
    refused = await write(bob, f"{label}: turned down")
    complained = [
        await ada.call("POST", f"/v1/comments/{refused['i']}/report", {"reason": "spam"}),
        await bob.call("POST", f"/v1/comments/{reply['i']}/report", {"details": f"{label}: look"}),
        await eve.call("POST", f"/v1/moderation/reject/{refused['i']}", {}),
        await bob.call("POST", f"/v1/comments/{refused['i']}/appeal", {"text": f"{label}: please"}),
    ]
    assert [answer.status_code for answer in complained] == [204, 204, 200, 204]
    # It would go by itself while a test compares what is there before and after.
    await app.services.store.redis.delete(app.services.keys.site(site.site.id).closed_reports(refused["i"]))
    pages = set()
    for url in (URL, "https://blog.example.org/other", f"https://blog.example.org/nobody-wrote-here-{label}"):
        headers = {"projectid": ada.key, "user-agent": BROWSER}
        answer = await http.get("/v1/comments", params={"page_url": url}, headers=headers)
        pages.add(answer.json()["page_id"])
    await app.services.pages.move(site.site, "https://blog.example.org/other", f"https://{site.site.domain}/{label}")
    await app.services.sites.rotate_public_key(site.site.id)
    await app.services.reranker.look()
    await app.services.outbox.drain()
    await app.services.tally.flush()
    comments = {str(one["i"]) for one in (root, reply, gone, elsewhere, held, refused)} | {
        with_key.json()["comment"]["i"]
    }
    return Lived(site, people, {str(site.site.id)} | pages | comments)


async def dump(redis: Redis) -> dict[str, bytes]:
    """Every key with its value, as bytes that compare."""
    keys = sorted([str(key) async for key in redis.scan_iter(count=1000)])
    return {key: repr(await _content(redis, key)).encode() for key in keys}


async def _content(redis: Redis, key: str) -> object:
    match await redis.type(key):
        case "string":
            # A HyperLogLog is no text.
            return await redis.strlen(key) if ":visitors" in key else await redis.get(key)
        case "hash":
            return sorted((await redis.hgetall(key)).items())
        case "set":
            return sorted(await redis.smembers(key))
        case "zset":
            return await redis.zrange(key, 0, -1, withscores=True)
        case "stream":
            return await redis.xrange(key)
    return None


@pytest.fixture
async def both(app: Application, http: httpx.AsyncClient, new_site: NewSite) -> tuple[Lived, Lived]:
    """Two sites with the same people, who did the same on both."""
    other = await app.services.sites.create(
        "Other", "other.example", settings=SiteSettings(auth=AuthSettings(anonymous=True))
    )
    doomed_people = {name: await create(http, new_site, name, f"{name}@example.org") for name in ("ada", "eve", "bob")}
    other_people = {}
    for name, person in doomed_people.items():
        user = await app.services.users.existing(UserId(person.id))
        signed_in = await app.services.sessions.open(user, other.site.id, Device("test", "-"))
        other_people[name] = Person(http, other.site.api_key_public, signed_in.token, person.id, name)
    stays = await live(app, http, other, other_people, "stays")
    goes = await live(app, http, new_site, doomed_people, "goes")
    await app.services.reranker.stop()  # its second round would change the other site
    return goes, stays


async def delete(http: httpx.AsyncClient, site: NewSite, confirm: str | None = None) -> httpx.Response:
    return await http.request(
        "DELETE",
        f"/v1/admin/sites/{site.site.id}",
        json={"confirm": confirm or site.site.domain},
        headers={"projectid": site.secret_key},
    )


async def finish(app: Application, http: httpx.AsyncClient, clock: ManualClock, deletion_id: str) -> None:
    """Let the time pass that stragglers have, and the deletion come to its end."""

    async def is_at(percent: int) -> bool:
        await app.services.deletions.look()
        return bool((await http.get(f"/v1/deletions/{deletion_id}")).json()["percent"] >= percent)

    await until(lambda: is_at(99), "the data to be gone")
    await app.services.tally.flush()  # in all that time it would have been
    clock.advance(seconds=SETTLED_S)
    await until(lambda: is_at(100), "the deletion to end")


def traces(found: dict[str, bytes], lived: Lived) -> list[str]:
    """The checklist: keys that name the site, its pages or its comments, and values that do."""
    return [
        key for key, value in found.items() if any(one in key or one.encode() in value for one in sorted(lived.ids))
    ]


def of_site(found: dict[str, bytes], lived: Lived) -> dict[str, bytes]:
    """What belongs to one site alone, but what comes and goes by itself."""
    return {
        key: value
        for key, value in found.items()
        if any(one in key for one in lived.ids) and not key.startswith("lock:")
    }


async def test_nothing_of_a_deleted_site_is_left_and_the_other_site_is_as_it_was(
    app: Application, http: httpx.AsyncClient, redis: Redis, clock: ManualClock, both: tuple[Lived, Lived]
) -> None:
    """The deletion checklist."""
    goes, stays = both
    before = await dump(redis)
    assert len(traces(before, goes)) > 40, "there is something to delete"
    answer = await delete(http, goes.site)
    assert answer.status_code == 202, answer.text
    assert answer.json()["state"] == "running"
    await finish(app, http, clock, answer.json()["id"])
    shown = (await http.get(f"/v1/deletions/{answer.json()['id']}")).json()
    assert (shown["state"], shown["percent"]) == ("done", 100)
    assert shown["removed"] > 40

    after = await dump(redis)
    assert traces(after, goes) == []
    assert await redis.hgetall("sites:deleting") == {}

    theirs = of_site(before, stays)
    assert len(theirs) > 30
    assert of_site(after, stays) == theirs
    # People stay, with what they have on the other site.
    for person in stays.people.values():
        assert after[f"user:{person.id}"] == before[f"user:{person.id}"]
        assert (await person.call("GET", "/v1/users/me")).status_code == 200
    told = (await stays.people["ada"].call("GET", "/v1/notifications")).json()
    assert told["unread_count"] == len(told["notifications"]) > 0
    assert int(await redis.get(f"user:{stays.people['ada'].id}:unread") or 0) == told["unread_count"]
    report = await app.services.rebuild.run(is_check=True)
    assert report.is_clean, report.tallies
    assert report.tallies == []


async def test_keys_and_tokens_are_dead_before_the_data_is(
    app: Application, http: httpx.AsyncClient, redis: Redis, new_site: NewSite
) -> None:
    ada = await create(http, new_site, "ada")
    comment = await write(ada, "still there")
    before = await app.services.sites.rotate_public_key(new_site.site.id)
    keys = (new_site.site.api_key_public, before.api_key_public, new_site.secret_key)
    for key in keys:
        assert (await http.get("/v1/site", headers={"projectid": key})).status_code == 200
    site = await app.services.site_queries.by_id(new_site.site.id)
    assert site is not None
    await app.services.deletions.stop()  # nobody takes the data away
    await app.services.deletions.begin(site, confirm=site.domain)
    for key in keys:
        assert (await http.get("/v1/site", headers={"projectid": key})).status_code == 401
    assert (await ada.call("GET", "/v1/users/me")).status_code == 401
    only_token = await http.get("/v1/users/me", headers={"authorization": f"Bearer {ada.token}"})
    assert only_token.status_code == 401
    read = await http.get("/v1/comments", params={"page_url": URL}, headers={"projectid": before.api_key_public})
    assert read.status_code == 401
    assert await redis.exists(f"comment:{comment['i']}")


@pytest.mark.parametrize("confirm", ["", "other.example", "Blog"])
async def test_without_the_right_domain_nothing_is_deleted(
    http: httpx.AsyncClient, redis: Redis, new_site: NewSite, confirm: str
) -> None:
    answer = await http.request(
        "DELETE",
        f"/v1/admin/sites/{new_site.site.id}",
        json={"confirm": confirm},
        headers={"projectid": new_site.secret_key},
    )
    assert (answer.status_code, "blog.example.org" in answer.json()["error"]) == (400, True)
    assert (await http.get("/v1/site", headers={"projectid": new_site.secret_key})).status_code == 200
    assert not await redis.exists("sites:deleting")


async def test_an_unknown_deletion_is_not_found(http: httpx.AsyncClient) -> None:
    answer = await http.get("/v1/deletions/nobody-knows-this")
    assert (answer.status_code, answer.json()["code"]) == (404, "deletion_not_found")


async def die_after(steps: int, mortal: Services) -> None:
    """Let a process look, and die with the command of that number on its way."""
    line = mortal.store.redis.line
    ask = line.ask
    asked = 0

    async def counted(commands: Any) -> Any:
        nonlocal asked
        asked += 1
        if asked == steps:
            dying.cancel()
        return await ask(commands)

    line.ask = counted
    dying = asyncio.create_task(mortal.deletions.look())
    with contextlib.suppress(asyncio.CancelledError):
        await dying


async def test_a_deletion_goes_on_wherever_it_was_cut_off(
    app: Application,
    http: httpx.AsyncClient,
    redis: Redis,
    clock: ManualClock,
    both: tuple[Lived, Lived],
    bundled: BundledStore,
    settings: Settings,
    keyring: Keyring,
) -> None:
    """Many processes begin to work on it and die after some steps each; the last one lives."""
    goes, stays = both
    site = await app.services.site_queries.by_id(goes.site.site.id)
    assert site is not None
    await app.services.deletions.stop()
    before = await dump(redis)
    deletion_id = await app.services.deletions.begin(site, confirm=site.domain)
    left = [len(traces(await dump(redis), goes))]
    for steps in range(1, 200, 6):
        mortal = create_app(settings, bundled.address, keyring, clock=clock).services
        await die_after(steps, mortal)
        await mortal.store.close()
        await redis.delete(f"lock:deletion:{deletion_id}")  # it would run out by itself
        left.append(len(traces(await dump(redis), goes)))
    assert left[0] > left[-1], "some of them got somewhere"
    last = create_app(settings, bundled.address, keyring, clock=clock).services
    clock.advance(seconds=SETTLED_S)

    async def is_done() -> bool:
        await last.deletions.look()
        return (await last.deletions.progress(deletion_id)).is_done

    await until(is_done, "the deletion to end")
    await last.store.close()
    after = await dump(redis)
    assert traces(after, goes) == []
    assert of_site(after, stays) == of_site(before, stays)


async def test_what_was_under_way_is_found_by_the_last_look(
    app: Application, http: httpx.AsyncClient, redis: Redis, clock: ManualClock, new_site: NewSite
) -> None:
    """A request that opened the site just before can still write; it leaves nothing behind."""
    ada = await create(http, new_site, "ada")
    await write(ada, "early")
    answer = await delete(http, new_site)

    async def is_at_the_end() -> bool:
        await app.services.deletions.look()
        return bool((await http.get(f"/v1/deletions/{answer.json()['id']}")).json()["percent"] == 99)

    await until(is_at_the_end, "the data to be gone")
    lock = f"lock:deletion:{answer.json()['id']}"

    async def is_ours() -> bool:
        return bool(await redis.set(lock, "somebody else", nx=True, ex=60))

    await until(is_ours, "nobody else to look")
    app.services.tally.request(new_site.site.id)
    await app.services.tally.flush()
    late = [str(key) async for key in redis.scan_iter(f"*{new_site.site.id}*")]
    assert late, "a straggler"
    await redis.delete(lock)
    await finish(app, http, clock, answer.json()["id"])
    assert [key async for key in redis.scan_iter(f"*{new_site.site.id}*")] == []


async def test_an_id_cannot_be_used_again_before_its_site_is_gone(
    app: Application, http: httpx.AsyncClient, redis: Redis, clock: ManualClock, new_site: NewSite
) -> None:
    answer = await delete(http, new_site)
    with pytest.raises(SiteIsBeingDeleted):
        await app.services.sites.create("Blog", "blog.example.org", site_id=new_site.site.id)
    await finish(app, http, clock, answer.json()["id"])
    again = await app.services.sites.create(
        "Blog", "blog.example.org", site_id=new_site.site.id, public_key=new_site.site.api_key_public
    )
    assert (await http.get("/v1/site", headers={"projectid": again.site.api_key_public})).status_code == 200


async def test_nobody_stays_connected_to_a_deleted_site(
    app: Application, http: httpx.AsyncClient, redis: Redis, clock: ManualClock, new_site: NewSite
) -> None:
    other = await app.services.sites.create("Other", "other.example")
    ada = await create(http, new_site, "ada")
    await write(ada, "root")
    page = (await http.get("/v1/comments", params={"page_url": URL}, headers={"projectid": ada.key})).json()["page_id"]
    await until(lambda: app.services.listener.is_listening, "the listener")
    async with (
        serving(app) as server,
        server.ear(ada.key) as anonymous,
        server.ear(ada.key, ada.token) as signed_in,
        server.ear(other.site.api_key_public) as elsewhere,
    ):
        for ear in (anonymous, signed_in):
            await ear.subscribe(page)
        answer = await delete(http, new_site)
        for ear in (anonymous, signed_in):
            await asyncio.wait_for(ear.connection.wait_closed(), 10)
        assert anonymous.connection.close_code == 4404
        await elsewhere.nothing_but("connected")
        await finish(app, http, clock, answer.json()["id"])
        assert [key async for key in redis.scan_iter(f"*{page}*")] == []


# --- The command line -----------------------------------------------------------------------------------------------


@pytest.fixture
def owner(bundled: BundledStore, settings: Settings) -> Owner:
    return Owner(url_of(bundled), settings)


class TestOnTheCommandLine:
    """No server runs beside it."""

    @pytest.fixture
    async def made(
        self, redis: Redis, bundled: BundledStore, settings: Settings, keyring: Keyring, clock: ManualClock
    ) -> SiteId:
        application = create_app(settings, bundled.address, keyring, clock=clock)
        async with application.lifespan():
            new = await application.services.sites.create("Blog", "blog.example.org")
            transport = httpx.ASGITransport(application)
            async with httpx.AsyncClient(transport=transport, base_url="http://test") as http:
                await write(await create(http, new, "ada"), "root")
        return new.site.id

    async def test_it_asks_first(self, redis: Redis, owner: Owner, made: SiteId) -> None:
        command = [*THREADKIT, "site", "delete", "Blog", *owner._where]
        refused = await asyncio.to_thread(
            subprocess.run, command, input="n\n", capture_output=True, text=True, timeout=60, env=owner._env
        )
        assert refused.returncode == 1
        assert "Delete Blog (blog.example.org) and its 1 comments for good?" in refused.stderr
        assert await redis.exists(f"site:{made}:config")

    async def test_it_deletes_in_the_foreground(self, redis: Redis, owner: Owner, made: SiteId) -> None:
        done = await owner.types("site", "delete", "Blog", "--yes")
        assert done.returncode == 0, done.stderr
        assert "The site is gone" in done.stdout
        assert [key async for key in redis.scan_iter(f"*{made}*")] == []
        assert await redis.keys("comment:*") == []
        assert await redis.keys("page:*") == []
        assert await redis.hlen("sites:deleting") == 0
        again = await owner.types("site", "delete", "Blog", "--yes")
        assert (again.returncode, "There is no site 'Blog'" in again.stderr) == (1, True)

    async def test_it_goes_on_with_one_that_was_cut_off(
        self, redis: Redis, owner: Owner, made: SiteId, bundled: BundledStore, settings: Settings, keyring: Keyring
    ) -> None:
        dying = create_app(settings, bundled.address, keyring).services
        site = await dying.site_queries.by_id(made)
        assert site is not None
        await dying.deletions.begin(site, confirm=site.domain)
        await dying.store.close()
        assert await redis.exists(f"site:{made}:comments")
        result = await owner.reads("site", "delete", made)
        assert (result["site_id"], result["removed"] > 5) == (made, True)
        assert [key async for key in redis.scan_iter(f"*{made}*")] == []


# --- The schema -----------------------------------------------------------------------------------------------------


def test_of_every_key_it_is_known_what_becomes_of_it() -> None:
    """A new key needs a line in sites/belongings.py, unless its name has a site, page or comment in it."""
    assert forgotten() == []


@pytest.mark.parametrize(
    ("group", "pattern", "how"),
    [
        ("SiteKeys", "site:{site_id}:new", "name"),
        ("SiteKeys", "comment:{comment_id}:new", "comment"),
        ("SiteKeys", "new:{user_id}:{page_id}", "page"),
        ("SiteKeys", "new:{user_id}", None),
        ("UserKeys", "user:{user_id}:new", None),
        ("GlobalKeys", "new:things", None),
    ],
)
def test_a_new_key_is_understood_by_its_name_or_asked_about(group: str, pattern: str, how: str | None) -> None:
    entry = Entry("brand_new", group, pattern, Kind.SET, "something new", "tests", None, None)
    assert how_found(entry) == how
    assert forgotten([entry]) == ([] if how else [pattern])


@pytest.mark.parametrize("keys", [Keys(), Keys("x:"), Keys("x:", tagged=True)], ids=["plain", "prefix", "cluster"])
def test_every_key_is_read_back_as_what_it_is(keys: Keys) -> None:
    belongings = Belongings(keys)
    for entry in SCHEMA:
        if entry.kind is Kind.CHANNEL:
            continue
        tag = {"SiteKeys": "{site_id}", "UserKeys": "{user_id}"}.get(entry.group, "") if keys.tagged else ""
        bare = entry.pattern.replace("{", "a-").replace("}", "")
        found = belongings.parse(keys.prefix + tag + bare)
        how = how_found(entry)
        assert (found.how if found else "kept") == how, entry.pattern
    assert belongings.parse(keys.prefix + "something:strange") is None
