"""Bodies: JSON only when they say so, and strict JSON then."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.people import post
from threadkit.http.request import strict_json
from threadkit.sites.model import NewSite

PATH = "/v1/users/check-username"
CORPUS = Path(__file__).parents[3].parent / "shared" / "data" / "hostile"
# A few of the corpus, for a checkout that stands alone.
FEW = {
    "y_object_simple.json": b'{"a":[]}',
    "n_object_trailing_comma.json": b'{"id":0,}',
    "i_string_utf-8.json": b'["\xe9"]',
}


async def send(http: httpx.AsyncClient, site: NewSite, body: bytes, kind: str = "application/json") -> httpx.Response:
    return await http.post(PATH, content=body, headers={"projectid": site.site.api_key_public, "content-type": kind})


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "", "text/json"]
)
async def test_a_body_without_its_content_type_is_415(http: httpx.AsyncClient, new_site: NewSite, kind: str) -> None:
    assert (await send(http, new_site, b'{"username":"ada"}', kind)).status_code == 415


async def test_no_body_at_all_is_415(http: httpx.AsyncClient, new_site: NewSite) -> None:
    answer = await http.post(PATH, headers={"projectid": new_site.site.api_key_public})
    assert (answer.status_code, answer.json()["code"]) == (415, "not_json")


async def test_json_with_a_charset_is_json(http: httpx.AsyncClient, new_site: NewSite) -> None:
    assert (await send(http, new_site, b'{"username":"ada"}', "application/json; charset=utf-8")).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b'{"username":"\xff"}',
        b'{"username":"a\\u0000b"}',
        b'{"username":"a\x00b"}',
        b'{"username":NaN}',
        b'{"username":Infinity}',
        b'{"username":"ada","n":123456789012345678901234567890}',
        b'{"username":"\\ud800"}',
        b"[" * 100_00 + b"]" * 100_00,
        b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
        b'\xef\xbb\xbf{"username":"ada"}',
    ],
)
async def test_what_is_not_strict_json_is_400(http: httpx.AsyncClient, new_site: NewSite, body: bytes) -> None:
    answer = await send(http, new_site, body)
    assert answer.status_code == 400, answer.text
    assert answer.headers["content-type"] == "application/problem+json"


async def test_text_that_only_mentions_such_things_is_fine() -> None:
    assert strict_json(b'{"t":"\\\\u0000 and 123456789012345678901234567890 and [[[[[["}') == {
        "t": "\\u0000 and 123456789012345678901234567890 and [[[[[["
    }
    assert strict_json(b"[1.234567890123456789012345, 1e5]") == [1.2345678901234568, 100000.0]


@pytest.mark.parametrize(
    ("body", "field"),
    [({}, "username"), ({"username": 7}, "username"), ({"username": None}, "username"), ([], "body"), ("x", "body")],
)
async def test_good_json_of_the_wrong_shape_is_422(
    http: httpx.AsyncClient, new_site: NewSite, body: Any, field: str
) -> None:
    answer = await post(http, new_site, PATH, body)
    assert answer.status_code == 422, answer.text
    assert field in answer.json()["error"]


async def test_unknown_fields_are_ignored(http: httpx.AsyncClient, new_site: NewSite) -> None:
    assert (await post(http, new_site, PATH, {"username": "ada", "else": [1]})).status_code == 200


async def test_more_than_64_kb_is_413(http: httpx.AsyncClient, new_site: NewSite) -> None:
    answer = await send(http, new_site, json.dumps({"username": "x" * 70_000}).encode())
    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")


async def test_the_key_is_asked_for_before_the_body_is_looked_at(http: httpx.AsyncClient) -> None:
    answer = await http.post(PATH, content=b"{broken", headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["error"]) == (401, "Missing projectid header")


async def test_the_json_corpus_never_breaks_anything(http: httpx.AsyncClient, new_site: NewSite) -> None:
    folder = CORPUS / "json-parsing"
    bodies = {path.name: path.read_bytes() for path in folder.glob("*.json")} if folder.exists() else FEW
    assert bodies
    for name, body in bodies.items():
        status = (await send(http, new_site, body)).status_code
        assert status in ((400,) if name.startswith("n_") else (400, 422) if name.startswith("i_") else (422, 400)), (
            name
        )
        if name.startswith("y_") and b"u0000" not in body:
            assert status == 422, name


async def test_naughty_strings_go_in_and_come_out_or_are_refused(http: httpx.AsyncClient, new_site: NewSite) -> None:
    file = CORPUS / "naughty-strings.json"
    strings = (
        json.loads(file.read_text(encoding="utf-8")) if file.exists() else ["", "null", "<svg onload=x>", "𝓗", "\u202e"]
    )
    for text in strings:
        answer = await post(http, new_site, PATH, {"username": text[:1000]})
        assert answer.status_code in (200, 400), text
