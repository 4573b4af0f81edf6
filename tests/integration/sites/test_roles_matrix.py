"""Who may do what to whom: one table. S3-40, S3-41.

A row is an action and a caller; the columns are the person it is done to. `-` is a combination that does not exist. A
new action is an entry in ACTIONS and its rows below.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from msgspec.structs import replace

from tests.people import Person, create
from threadkit.app import Application
from threadkit.ids import UserId, new_uuid
from threadkit.settings import Settings
from threadkit.sites.model import NewSite
from threadkit.sites.roles import STAFF, Role

TARGETS = ("user", "moderator", "admin", "owner", "self")
CALLERS = ("nobody", "user", "moderator", "admin", "owner", "key")

TABLE = """
action              caller     user moderator admin owner self
grant moderator     nobody      401       401   401   401    -
grant moderator     user        403       403   403   403  403
grant moderator     moderator   403       403   403   403  403
grant moderator     admin       200       200   400   400  400
grant moderator     owner       200       200   400   400  400
grant moderator     key         200       200   400   400    -
revoke moderator    nobody      401       401   401   401    -
revoke moderator    user        403       403   403   403  403
revoke moderator    moderator   403       403   403   403  403
revoke moderator    admin       200       200   403   403  403
revoke moderator    owner       200       200   200   200  200
revoke moderator    key         200       200   200   200    -
grant admin         nobody      403       403   403   403    -
grant admin         user        403       403   403   403  403
grant admin         moderator   403       403   403   403  403
grant admin         admin       403       403   403   403  403
grant admin         owner       200       200   200   400  400
grant admin         key         200       200   200   400    -
revoke admin        nobody      403       403   403   403    -
revoke admin        user        403       403   403   403  403
revoke admin        moderator   403       403   403   403  403
revoke admin        admin       403       403   403   403  403
revoke admin        owner       200       200   200   200  200
revoke admin        key         200       200   200   200    -
grant owner         nobody      403       403   403   403    -
grant owner         user        403       403   403   403  403
grant owner         moderator   403       403   403   403  403
grant owner         admin       403       403   403   403  403
grant owner         owner       200       200   200   200  200
grant owner         key         200       200   200   200    -
revoke owner        nobody      403       403   403   403    -
revoke owner        user        403       403   403   403  403
revoke owner        moderator   403       403   403   403  403
revoke owner        admin       403       403   403   403  403
revoke owner        owner       200       200   200   200  200
revoke owner        key         200       200   200   200    -
delete a comment    nobody      401       401   401   401    -
delete a comment    user        403       403   403   403  204
delete a comment    moderator   204       204   204   204  204
delete a comment    admin       204       204   204   204  204
delete a comment    owner       204       204   204   204  204
delete a comment    key         401       401   401   401    -
edit a comment      nobody      401       401   401   401    -
edit a comment      user        403       403   403   403  200
edit a comment      moderator   403       403   403   403  200
edit a comment      admin       403       403   403   403  200
edit a comment      owner       403       403   403   403  200
edit a comment      key         401       401   401   401    -
pin a comment       nobody      401       401   401   401    -
pin a comment       user        403       403   403   403  403
pin a comment       moderator   200       200   200   200  200
pin a comment       admin       200       200   200   200  200
pin a comment       owner       200       200   200   200  200
pin a comment       key         401       401   401   401    -
list moderators     nobody      401         -     -     -    -
list moderators     user        403         -     -     -    -
list moderators     moderator   403         -     -     -    -
list moderators     admin       200         -     -     -    -
list moderators     owner       200         -     -     -    -
list moderators     key         200         -     -     -    -
list admins         nobody      403         -     -     -    -
list admins         user        403         -     -     -    -
list admins         moderator   403         -     -     -    -
list admins         admin       403         -     -     -    -
list admins         owner       200         -     -     -    -
list admins         key         200         -     -     -    -
list owners         nobody      403         -     -     -    -
list owners         user        403         -     -     -    -
list owners         moderator   403         -     -     -    -
list owners         admin       403         -     -     -    -
list owners         owner       200         -     -     -    -
list owners         key         200         -     -     -    -
list comments       nobody      401         -     -     -    -
list comments       user        403         -     -     -    -
list comments       moderator   200         -     -     -    -
list comments       admin       200         -     -     -    -
list comments       owner       200         -     -     -    -
list comments       key         401         -     -     -    -
owner's comments    nobody      403         -     -     -    -
owner's comments    user        403         -     -     -    -
owner's comments    moderator   403         -     -     -    -
owner's comments    admin       403         -     -     -    -
owner's comments    owner       200         -     -     -    -
owner's comments    key         200         -     -     -    -
list pages          nobody      401         -     -     -    -
list pages          user        403         -     -     -    -
list pages          moderator   200         -     -     -    -
list pages          admin       200         -     -     -    -
list pages          owner       200         -     -     -    -
list pages          key         401         -     -     -    -
close the site      nobody      401         -     -     -    -
close the site      user        403         -     -     -    -
close the site      moderator   403         -     -     -    -
close the site      admin       200         -     -     -    -
close the site      owner       200         -     -     -    -
close the site      key         200         -     -     -    -
lock a page         nobody      401         -     -     -    -
lock a page         user        403         -     -     -    -
lock a page         moderator   403         -     -     -    -
lock a page         admin       200         -     -     -    -
lock a page         owner       200         -     -     -    -
lock a page         key         401         -     -     -    -
read settings       nobody      403         -     -     -    -
read settings       user        403         -     -     -    -
read settings       moderator   403         -     -     -    -
read settings       admin       403         -     -     -    -
read settings       owner       200         -     -     -    -
read settings       key         200         -     -     -    -
change settings     nobody      403         -     -     -    -
change settings     user        403         -     -     -    -
change settings     moderator   403         -     -     -    -
change settings     admin       403         -     -     -    -
change settings     owner       200         -     -     -    -
change settings     key         200         -     -     -    -
rotate a key        nobody      403         -     -     -    -
rotate a key        user        403         -     -     -    -
rotate a key        moderator   403         -     -     -    -
rotate a key        admin       403         -     -     -    -
rotate a key        owner       200         -     -     -    -
rotate a key        key         200         -     -     -    -
delete, unconfirmed nobody      403         -     -     -    -
delete, unconfirmed user        403         -     -     -    -
delete, unconfirmed moderator   403         -     -     -    -
delete, unconfirmed admin       403         -     -     -    -
delete, unconfirmed owner       400         -     -     -    -
delete, unconfirmed key         400         -     -     -    -
ban                 nobody      401       401   401   401    -
ban                 user        403       403   403   403  403
ban                 moderator   200       403   403   403  400
ban                 admin       200       200   403   403  400
ban                 owner       200       200   200   403  400
ban                 key         401       401   401   401    -
unban               nobody      401       401   401   401    -
unban               user        403       403   403   403  403
unban               moderator   200       403   403   403  400
unban               admin       200       200   403   403  400
unban               owner       200       200   200   403  400
unban               key         401       401   401   401    -
shadow-ban          nobody      401       401   401   401    -
shadow-ban          user        403       403   403   403  403
shadow-ban          moderator   200       403   403   403  400
shadow-ban          admin       200       200   403   403  400
shadow-ban          owner       200       200   200   403  400
shadow-ban          key         401       401   401   401    -
lift a shadow ban   nobody      401       401   401   401    -
lift a shadow ban   user        403       403   403   403  403
lift a shadow ban   moderator   200       403   403   403  400
lift a shadow ban   admin       200       200   403   403  400
lift a shadow ban   owner       200       200   200   403  400
lift a shadow ban   key         401       401   401   401    -
delete all          nobody      401       401   401   401    -
delete all          user        403       403   403   403  403
delete all          moderator   202       403   403   403  400
delete all          admin       202       202   403   403  400
delete all          owner       202       202   202   403  400
delete all          key         401       401   401   401    -
approve a comment   nobody      401       401   401   401    -
approve a comment   user        403       403   403   403  403
approve a comment   moderator   200       200   200   200  200
approve a comment   admin       200       200   200   200  200
approve a comment   owner       200       200   200   200  200
approve a comment   key         401       401   401   401    -
reject a comment    nobody      401       401   401   401    -
reject a comment    user        403       403   403   403  403
reject a comment    moderator   200       200   200   200  200
reject a comment    admin       200       200   200   200  200
reject a comment    owner       200       200   200   200  200
reject a comment    key         401       401   401   401    -
read a card         nobody      401       401   401   401    -
read a card         user        403       403   403   403  403
read a card         moderator   200       200   200   200  200
read a card         admin       200       200   200   200  200
read a card         owner       200       200   200   200  200
read a card         key         401       401   401   401    -
note                nobody      401       401   401   401    -
note                user        403       403   403   403  403
note                moderator   200       403   403   403  400
note                admin       200       200   403   403  400
note                owner       200       200   200   403  400
note                key         401       401   401   401    -
read notes          nobody      401       401   401   401    -
read notes          user        403       403   403   403  403
read notes          moderator   200       403   403   403  400
read notes          admin       200       200   403   403  400
read notes          owner       200       200   200   403  400
read notes          key         401       401   401   401    -
cancel a job        nobody      401       401   401   401    -
cancel a job        user        403       403   403   403  403
cancel a job        moderator   200       403   403   403  200
cancel a job        admin       200       200   403   403  200
cancel a job        owner       200       200   200   403  200
cancel a job        key         401       401   401   401    -
ban everywhere      nobody      403       403   403   403    -
ban everywhere      user        403       403   403   403  403
ban everywhere      moderator   403       403   403   403  403
ban everywhere      admin       403       403   403   403  403
ban everywhere      owner       200       200   200   403  400
ban everywhere      key         200       200   200   403    -
list jobs           nobody      401         -     -     -    -
list jobs           user        403         -     -     -    -
list jobs           moderator   200         -     -     -    -
list jobs           admin       200         -     -     -    -
list jobs           owner       200         -     -     -    -
list jobs           key         401         -     -     -    -
call it spam        nobody      401       401   401   401    -
call it spam        user        403       403   403   403  403
call it spam        moderator   200       200   200   200  200
call it spam        admin       200       200   200   200  200
call it spam        owner       200       200   200   200  200
call it spam        key         401       401   401   401    -
decide in bulk      nobody      401       401   401   401    -
decide in bulk      user        403       403   403   403  403
decide in bulk      moderator   200       200   200   200  200
decide in bulk      admin       200       200   200   200  200
decide in bulk      owner       200       200   200   200  200
decide in bulk      key         401       401   401   401    -
dismiss reports     nobody      401       401   401   401    -
dismiss reports     user        403       403   403   403  403
dismiss reports     moderator   200       200   200   200  403
dismiss reports     admin       200       200   200   200  403
dismiss reports     owner       200       200   200   200  403
dismiss reports     key         401       401   401   401    -
claim a comment     nobody      401       401   401   401    -
claim a comment     user        403       403   403   403  403
claim a comment     moderator   200       200   200   200  200
claim a comment     admin       200       200   200   200  200
claim a comment     owner       200       200   200   200  200
claim a comment     key         401       401   401   401    -
undo a decision     nobody      401       401   401   401    -
undo a decision     user        403       403   403   403  403
undo a decision     moderator   200       200   200   200  403
undo a decision     admin       200       200   200   200  403
undo a decision     owner       200       200   200   200  403
undo a decision     key         401       401   401   401    -
undo many           nobody      401       401   401   401    -
undo many           user        403       403   403   403  403
undo many           moderator   200       200   200   200  200
undo many           admin       200       200   200   200  200
undo many           owner       200       200   200   200  200
undo many           key         401       401   401   401    -
decide an appeal    nobody      401       401   401   401    -
decide an appeal    user        403       403   403   403  403
decide an appeal    moderator   200       200   200   200  403
decide an appeal    admin       200       200   200   200  403
decide an appeal    owner       200       200   200   200  403
decide an appeal    key         401       401   401   401    -
delete a note       nobody      401       401   401   401    -
delete a note       user        403       403   403   403  403
delete a note       moderator   403       403   403   403  400
delete a note       admin       200       200   403   403  400
delete a note       owner       200       200   200   403  400
delete a note       key         401       401   401   401    -
export the log      nobody      401         -     -     -    -
export the log      user        403         -     -     -    -
export the log      moderator   403         -     -     -    -
export the log      admin       200         -     -     -    -
export the log      owner       200         -     -     -    -
export the log      key         401         -     -     -    -
unban everywhere    nobody      403       403   403   403    -
unban everywhere    user        403       403   403   403  403
unban everywhere    moderator   403       403   403   403  403
unban everywhere    admin       403       403   403   403  403
unban everywhere    owner       200       200   200   403  400
unban everywhere    key         200       200   200   403    -
"""

Call = tuple[str, str, Any]


@dataclass
class World:
    """A site with everybody on it twice: once to act, once to be acted on."""

    app: Application
    http: httpx.AsyncClient
    site: NewSite
    people: dict[str, Person] = field(default_factory=dict)
    roles: dict[str, Role] = field(default_factory=dict)

    async def call(self, caller: str, call: Call) -> httpx.Response:
        method, path, body = call
        if caller in ("nobody", "key"):
            key = self.site.secret_key if caller == "key" else self.site.site.api_key_public
            return await self.http.request(method, path, json=body, headers={"projectid": key})
        return await self.people[f"acting {caller}"].call(method, path, body)

    async def restore(self) -> None:
        """Everybody as they were."""
        services, site = self.app.services, self.site.site
        for person in self.people.values():
            user = await services.users.existing(UserId(person.id))
            await services.people.unban(site, user.id, by=None)
            await services.people.shadowban(site, user.id, by=None, is_on=False)
            await services.everywhere.ban(user, is_on=False, by=None, reason=None)
        wanted = {UserId(self.people[name].id): role for name, role in self.roles.items()}
        held = dict(await self.staff())
        for user_id, role in wanted.items():
            if role in STAFF and held.get(user_id) != role:
                await self.app.services.roles.grant(self.site.site.id, user_id, role)
            elif role not in STAFF and user_id in held:
                await self.app.services.roles.revoke(self.site.site.id, user_id)

    async def staff(self) -> list[tuple[UserId, Role]]:
        return await self.app.services.roles.staff(self.site.site.id)

    async def state(self) -> tuple[Any, ...]:
        """All that one person can do to another here."""
        services, site = self.app.services, self.site.site
        people = [UserId(person.id) for person in self.people.values()]
        return (
            await self.staff(),
            [await services.standing.of(site.id, user_id) for user_id in people],
            [(user.id, user.global_banned) for user in await services.user_queries.by_ids(people)],
            [len(await services.notes.about(site.id, user_id)) for user_id in people],
            await services.jobs.newest(site.id),
            await self.comments(),
        )

    async def comments(self) -> list[Any]:
        """The comments, what was said of them, who looks at them, and the log."""
        redis, keys = self.app.services.store.redis, self.app.services.keys.site(self.site.site.id)
        found: list[Any] = []
        for comment_id in await redis.zrange(keys.comments(), 0, -1):
            record = await redis.hgetall(keys.comment(comment_id))
            pin = await redis.zscore(keys.pinned(record["page_id"]), comment_id)
            found.append((record, pin, await redis.hgetall(keys.comment_reports(comment_id))))
        lists = [await redis.zrange(key, 0, -1) for key in (keys.modqueue(), keys.reports(), keys.appeals())]
        return [found, lists, await redis.hgetall(keys.claims()), await redis.xlen(keys.modlog())]

    async def comment_of(self, target: Person) -> tuple[str, str]:
        """A new comment's id, and its page's."""
        draft = {"page_url": "https://blog.example.org/a", "content": f"by {target.name}"}
        posted = (await target.call("POST", "/v1/comments", draft)).json()["comment"]["i"]
        page = await self.http.get(
            "/v1/comments", params={"page_url": draft["page_url"]}, headers={"projectid": target.key}
        )
        return posted, page.json()["page_id"]


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Nothing goes on in the background, so that a job can still be cancelled."""
    return replace(settings, outbox="worker")


