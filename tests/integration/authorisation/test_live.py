"""The same over WebSocket: who may come in and as whom, who may say what, and who hears of what. G8, contract 6."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus

from tests.integration.authorisation.world import HELD, Caller, World
from tests.integration.comments.test_comments import URL, write
from tests.integration.live.ears import Ear, LiveServer, serving
from tests.integration.moderation.test_decisions import decide
from tests.people import Person
from threadkit.app import Application
from threadkit.pages.model import page_id_of

REFUSED = {"nobody": 400, "foreign page": 403}
# Connected, and nobody: a key alone says who the site is and not who one is; a ban and another site's token make nobody of
# their holders, who may still look.
AS_NOBODY = {"anonymous", "secret key", "banned", "other site's user", "far anonymous", "far secret key"}
# What somebody shadowed does is seen by nobody else.
UNHEARD = {*AS_NOBODY, "shadowed", "author of the shadowed"}
AUTHOR, SHADOWED = "author", "author of the shadowed"
END = "that was all"


@pytest.fixture
async def live(app: Application) -> AsyncIterator[LiveServer]:
    async with serving(app) as server:
        yield server


async def everybody(world: World) -> list[Caller]:
    callers = await world.callers_of(world.people["ada"], "user", "user")
    sid = world.people["sid"]
    return [*callers, Caller(SHADOWED, "shadowed", {"projectid": sid.key, "authorization": f"Bearer {sid.token}"})]


async def come_in(live: LiveServer, caller: Caller, stack: contextlib.AsyncExitStack) -> Ear:
    token = caller.headers.get("authorization", "").removeprefix("Bearer ")
    options: dict[str, Any] = {"origin": caller.headers["origin"]} if "origin" in caller.headers else {}
    return await stack.enter_async_context(live.ear(caller.headers.get("projectid", ""), token or None, **options))


async def heard_till_the_end(ear: Ear) -> list[tuple[str, dict[str, Any]]]:
    messages = []
    while True:
        messages.append(await ear.hear())
        if END in str(messages[-1]):
            return messages


@contextlib.asynccontextmanager
async def a_full_page(world: World, live: LiveServer) -> AsyncIterator[dict[str, Ear]]:
    """Everybody looks at one page of the site, those of the other site at their own of that address as well."""
    pages = [page_id_of(site.site.id, URL) for site in (world.here, world.other)]
    async with contextlib.AsyncExitStack() as stack:
        ears = {}
        for caller in await everybody(world):
            if caller.name in REFUSED:
                continue
            ears[caller.name] = ear = await come_in(live, caller, stack)
            for page_id in pages if caller.is_far else pages[:1]:
                present = await ear.subscribe(page_id)
                if caller.is_far and page_id == pages[0]:
                    assert all(one["name"].startswith(("far", "ada")) for one in present["users"]), present
        yield ears


async def end(world: World) -> None:
    """Something that all of them hear, each on their own site."""
    await write(world.people["bob"], END)
    await write(await world.abroad(world.people["bob"]), END)


async def test_everybody_comes_in_as_who_they_are_there_or_not_at_all(world: World, live: LiveServer) -> None:
    cells = 0
    for caller in await everybody(world):
        async with contextlib.AsyncExitStack() as stack:
            if caller.name in REFUSED:
                with pytest.raises(InvalidStatus) as refusal:
                    await come_in(live, caller, stack)
                assert refusal.value.response.status_code == REFUSED[caller.name]
            else:
                method, said = await (await come_in(live, caller, stack)).hear()
                assert (method, said["user_id"] is None) == ("connected", caller.name in AS_NOBODY), caller.name
            cells += 1
    print(f"\nG8: coming in to live pages: {cells} cells as the rules say")


async def test_only_whoever_is_signed_in_and_not_shut_out_is_seen_typing(world: World, live: LiveServer) -> None:
    page_id = page_id_of(world.here.site.id, URL)
    bob = world.people["bob"]
    async with live.ear(bob.key, bob.token) as listener, a_full_page(world, live) as ears:
        await listener.subscribe(page_id)
        callers = {caller.name: caller for caller in await everybody(world)}
        silent = [name for name in ears if name in UNHEARD or callers[name].is_far]
        for name in [*silent, *(name for name in ears if name not in silent)]:
            await ears[name].say("typing", page_id=page_id)
            await ears[name].say("ping")
            await ears[name].hear_of("pong")
        await end(world)
        heard = await heard_till_the_end(listener)
    typing = [params["user"]["id"] for method, params in heard if method == "typing"]
    names = {person.id: name for name, person in world.people.items()} | {world.people["ada"].id: AUTHOR}
    known = {names[one] for one in typing if one in names}
    expected = set(ears) - set(silent)
    assert len(typing) == len(expected), typing
    assert known == {AUTHOR, "moderator", "admin", "owner", "owner everywhere"}
    assert expected - known == {"guest", "user"}
    print(f"\nG8: typing on a live page: {len(ears)} cells as the rules say")


async def edit(person: Person, comment_id: str, text: str) -> None:
    answer = await person.call("PUT", f"/v1/comments/{comment_id}", {"content": text})
    assert answer.status_code == 200, answer.text


async def test_what_is_hidden_is_heard_by_its_author_alone_and_nothing_on_the_other_site(
    world: World, live: LiveServer
) -> None:
    ada, bob, sid, mona = (world.people[name] for name in ("ada", "bob", "sid", "mona"))
    held = str((await write(ada, f"first {HELD}"))["i"])
    shadowed = str((await write(sid, "nobody knows"))["i"])
    root = str((await write(bob, "a root"))["i"])
    async with a_full_page(world, live) as ears:
        near = {name for name in ears if not name.startswith("far")}
        shown = str((await write(ada, "wombat-shown"))["i"])
        await edit(ada, shown, "wombat-edited")
        await write(ada, f"wombat-held {HELD}")
        await write(ada, f"wombat-reply {HELD}", under=[root])
        await edit(ada, held, f"wombat-rewritten {HELD}")
        await write(sid, "wombat-shadowed")
        await edit(sid, shadowed, "wombat-dark")
        await decide(mona, "approve", str((await write(ada, f"wombat-approved {HELD}"))["i"]))
        await edit(ada, shown, f"wombat-withdrawn {HELD}")
        await decide(mona, "reject", held)
        await edit(ada, held, "wombat-late")
        await end(world)
        heard = {name: str(await heard_till_the_end(ear)) for name, ear in ears.items()}
    hearers = {
        "shown": near,
        "edited": near,
        "approved": near,
        "held": {AUTHOR},
        "reply": {AUTHOR},
        "shadowed": {SHADOWED},
    }
    for word in ("shown", "edited", "held", "reply", "rewritten", "shadowed", "dark", "approved", "withdrawn", "late"):
        found = {name for name, words in heard.items() if f"wombat-{word}" in words}
        if word in hearers:
            assert found == hearers[word], word
        else:  # that their other windows hear of changes is not promised
            assert found <= {SHADOWED if word == "dark" else AUTHOR}, word
    print(f"\nG8: hearing of a live page: {len(ears) * 10} cells as the rules say")
