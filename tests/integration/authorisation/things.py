"""The objects that calls are about, each made in the state that the rules name."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import httpx

from tests.integration.authorisation import rules
from tests.integration.authorisation.world import HELD, World, cookie_of, signed_in
from tests.integration.comments.test_comments import write
from tests.integration.moderation.test_decisions import decide
from tests.integration.moderation.test_people import abroad
from tests.people import Person, guest
from tests.wait import until
from threadkit.ids import CommentId, UserId, new_uuid
from threadkit.pages.model import page_id_of


@dataclass
class Thing:
    ids: dict[str, str]
    """By the names that paths and bodies have for them."""
    author: Person | None = None
    author_kind: str = "user"
    far_kind: str = "user"
    """What their role makes of the author here, and on the other site."""
    secret: str = ""
    """What only its author and the staff may read."""


async def comment(world: World, state: str) -> Thing:
    number = next(world.numbers)
    url, text = f"https://blog.example.org/{number}", f"wombat{number}x"
    ada, bob, mona = world.people["ada"], world.people["bob"], world.people["mona"]
    author, kind, under = ada, "user", None
    match state:
        case "missing":
            return Thing({"comment_id": new_uuid(), "page_url": url}, ada)
        case "shadowed":
            author, kind = world.people["sid"], "shadowed"
        case "of a banned author" | "of an erased author":
            author, kind = await world.person("ben"), "banned"
        case "rejected and a moderator's":
            author, kind = await world.person("mo", "moderator"), "moderator"
        case "pending" | "claimed":
            text += f" {HELD}"
        case "buried":
            under = str((await write(bob, "above", url=url))["i"])
    comment_id = str((await write(author, text, url=url, under=[under] if under else None))["i"])
    site, services = world.here.site, world.app.services
    match state:
        case "rejected" | "rejected and a moderator's" | "appealed":
            await decide(mona, "reject", comment_id)
        case "spam":
            await decide(mona, "spam", comment_id)
        case "buried":
            await decide(mona, "reject", str(under))
        case "deleted" | "gone":
            if state == "deleted":
                await write(bob, "below", url=url, under=[comment_id])
            await _done(author.call("DELETE", f"/v1/comments/{comment_id}"))
        case "locked":
            await services.pages.lock_named(site, url, locked=True)
        case "moved":
            await services.pages.move(site, url, f"{url}/new")
        case "reported":
            await _done(bob.call("POST", f"/v1/comments/{comment_id}/report", {}))
        case "claimed":
            await _done(mona.call("POST", f"/v1/moderation/claim/{comment_id}"))
        case "of a banned author":
            await world.ban(author)
        case "of an erased author":
            await _done(author.call("DELETE", "/v1/users/me"))
    if state == "appealed":
        await _done(author.call("POST", f"/v1/comments/{comment_id}/appeal", {"text": "why?"}))
    ids = {"comment_id": comment_id, "page_url": url}
    is_secret = rules.fits({state}, f"{rules.UNSEEN}, {rules.NO_MORE}")
    return Thing(ids, None if state == "of an erased author" else author, kind, secret=text if is_secret else "")


async def user(world: World, state: str) -> Thing:
    kind = "user"
    match state:
        case "missing":
            return Thing({"user_id": new_uuid()})
        case "guest":
            person, kind = await guest(world.http, world.here), "guest"
        case "never here":
            person = await abroad(world.app, world.http, await world.person("new", site=world.other), world.here)
        case "a moderator" | "an admin" | "an owner":
            kind = state.split()[1]
            person = await world.person("one", kind)
        case _:
            person = await world.person("one")
    secret = f"wombat{next(world.numbers)}x"
    hidden = CommentId((await write(person, secret))["i"])
    await world.app.services.decisions.decide(world.here.site, hidden, "reject", by=None)
    match state:
        case "banned":
            kind = "banned"
            await world.ban(person)
        case "shadow-banned":
            kind = "shadowed"
            await world.ban(person, shadow=True)
        case "banned everywhere":
            kind = "banned"
            await world.abroad(person)  # afterwards they cannot sign in
            one = await world.app.services.users.existing(UserId(person.id))
            await world.app.services.everywhere.ban(one, is_on=True, by=None, reason=None)
        case "erased":
            await _done(person.call("DELETE", "/v1/users/me"))
            return Thing({"user_id": person.id}, secret=secret)
    return Thing({"user_id": person.id}, person, kind, "banned" if "everywhere" in state else "user", secret)


async def page(world: World, state: str) -> Thing:
    url, site = f"https://blog.example.org/{next(world.numbers)}", world.here.site
    thing = Thing({"page_id": page_id_of(site.id, url), "page_url": url})
    if state != "missing":
        await write(world.people["ada"], "something", url=url)
    if state == "locked":
        await world.app.services.pages.lock_named(site, url, locked=True)
    if state == "moved":
        await world.app.services.pages.move(site, url, f"{url}/new")
    return thing


async def site(world: World, state: str) -> Thing:
    ids = {"own": world.here.site.id, "other": world.other.site.id, "missing": new_uuid()}
    return Thing({"site_id": ids[state]})


async def notification(world: World, state: str) -> Thing:
    author, kind = await world.person("ann"), "user"
    if state == "missing":
        return Thing({"notification_id": new_uuid()}, author)
    root = await write(author, "a question")
    await write(world.people["bob"], "an answer", under=[root["i"]])
    await world.app.services.outbox.drain()
    [told] = (await author.call("GET", "/v1/notifications")).json()["notifications"]
    if state == "read":
        await _done(author.call("POST", f"/v1/notifications/{told['id']}/read"))
    if state == "taken away":
        await _done(author.call("DELETE", f"/v1/notifications/{told['id']}"))
    if state == "of a banned person":
        await world.ban(author)
        kind = "banned"
    return Thing({"notification_id": told["id"]}, author, kind)


async def session(world: World, state: str) -> Thing:
    author, kind = await world.person("ann"), "user"
    if state == "missing":
        return Thing({"session_id": new_uuid()}, author)
    first = await _sessions(author)
    await abroad(world.app, world.http, author, world.here)
    [second] = await _sessions(author) - first
    if state == "ended":
        await _done(author.call("DELETE", f"/v1/users/me/sessions/{second}"))
    if state == "of a banned person":
        await world.ban(author)
        kind = "banned"
    return Thing({"session_id": second}, author, kind)


async def entry(world: World, state: str) -> Thing:
    """`author` is whoever the entry is about, where that makes a difference, else whoever did it."""
    mona, alma, services = world.people["mona"], world.people["alma"], world.app.services
    author, kind = mona, "moderator"
    target = await world.person("one", "moderator" if "moderator" in state else None)
    match state:
        case "missing":
            return Thing({"entry_id": "1765000000000-7"}, mona, "moderator")
        case "a ban" | "a ban of a moderator":
            doer = alma if "moderator" in state else mona
            answer = await _done(doer.call("POST", f"/v1/moderation/ban/{target.id}", {}))
            author, kind = doer, "admin" if doer is alma else "moderator"
            return Thing({"entry_id": answer.headers["x-undo"]}, author, kind)
        case "a ban everywhere":
            one = await services.users.existing(UserId(target.id))
            noted = await services.everywhere.ban(one, is_on=True, by=None, reason=None) or {}
            if noted[world.here.site.id] == noted[world.other.site.id]:  # of one millisecond: the other log has it too
                return await entry(world, state)
            return Thing({"entry_id": noted[world.here.site.id]}, author, kind)
        case "a role":
            await world.person("one", "moderator")
            [newest] = (await mona.call("GET", "/v1/moderation/log?action=role&limit=1")).json()["entries"]
            return Thing({"entry_id": newest["id"]}, author, kind)
    if state == "rejection of a moderator's own":
        author = target
    comment_id = (await write(target, f"words {next(world.numbers)}"))["i"]
    undo = (await decide(mona, "delete" if state == "a deletion" else "reject", comment_id))["undo"]
    if state == "overtaken":
        await decide(alma, "approve", comment_id)
    if state == "too old":
        world.clock.advance(seconds=31)
    return Thing({"entry_id": undo}, author, kind)


async def job(world: World, state: str) -> Thing:
    is_admins = state == "an admin's"
    author, kind = world.people["alma" if is_admins else "mona"], "admin" if is_admins else "moderator"
    if state == "missing":
        return Thing({"job_id": new_uuid()}, author, kind)
    target = await world.person("one")
    started = await _done(author.call("POST", f"/v1/moderation/users/{target.id}/delete-comments"))
    if state == "over":
        await world.app.services.outbox.drain()
    return Thing({"job_id": started.json()["id"]}, author, kind)


async def note(world: World, state: str) -> Thing:
    is_about_staff = state == "about a moderator"
    author, kind = (world.people["alma"], "admin") if is_about_staff else (world.people["mona"], "moderator")
    target = await world.person("one", "moderator" if is_about_staff else None)
    if state == "missing":
        return Thing({"user_id": target.id, "note_id": new_uuid()}, author, kind)
    text = f"wombat{next(world.numbers)}x"
    noted = await _done(author.call("POST", f"/v1/moderation/users/{target.id}/notes", {"text": text}))
    return Thing({"user_id": target.id, "note_id": noted.json()["id"]}, author, kind, secret=text)


async def letter(world: World, state: str) -> Thing:
    if state == "missing":
        return Thing({"letter_id": "7-7"})
    dead = world.app.services.keys.site(world.here.site.id).outbox_dead()
    return Thing({"letter_id": str(await world.redis.xadd(dead, {"event": "{}", "why": "it could not be done"}))})


async def deletion(world: World, state: str) -> Thing:
    if state == "missing":
        return Thing({"deletion_id": new_uuid()})
    third = await world.app.services.sites.create("Third", "third.example")
    answer = await world.http.request(
        "DELETE",
        f"/v1/admin/sites/{third.site.id}",
        json={"confirm": "third.example"},
        headers={"projectid": third.secret_key},
    )
    deletion_id = answer.json()["id"]

    async def is_waiting() -> bool:
        """For stragglers: until then it goes on by itself."""
        await world.app.services.deletions.look()
        return bool((await world.http.get(f"/v1/deletions/{deletion_id}")).json()["percent"] == 99)

    await until(is_waiting, "the data to be gone")
    return Thing({"deletion_id": deletion_id})


async def passkey(world: World, state: str) -> Thing:
    author = await world.person("pat", "moderator")
    async with signed_in(world, author) as desk:
        await desk.add_passkey()
        [added] = (await desk.said("GET", "second-step"))["passkeys"]
        world.cookies[author.token] = cookie_of(desk)
    return Thing({"passkey_id": new_uuid() if state == "missing" else added["id"]}, author, "moderator")


MAKERS: dict[str, Callable[[World, str], Awaitable[Thing]]] = {
    rules.COMMENT: comment,
    rules.USER: user,
    rules.PAGE: page,
    rules.SITE: site,
    rules.NOTIFICATION: notification,
    rules.SESSION: session,
    rules.ENTRY: entry,
    rules.JOB: job,
    rules.NOTE: note,
    rules.LETTER: letter,
    rules.DELETION: deletion,
    rules.PASSKEY: passkey,
}


async def _done(call: Awaitable[httpx.Response]) -> httpx.Response:
    answer = await call
    assert answer.status_code < 300, answer.text
    return answer


async def _sessions(person: Person) -> set[str]:
    return {one["id"] for one in (await person.call("GET", "/v1/users/me/sessions")).json()["sessions"]}