@pytest.fixture
async def world(app: Application, http: httpx.AsyncClient, new_site: NewSite) -> World:
    world = World(app, http, new_site)
    for role in (Role.USER, Role.MODERATOR, Role.ADMIN, Role.OWNER):
        for name in (role.label, f"acting {role.label}"):
            world.people[name] = await create(http, new_site, name.replace(" ", "-"))
            world.roles[name] = role
    await world.restore()
    return world


Action = Callable[[World, Person], Awaitable[Call]]
ACTIONS: dict[str, Action] = {}


def action(name: str) -> Callable[[Action], Action]:
    def register(build: Action) -> Action:
        ACTIONS[name] = build
        return build

    return register


def managing(name: str, method: str, rest: str, body: Any = None) -> None:
    """An action on the site itself, or on a person in its address or body: `{user}`."""

    async def build(world: World, target: Person) -> Call:
        path = f"/v1/admin/sites/{world.site.site.id}{rest}".replace("{user}", target.id)
        return method, path, {"user_id": target.id} if body == "{user}" else body

    ACTIONS[name] = build


for _role in ("moderator", "admin", "owner"):
    managing(f"grant {_role}", "POST", f"/{_role}s", "{user}")
    managing(f"revoke {_role}", "DELETE", f"/{_role}s/{{user}}")
    managing(f"list {_role}s", "GET", f"/{_role}s")
