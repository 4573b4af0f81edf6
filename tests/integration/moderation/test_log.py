"""The moderation log is added to and read, as pages and as a file, and nothing else can be done with it."""

import csv
import io
import json
import re
from pathlib import Path

import httpx
import pytest
from redis.asyncio import Redis

import threadkit
from tests.integration.comments.test_comments import read, write
from tests.integration.moderation.test_decisions import decide, staff
from tests.people import create
from threadkit.app import Application
from threadkit.ids import UserId
from threadkit.moderation import log as log_module
from threadkit.moderation.rules import LinksRule
from threadkit.routes import route_table
from threadkit.sites.model import NewSite
from threadkit.sites.roles import Role

PACKAGE = Path(threadkit.__file__).parent


async def test_the_whole_log_can_be_taken_home(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_module, "LOOK_BATCH", 2)
    ada, admin = await create(http, new_site, "ada"), await staff(app, http, new_site, Role.ADMIN)
    comments = [await write(ada, f"comment {number}") for number in range(5)]
    for comment in comments:
        await decide(admin, "reject", comment["i"], reason='=HYPERLINK("http://evil", "click")')
    await admin.call("POST", f"/v1/moderation/ban/{ada.id}", {"hours": 1, "reason": "two\nlines, and a comma"})
    shown = (await admin.call("GET", "/v1/moderation/log")).json()["entries"]
    lines = await admin.call("GET", "/v1/moderation/log.jsonl")
    assert lines.headers["content-type"].startswith("application/jsonl")
    assert [json.loads(line) for line in lines.text.splitlines()] == shown[::-1]
    table = await admin.call("GET", "/v1/moderation/log.csv")
    assert table.headers["content-type"] == "text/csv; charset=utf-8"
    assert table.headers["cache-control"] == "no-store"
    assert 'filename="moderation-log.csv"' in table.headers["content-disposition"]
    rows = list(csv.DictReader(io.StringIO(table.text, newline="")))
    assert [row["id"] for row in rows] == [entry["id"] for entry in shown[::-1]]
    assert (rows[0]["action"], rows[0]["before"], rows[0]["after"]) == ("role", "user", "admin")
    assert [row["comment_id"] for row in rows[1:6]] == [comment["i"] for comment in comments]
    assert rows[1]["reason"] == '\'=HYPERLINK("http://evil", "click")'
    assert (rows[1]["before"], rows[1]["after"], rows[1]["by"]) == ("approved", "rejected", admin.id)
    assert rows[-1]["reason"] == "two\nlines, and a comma"
    assert rows[-1]["until"].endswith("Z")


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "  =1", "\r=1"])
async def test_no_cell_is_a_formula(app: Application, http: httpx.AsyncClient, new_site: NewSite, cell: str) -> None:
    ada, admin = await create(http, new_site, "ada"), await staff(app, http, new_site, Role.ADMIN)
    comment = await write(ada, "hi")
    await decide(admin, "reject", comment["i"], reason=cell)
    table = await admin.call("GET", "/v1/moderation/log.csv")
    _, row = csv.DictReader(io.StringIO(table.text, newline=""))
    assert row["reason"] == f"'{cell}"


