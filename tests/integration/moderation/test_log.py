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
from tests.integration.comments.test_comments import write
from tests.integration.moderation.test_decisions import decide, staff
from tests.people import create
from threadkit.app import Application
from threadkit.moderation import log as log_module
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
    assert [row["comment_id"] for row in rows[:5]] == [comment["i"] for comment in comments]
    assert rows[0]["reason"] == '\'=HYPERLINK("http://evil", "click")'
    assert (rows[0]["before"], rows[0]["after"], rows[0]["by"]) == ("approved", "rejected", admin.id)
    assert rows[-1]["reason"] == "two\nlines, and a comma"
    assert rows[-1]["until"].endswith("Z")


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "  =1", "\r=1"])
async def test_no_cell_is_a_formula(app: Application, http: httpx.AsyncClient, new_site: NewSite, cell: str) -> None:
    ada, admin = await create(http, new_site, "ada"), await staff(app, http, new_site, Role.ADMIN)
    comment = await write(ada, "hi")
    await decide(admin, "reject", comment["i"], reason=cell)
    table = await admin.call("GET", "/v1/moderation/log.csv")
    (row,) = csv.DictReader(io.StringIO(table.text, newline=""))
    assert row["reason"] == f"'{cell}"


async def test_an_empty_log_is_an_empty_file(app: Application, http: httpx.AsyncClient, new_site: NewSite) -> None:
    admin = await staff(app, http, new_site, Role.ADMIN)
    assert (await admin.call("GET", "/v1/moderation/log.jsonl")).text == ""
    table = await admin.call("GET", "/v1/moderation/log.csv")
    assert table.text == "id,at,action,by,user_id,comment_id,reason,before,after,until\r\n"


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
        source = path.read_text(encoding="utf-8")
        names = re.findall(r"KEYS\[(\d+)\] modlog", source)
        for number in names:
            uses = re.findall(rf"'(\w+)', KEYS\[{number}\][,)]", source)
            if not uses or set(uses) != {"XADD"} or re.search(rf"'XADD', KEYS\[{number}\], '(?!\*')", source):
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
    routes = {route.path for route in app.litestar.routes if "/log" in route.path and "login" not in route.path}
    assert {path for path in routes if "logout" not in path} == {
        "/v1/moderation/log",
        "/v1/moderation/log.csv",
        "/v1/moderation/log.jsonl",
    }
    assert await redis.xrange(key) == before