managing("list comments", "GET", "/comments")
managing("owner's comments", "GET", "/owner/comments")
managing("list pages", "GET", "/pages")
managing("close the site", "PUT", "/posting", {"disabled": False})
managing("read settings", "GET", "")
managing("change settings", "PATCH", "", {"settings": {"voting": "up"}})
managing("rotate a key", "POST", "/keys/sso/rotate")
managing("delete, unconfirmed", "DELETE", "", {"confirm": "another.example"})


def moderating(name: str, method: str, rest: str, body: Any = None) -> None:
    """What a moderator does about a person in the address."""

    async def build(world: World, target: Person) -> Call:
        return method, f"/v1/{rest}".replace("{user}", target.id), body

    ACTIONS[name] = build


moderating("ban", "POST", "moderation/ban/{user}", {})
moderating("unban", "POST", "moderation/unban/{user}")
moderating("shadow-ban", "POST", "moderation/shadowban/{user}")
moderating("lift a shadow ban", "DELETE", "moderation/shadowban/{user}")
moderating("delete all", "POST", "moderation/users/{user}/delete-comments")
moderating("read a card", "GET", "moderation/users/{user}")
moderating("note", "POST", "moderation/users/{user}/notes", {"text": "hm"})
moderating("read notes", "GET", "moderation/users/{user}/notes")
moderating("list jobs", "GET", "moderation/jobs")
moderating("ban everywhere", "POST", "admin/users/{user}/ban", {})
moderating("unban everywhere", "DELETE", "admin/users/{user}/ban")
moderating("export the log", "GET", "moderation/log.csv")