async def test_an_empty_log_is_an_empty_file(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    admin = await staff(app, http, new_site, Role.ADMIN)
    await redis.delete(f"site:{new_site.site.id}:modlog")
    assert (await admin.call("GET", "/v1/moderation/log.jsonl")).text == ""
    table = await admin.call("GET", "/v1/moderation/log.csv")
    assert table.text == "id,at,action,by,user_id,comment_id,reason,before,after,until,count,job_id,page_id\r\n"


async def test_moderators_read_the_log_but_do_not_take_it_home(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    mo = await staff(app, http, new_site)
    for ending in ("csv", "jsonl"):
        assert (await mo.call("GET", f"/v1/moderation/log.{ending}")).status_code == 403
    assert (await mo.call("GET", "/v1/moderation/log")).status_code == 200


def test_nothing_but_adding_and_reading_touches_the_log() -> None:
    """Whoever adds a command that could change it has to come here first."""
    offenders = []
    for path in PACKAGE.rglob("*.lua"):
        if path.name == "copy_log.lua":  # takes people out who left; tests/integration/erasing holds it to nothing else
            continue
        source = path.read_text(encoding="utf-8")
        names = re.findall(r"KEYS\[(\d+)\] modlog", source)
        for number in names:
            uses = re.findall(rf"'(\w+)', KEYS\[{number}\][,)]", source)
            if (
                "XADD" not in uses
                or set(uses) - {"XADD", "XREVRANGE"}
                or re.search(rf"'XADD', KEYS\[{number}\], '(?!\*')", source)
            ):
                offenders.append(f"{path.name}: {uses}")
    for path in PACKAGE.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        if path.parent.name == "moderation" and re.search(r"\bx(del|trim|setid)\b|maxlen|minid", source, re.IGNORECASE):
            offenders.append(path.name)
        direct = re.findall(r"(\w+)\([^()]*(?:\([^()]*\)[^()]*)*\.modlog\(\)", source)
        if set(direct) - {"xadd", "xrange", "xrevrange", "_run"}:
            offenders.append(f"{path.name}: {direct}")
    assert offenders == []


async def test_there_is_no_way_to_edit_the_log_over_http(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    ada, owner = await create(http, new_site, "ada"), await staff(app, http, new_site, Role.OWNER)
    comment = await write(ada, "hi")
    await decide(owner, "reject", comment["i"])
    key = f"site:{new_site.site.id}:modlog"
    before = await redis.xrange(key)
    assert before
    (entry_id, _) = before[0]
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        for path in ("/v1/moderation/log", f"/v1/moderation/log/{entry_id}", "/v1/moderation/log.csv"):
            assert (await owner.call(method, path, {})).status_code in (404, 405), (method, path)
    routes = {route.path for route in route_table().routes if "/log" in route.path and "login" not in route.path}
    assert {path for path in routes if "logout" not in path} == {
        "/v1/moderation/log",
        "/v1/moderation/log.csv",
        "/v1/moderation/log.jsonl",
    }
    assert await redis.xrange(key) == before


async def test_whoever_changes_roles_pins_locks_and_settings_is_in_the_log(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    """With before and after, once for each change, and without secrets."""
    boss, ada = await staff(app, http, new_site, Role.OWNER), await create(http, new_site, "ada")
    site_id, comment = new_site.site.id, await write(ada, "hi")
    page_id = (await read(http, new_site))["page_id"]
    at = f"/v1/admin/sites/{site_id}"
    start = (await boss.call("GET", "/v1/moderation/log?limit=1")).json()["entries"][0]["id"]
    settings = {"posting_disabled": True, "akismet": {"key": "akismetkey12"}, "screening": {"links": {"others": 9}}}
    for method, path, body in (
        ("POST", f"{at}/moderators", {"user_id": ada.id}),
        ("POST", f"{at}/moderators", {"user_id": ada.id}),
        ("POST", f"{at}/admins", {"user_id": ada.id}),
        ("DELETE", f"{at}/admins/{ada.id}", None),
        ("POST", f"/v1/comments/{comment['i']}/pin", {}),
        ("POST", f"/v1/comments/{comment['i']}/pin", {}),
        ("PUT", f"/v1/admin/pages/{page_id}/posting", {"disabled": True}),
        ("PUT", f"/v1/admin/pages/{page_id}/posting", {"disabled": True}),
        ("PUT", f"/v1/admin/pages/{page_id}/posting", {"disabled": False}),
        ("PATCH", at, {"settings": settings}),
        ("PATCH", at, {"settings": {"posting_disabled": True}}),
        ("PUT", f"{at}/posting", {"disabled": False}),
        ("PATCH", at, {"name": "Better"}),
        ("POST", f"{at}/keys/public/rotate", None),
        ("POST", f"{at}/keys/secret/rotate", None),
        ("POST", f"{at}/keys/sso/rotate", None),
    ):
        answer = await boss.call(method, path, body)
        assert answer.status_code == 200, (path, answer.text)
    site = await app.services.site_queries.by_id(site_id)
    assert site is not None
    text = (await boss.call("GET", "/v1/moderation/log.jsonl")).text
    entries = [json.loads(line) for line in text.splitlines()]
    entries = entries[[entry["id"] for entry in entries].index(start) + 1 :]
    hidden = '"(hidden)"'
    old, new = new_site.site.api_key_public, site.api_key_public
    assert [(entry["action"], entry.get("before"), entry.get("after")) for entry in entries] == [
        ("role", "user", "moderator"),
        ("role", "moderator", "admin"),
        ("role", "admin", "user"),
        ("pin", "off", "on"),
        ("unpin", "on", "off"),
        ("lock_page", "off", "on"),
        ("unlock_page", "on", "off"),
        (
            "site_settings",
            'akismet.key="", posting_disabled=false, screening.links.others=' + str(LinksRule().others),
            f"akismet.key={hidden}, posting_disabled=true, screening.links.others=9",
        ),
        ("site_settings", "posting_disabled=true", "posting_disabled=false"),
        ("site_settings", 'name="Blog"', 'name="Better"'),
        ("rotate_public_key", f'api_key_public="{old}"', f'api_key_public="{new}"'),
        ("rotate_secret_key", None, None),
        ("rotate_sso_secret", None, None),
    ]
    assert {entry["by"] for entry in entries} == {boss.id}
    assert [entry["user_id"] for entry in entries[:5]] == [ada.id] * 5
    assert [entry["page_id"] for entry in entries[5:7]] == [page_id] * 2
    assert "akismetkey12" not in text


async def test_a_role_given_on_the_server_is_in_the_log_once(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    ada, site_id = await create(http, new_site, "ada"), new_site.site.id
    for role in (Role.MODERATOR, Role.MODERATOR, Role.OWNER):
        await app.services.roles.grant(site_id, UserId(ada.id), role)
    for _ in range(2):
        await app.services.roles.revoke(site_id, UserId(ada.id))
    entries = await app.services.moderation_log.newest(site_id, before=None, limit=10)
    assert [(entry.before, entry.after, entry.by) for entry in reversed(entries)] == [
        ("user", "moderator", None),
        ("moderator", "owner", None),
        ("owner", "user", None),
    ]
    await app.services.roles.grant(site_id, UserId(ada.id), Role.MODERATOR)
    assert (await ada.call("DELETE", "/v1/users/me")).status_code == 200
    assert len(await app.services.moderation_log.newest(site_id, before=None, limit=10)) == 4


async def test_the_file_tells_how_many_and_by_which_job(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    ada, bob, admin = (
        await create(http, new_site, "ada"),
        await create(http, new_site, "bob"),
        await staff(app, http, new_site, Role.ADMIN),
    )
    comment = await write(ada, "hi")
    await bob.call("POST", f"/v1/comments/{comment['i']}/report", {})
    await admin.call("POST", f"/v1/moderation/reports/{comment['i']}/dismiss")
    job = (await admin.call("POST", f"/v1/moderation/users/{ada.id}/delete-comments")).json()["id"]
    await app.services.outbox.drain()
    table = await admin.call("GET", "/v1/moderation/log.csv")
    rows = {row["action"]: row for row in csv.DictReader(io.StringIO(table.text, newline=""))}
    assert (rows["delete_comments_done"]["count"], rows["delete_comments_done"]["job_id"]) == ("1", job)
    assert rows["dismiss_reports"]["user_id"] == ada.id
