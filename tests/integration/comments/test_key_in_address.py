"""`?key=tk_pub_…` in place of the header: for these a browser on another origin need not ask for permission first."""

from typing import Any

import httpx
import pytest

from tests.integration.comments.test_comments import URL, write
from tests.integration.comments.test_reading import warm
from tests.people import create
from threadkit.app import Application
from threadkit.sites.model import NewSite

PAGE = {"origin": "https://blog.example.org"}


async def get(http: httpx.AsyncClient, path: str, key: str, **headers: str) -> httpx.Response:
    return await http.get(path, params={"page_url": URL, "sort": "top", "key": key}, headers=headers)


@pytest.fixture
async def talk(app: Application, http: httpx.AsyncClient, new_site: NewSite) -> None:
    await write(await create(http, new_site, "ada"), "hi")


@pytest.mark.parametrize("is_warm", [False, True], ids=["ordinary way", "fast lane"])
async def test_a_thread_is_the_same_as_with_the_header(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, talk: None, is_warm: bool
) -> None:
    if is_warm:
        await warm(app, http, new_site)
    key = new_site.site.api_key_public
    by_address = await get(http, "/v1/comments", key, **PAGE)
    by_header = await http.get(
        "/v1/comments", params={"page_url": URL, "sort": "top"}, headers=PAGE | {"projectid": key}
    )
    assert by_address.status_code == 200
    assert by_address.json() == by_header.json()
    assert by_address.headers["access-control-allow-origin"] == PAGE["origin"]
    known = await get(http, "/v1/comments", key, **PAGE, **{"if-none-match": by_address.headers["etag"]})
    assert known.status_code == 304


async def test_so_is_what_an_embed_must_know(http: httpx.AsyncClient, new_site: NewSite) -> None:
    key = new_site.site.api_key_public
    by_address = await http.get("/v1/site", params={"key": key}, headers=PAGE)
    assert by_address.status_code == 200
    assert by_address.json() == (await http.get("/v1/site", headers=PAGE | {"projectid": key})).json()


@pytest.mark.parametrize("path", ["/v1/comments", "/v1/site"])
@pytest.mark.parametrize("is_warm", [False, True], ids=["ordinary way", "fast lane"])
async def test_other_keys_and_other_pages_are_refused(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, talk: None, is_warm: bool, path: str
) -> None:
    if is_warm:
        await warm(app, http, new_site)
    refused: dict[str, tuple[httpx.Response, Any]] = {
        "unknown": (await get(http, path, "tk_pub_of_nobody"), (401, "invalid_api_key")),
        "secret": (await get(http, path, new_site.secret_key), (400, "only_public_key")),
        "empty": (await get(http, path, ""), (401, "missing_api_key")),
        "other page": (
            await get(http, path, new_site.site.api_key_public, origin="https://evil.example"),
            (403, "origin_not_allowed"),
        ),
        "header": (
            await get(http, path, new_site.site.api_key_public, projectid="tk_pub_of_nobody"),
            (401, "invalid_api_key"),
        ),
    }
    for name, (answer, expected) in refused.items():
        assert (answer.status_code, answer.json()["code"]) == expected, name