@action("cancel a job")
async def cancel_job(world: World, target: Person) -> Call:
    """One that the target began; a plain user began it when they were more."""
    job = await world.app.services.jobs.start(world.site.site, UserId(new_uuid()), by=UserId(target.id))
    return "DELETE", f"/v1/moderation/jobs/{job.id}", None


@action("approve a comment")
async def approve_comment(world: World, target: Person) -> Call:
    return "POST", f"/v1/moderation/approve/{(await world.comment_of(target))[0]}", {}


@action("reject a comment")
async def reject_comment(world: World, target: Person) -> Call:
    return "POST", f"/v1/moderation/reject/{(await world.comment_of(target))[0]}", {}


@action("call it spam")
async def call_spam(world: World, target: Person) -> Call:
    return "POST", f"/v1/moderation/spam/{(await world.comment_of(target))[0]}", {}


@action("decide in bulk")
async def decide_in_bulk(world: World, target: Person) -> Call:
    return "POST", "/v1/moderation/bulk", {"action": "reject", "ids": [(await world.comment_of(target))[0]]}


async def turned_down(world: World, target: Person) -> tuple[str, str]:
    """A comment that a moderator rejected, and the entry of that."""
    comment_id, _ = await world.comment_of(target)
    done = await world.people["moderator"].call("POST", f"/v1/moderation/reject/{comment_id}", {})
    return comment_id, done.json()["undo"]


