"""`threadkit rerender`: HTML made again from what people wrote, beside a running server."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis
from redis.client import Redis as PlainRedis

from tests.folders import quick_folder
from tests.integration.comments.agreement import disagreements
from tests.integration.comments.test_comments import read, write
from tests.integration.comments.test_reading import get, warm
from tests.integration.server.program import Server, run, serving
from tests.integration.server.test_cli import json_of
from tests.people import create
from threadkit import text
from threadkit.app import Application
from threadkit.comments.rerendering import Rerendered
from threadkit.sites.model import NewSite


async def rerender(app: Application, site: NewSite, *, everything: bool = False) -> Rerendered:
    return await app.services.rerendering.run([site.site], everything=everything, on_progress=lambda *_: None)


async def outdate(redis: Redis, *comments: dict[str, Any]) -> None:
    """As if an older version had rendered these."""
    for comment in comments:
        await redis.hset(f"comment:{comment['i']}", mapping={"content_html": "<p>old</p>", "render_version": "0"})


async def test_what_an_older_version_rendered_is_rendered_again_and_readers_see_it(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    ada = await create(http, new_site, "ada")
    old, new, gone = [await write(ada, f"**{word}**") for word in ("old", "new", "gone")]
    await outdate(redis, old)
    await ada.call("DELETE", f"/v1/comments/{gone['i']}")
    await warm(app, http, new_site)
    before = await get(http, new_site)
    assert await rerender(app, new_site) == Rerendered(comments=3, rendered=1, changed=1)
    after = await get(http, new_site, if_none_match=before.headers["etag"])
    assert after.status_code == 200
    assert {node["i"]: node for node in after.json()["tree"]["c"]} == {node["i"]: node for node in (old, new)}
    assert await rerender(app, new_site) == Rerendered(comments=3)
    assert await rerender(app, new_site, everything=True) == Rerendered(comments=3, rendered=2)
    assert (await get(http, new_site, if_none_match=after.headers["etag"])).status_code == 304, "nothing changed"


async def test_a_name_means_whom_it_meant_when_it_was_written(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    ada, bob = await create(http, new_site, "ada"), await create(http, new_site, "bob")
    comment = await write(ada, f"@bob and '<span data-user=\"{ada.id}\">@nobody</span>'")
    assert (await bob.call("PUT", "/v1/users/me", {"name": "robert"})).status_code == 200
    await create(http, new_site, "bob")
    await rerender(app, new_site, everything=True)
    node = (await read(http, new_site))["tree"]["c"][0]
    assert node["h"] == comment["h"]
    assert f'data-user="{bob.id}"' in node["h"]


async def test_a_text_whose_html_would_be_too_long_keeps_the_html_it_has(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    ada = await create(http, new_site, "ada")
    comment = await write(ada, "fine")
    await outdate(redis, comment)
    await redis.hset(f"comment:{comment['i']}", "content", "&" * 9000)
    report = await rerender(app, new_site)
    assert (report.rendered, report.too_complex) == (0, [comment["i"]])
    assert (await read(http, new_site))["tree"]["c"][0]["h"] == "<p>old</p>"


async def test_edits_meanwhile_win(app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis) -> None:
    ada = await create(http, new_site, "ada")
    comments = [await write(ada, f"*comment {number}*") for number in range(30)]
    await outdate(redis, *comments)
    edits = [
        ada.call("PUT", f"/v1/comments/{comment['i']}", {"content": f"**edited {comment['t']}**"})
        for comment in comments[::2]
    ]
    rendering = asyncio.create_task(rerender(app, new_site, everything=True))
    answers = await asyncio.gather(*edits)
    await rendering
    assert {answer.status_code for answer in answers} == {200}
    nodes = (await read(http, new_site))["tree"]["c"]
    assert sum("edited" in node["t"] for node in nodes) == 15
    assert [node["t"] for node in nodes if node["h"] != text.render(node["t"]).html] == []
    assert await disagreements(redis, shadowed=()) == []


@pytest.fixture
def server() -> Iterator[Server]:
    with (
        quick_folder() as folder,
        serving(Path(folder) / "d") as running,
    ):
        yield running


def test_the_command_beside_a_running_server(server: Server) -> None:
    data = ["--data", str(server.folder)]
    site = json_of("site", "create", "Shop", "shop.example.org", "auth.anonymous=yes", *data)
    assert isinstance(site, dict)
    headers = {"projectid": site["api_key_public"]}
    page = "https://shop.example.org/a"
    body = {"page_url": page, "content": "*hi*", "author_name": "Guest"}
    comment = httpx.post(f"{server.url}/v1/comments", json=body, headers=headers).json()["comment"]
    (socket,) = server.folder.rglob("*.sock")
    with PlainRedis(unix_socket_path=str(socket), decode_responses=True) as store:
        store.hset(f"comment:{comment['i']}", mapping={"content_html": "<p>old</p>", "render_version": "0"})
    done = run("rerender", *data)
    assert (done.returncode, done.stderr) == (0, ""), "no progress bar where nobody looks"
    assert done.stdout == "1 of 1 comments rendered, 1 changed.\n"
    thread = httpx.get(f"{server.url}/v1/comments", params={"page_url": page}, headers=headers).json()
    assert thread["tree"]["c"] == [comment]
    told = json_of("rerender", "--all", "--site", "shop.example.org", *data)
    assert told == {"comments": 1, "rendered": 1, "changed": 0, "too_complex": []}
    unknown = run("rerender", "--site", "nope", *data)
    assert (unknown.returncode, unknown.stderr) == (1, "Error: There is no site 'nope'.\n")
