"""`/embed.js` and what it loads, as browsers and caches see them."""

import gzip
import re

import httpx
import pytest

from threadkit.web.assets import packaged

HASHED = packaged()["count.js"].path, packaged()["frame.js"].path
ANY_PAGE = {"origin": "https://anything.example"}


@pytest.mark.parametrize("path", ["/embed.js", "/count.js"])
async def test_a_loader_is_kept_for_a_while(http: httpx.AsyncClient, path: str) -> None:
    answer = await http.get(path, headers=ANY_PAGE)
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "public, max-age=300, stale-while-revalidate=86400"
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"


@pytest.mark.parametrize("path", ["/embed.js", *HASHED])
async def test_any_page_may_load_it(http: httpx.AsyncClient, path: str) -> None:
    answer = await http.get(path, headers=ANY_PAGE)
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.headers["cross-origin-resource-policy"] == "cross-origin"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["vary"] == "Accept-Encoding"
    assert len(answer.headers.get_list("access-control-allow-origin")) == 1


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        ("frame.js", "text/javascript; charset=utf-8"),
        ("style.css", "text/css; charset=utf-8"),
        ("locales/en.json", "application/json; charset=utf-8"),
    ],
)
async def test_a_hashed_name_is_kept_for_ever(http: httpx.AsyncClient, name: str, media_type: str) -> None:
    answer = await http.get(packaged()[name].path)
    assert answer.status_code == 200
    assert answer.content == packaged()[name].body
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert answer.headers["content-type"] == media_type


@pytest.mark.parametrize("path", ["/embed/frame.0123456789.js", "/embed/frame.js"])
async def test_an_old_name_gives_what_is_there_now_and_is_not_kept(http: httpx.AsyncClient, path: str) -> None:
    answer = await http.get(path)
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-cache")
    assert answer.content == packaged()["frame.js"].body


@pytest.mark.parametrize(
    "path", ["/embed/nothing.0123456789.js", "/embed/", "/embed/embed.js", "/embed/..%2Fassets.py", "/embed/%00"]
)
async def test_what_is_unknown_is_not_found(http: httpx.AsyncClient, path: str) -> None:
    assert (await http.get(path)).status_code == 404


@pytest.mark.parametrize("path", ["/embed.js", *HASHED])
async def test_whoever_has_it_is_told_so(http: httpx.AsyncClient, path: str) -> None:
    first = await http.get(path, headers={"accept-encoding": "identity"})
    assert re.fullmatch(r'"[0-9a-f]{10}"', first.headers["etag"])
    again = await http.get(path, headers={"accept-encoding": "identity", "if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    for name in ("etag", "cache-control", "vary", "access-control-allow-origin"):
        assert again.headers[name] == first.headers[name]
    assert (await http.get(path, headers={"if-none-match": '"0000000000"'})).status_code == 200


@pytest.mark.parametrize(
    ("accepted", "is_compressed"),
    [("gzip", True), ("br, gzip;q=0.5", True), ("identity", False), ("gzip;q=0", False), ("br", False), ("", False)],
)
async def test_gzip_is_for_those_who_take_it(http: httpx.AsyncClient, accepted: str, is_compressed: bool) -> None:
    async with http.stream("GET", "/count.js", headers={"accept-encoding": accepted}) as answer:
        raw = b"".join([part async for part in answer.aiter_raw()])
    assert answer.headers.get("content-encoding") == ("gzip" if is_compressed else None)
    assert int(answer.headers["content-length"]) == len(raw)
    assert (gzip.decompress(raw) if is_compressed else raw) == packaged()["count.js"].body
    assert answer.headers["etag"].endswith('-gzip"') is is_compressed


async def test_head_says_the_same_without_the_body(http: httpx.AsyncClient) -> None:
    for path in ("/embed.js", *HASHED):
        full, head = await http.get(path), await http.head(path)
        assert (head.status_code, head.content) == (200, b"")
        for name in ("etag", "content-length", "content-type", "cache-control"):
            assert head.headers[name] == full.headers[name]


@pytest.mark.parametrize("path", ["/favicon.svg", "/favicon.ico"])
async def test_our_own_pages_have_an_icon_that_is_kept_for_a_day(http: httpx.AsyncClient, path: str) -> None:
    answer = await http.get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/svg+xml; charset=utf-8")
    assert answer.headers["cache-control"] == "public, max-age=86400"
    assert (await http.get(path, headers={"if-none-match": answer.headers["etag"]})).status_code == 304


@pytest.mark.parametrize("path", ["/", "/docs", "/setup"])
async def test_our_own_pages_name_the_icon_and_may_show_it(http: httpx.AsyncClient, path: str) -> None:
    page = await http.get(path)
    assert '<link rel="icon" href="/favicon.svg">' in page.text
    assert "img-src 'self'" in page.headers["content-security-policy"]


async def test_nothing_of_it_is_in_the_api_document(http: httpx.AsyncClient) -> None:
    paths = (await http.get("/openapi.json")).json()["paths"]
    assert not [path for path in paths if path.startswith(("/embed", "/count.js", "/demo", "/favicon"))]