@action("undo a decision")
async def undo_decision(world: World, target: Person) -> Call:
    return "POST", f"/v1/moderation/undo/{(await turned_down(world, target))[1]}", None


@action("undo many")
async def undo_many(world: World, target: Person) -> Call:
    return "POST", "/v1/moderation/undo", {"ids": [(await turned_down(world, target))[1]]}


@action("decide an appeal")
async def decide_appeal(world: World, target: Person) -> Call:
    comment_id, _ = await turned_down(world, target)
    await target.call("POST", f"/v1/comments/{comment_id}/appeal", {"text": "why?"})
    return "POST", f"/v1/moderation/appeals/{comment_id}", {"decision": "decline"}


@action("dismiss reports")
async def dismiss_reports(world: World, target: Person) -> Call:
    comment_id, _ = await world.comment_of(target)
    reporter = world.people["user" if target.name == "acting-user" else "acting user"]
    await reporter.call("POST", f"/v1/comments/{comment_id}/report", {})
    return "POST", f"/v1/moderation/reports/{comment_id}/dismiss", None


@action("claim a comment")
async def claim_comment(world: World, target: Person) -> Call:
    return "POST", f"/v1/moderation/claim/{(await world.comment_of(target))[0]}", None


@action("delete a note")
async def delete_note(world: World, target: Person) -> Call:
    """One that somebody else wrote."""
    site_id, author = world.site.site.id, world.people["owner"]
    viewer = await world.app.services.sessions.viewer(author.token, site_id)
    note = await world.app.services.notes.add(site_id, UserId(target.id), "hm", by=viewer)
    return "DELETE", f"/v1/moderation/users/{target.id}/notes/{note.id}", None


@action("delete a comment")
async def delete_comment(world: World, target: Person) -> Call:
    return "DELETE", f"/v1/comments/{(await world.comment_of(target))[0]}", None


@action("edit a comment")
async def edit_comment(world: World, target: Person) -> Call:
    return "PUT", f"/v1/comments/{(await world.comment_of(target))[0]}", {"content": "changed"}


@action("pin a comment")
async def pin_comment(world: World, target: Person) -> Call:
    return "POST", f"/v1/comments/{(await world.comment_of(target))[0]}/pin", {}


@action("lock a page")
async def lock_page(world: World, target: Person) -> Call:
    return "PUT", f"/v1/admin/pages/{(await world.comment_of(target))[1]}/posting", {"disabled": False}


def rows() -> dict[str, list[tuple[str, str, int]]]:
    """By action: caller, target, expected status."""
    found: dict[str, list[tuple[str, str, int]]] = {}
    for line in TABLE.strip().splitlines()[1:]:
        name, caller, *statuses = line[:20].strip(), *line[20:].split()
        cells = zip(TARGETS, statuses, strict=True)
        found.setdefault(name, []).extend((caller, target, int(status)) for target, status in cells if status != "-")
    return found


def test_every_action_has_its_rows() -> None:
    assert rows().keys() == ACTIONS.keys()
    for name, cells in rows().items():
        assert {caller for caller, _, _ in cells} == set(CALLERS), name


@pytest.mark.parametrize("name", ACTIONS)
async def test_everybody_may_do_what_the_table_says_and_a_refusal_changes_nothing(world: World, name: str) -> None:
    wrong = []
    for caller, target, expected in rows()[name]:
        person = world.people[f"acting {caller}" if target == "self" else target]
        call = await ACTIONS[name](world, person)
        before = await world.state()
        answer = await world.call(caller, call)
        if answer.status_code != expected:
            wrong.append(f"{name}: {caller} → {target}: {answer.status_code} instead of {expected} {answer.text[:200]}")
        if expected >= 400 and await world.state() != before:
            wrong.append(f"{name}: {caller} → {target} was refused and changed something")
        await world.restore()
    assert wrong == []


def of_staff() -> list[str]:
    """What a moderator may do to a user."""
    return [
        name
        for name, cells in rows().items()
        if any(cell[:2] == ("moderator", "user") and cell[2] < 300 for cell in cells)
    ]


@pytest.mark.parametrize("name", of_staff())
async def test_a_role_taken_away_bites_at_once(world: World, name: str) -> None:
    """With the same token, in the very next request, and nothing changes."""
    call = await ACTIONS[name](world, world.people["user"])
    await world.app.services.roles.revoke(world.site.site.id, UserId(world.people["acting moderator"].id))
    before = await world.state()
    answer = await world.call("moderator", call)
    assert answer.status_code == 403, answer.text
    assert await world.state() == before
