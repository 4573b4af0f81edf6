"""Hostile and broken input to everything about comments: the documented refusal, never a 500, never a broken page.

Each table is one test, because each test starts an application; what went wrong is collected and shown at once.
"""

import json
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from redis.asyncio import Redis

from tests.integration.comments.agreement import disagreements
from tests.integration.comments.test_comments import URL, read, write
from tests.people import Person, create
from threadkit.app import Application
from threadkit.sites.model import NewSite
from threadkit.sites.roles import Role

NOWHERE = "01a1e1d5-9217-7000-be42-7b27b41a2a52"
OTHER_PAGE = "https://blog.example.org/other"
HUGE = "1" + "0" * 400

WRONG_KINDS: list[Any] = [None, True, 0, 1.5, [], ["x"], {}, {"a": 1}]


@pytest.fixture
async def ada(app: Application, http: httpx.AsyncClient, new_site: NewSite) -> Person:
    """A moderator, so that no refusal is about rights."""
    ada = await create(http, new_site, "ada")
    await app.services.roles.grant(new_site.site.id, ada.id, Role.MODERATOR)  # type: ignore[arg-type]
    return ada


async def send(person: Person, method: str, path: str, raw: bytes | str, **headers: str) -> httpx.Response:
    """A body exactly as given."""
    known = {"projectid": person.key, "authorization": f"Bearer {person.token}", "content-type": "application/json"}
    body = raw.encode() if isinstance(raw, str) else raw
    return await person.http.request(method, path, content=body, headers=known | headers)


async def wrong(
    person: Person, cases: list[tuple[str, str, Any, set[int]]], *, is_raw: bool = False
) -> list[tuple[str, int, str]]:
    """Which of the cases (method, path, body, statuses) were answered otherwise, or without saying why."""
    found = []
    for method, path, body, expected in cases:
        answer = await send(person, method, path, body if is_raw else json.dumps(body))
        says_why = answer.status_code < 400 or (
            answer.json()["status"] == answer.status_code and answer.json()["error"]
        )
        if answer.status_code not in expected or not says_why:
            found.append((f"{method} {path} {str(body)[:120]}", answer.status_code, answer.text[:200]))
    return found


async def still_fine(http: httpx.AsyncClient, site: NewSite, redis: Redis, total: int) -> None:
    for sort in ("new", "old", "top", "hot", "controversial"):
        assert (await read(http, site, sort=sort))["total"] == total
    assert await disagreements(redis, shadowed=()) == []


async def test_unknown_pages_comments_and_parents_are_404(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, redis: Redis, ada: Person
) -> None:
    """S3-17; the contract's 404 `Parent comment not found` is what we answer, also for another page's parent."""
    here = await write(ada, "here")
    elsewhere = await write(ada, "elsewhere", url=OTHER_PAGE)
    other_site = await app.services.sites.create("Other", "other.example")
    foreign = await write(await create(http, other_site, "stranger"), "foreign")
    gone = await write(ada, "gone")
    await ada.call("DELETE", f"/v1/comments/{gone['i']}")
    for parent in (NOWHERE, elsewhere["i"], foreign["i"], gone["i"]):
        body = {"page_url": URL, "content": "hi", "parent_path": [here["i"], parent]}
        answer = await ada.call("POST", "/v1/comments", body)
        assert (answer.status_code, answer.json()["error"]) == (404, "Parent comment not found"), parent
    for target, page, sentence in (
        (NOWHERE, URL, "Comment not found"),
        (here["i"], OTHER_PAGE, "Comment not found"),
        (here["i"], "https://blog.example.org/nowhere", "Page not found"),
        (foreign["i"], URL, "Comment not found"),
        (gone["i"], URL, "Comment not found"),
    ):
        for method, what, more in (
            ("PUT", "", {"content": "x"}),
            ("POST", "/vote", {"direction": "up"}),
            ("POST", "/pin", {}),
        ):
            body = {"page_url": page, "path": [target]} | more
            answer = await ada.call(method, f"/v1/comments/{target}{what}", body)
            assert (answer.status_code, answer.json()["error"]) == (404, sentence), (method, what, target, page)
    for target in (NOWHERE, foreign["i"], gone["i"]):
        answer = await ada.call("DELETE", f"/v1/comments/{target}")
        assert (answer.status_code, answer.json()["error"]) == (404, "Comment not found")
    await still_fine(http, new_site, redis, 1)


async def test_paths_that_do_not_fit(http: httpx.AsyncClient, new_site: NewSite, redis: Redis, ada: Person) -> None:
    comment = await write(ada, "here")
    right = comment["i"]
    cases: list[tuple[str, str, Any, set[int]]] = []
    for method, what, more in (
        ("PUT", "", {"content": "x"}),
        ("POST", "/vote", {"direction": "up"}),
        ("POST", "/pin", {}),
    ):
        for path, status in (
            ([], 400),
            ([NOWHERE], 400),
            ([right, NOWHERE], 400),
            (["x"], 400),
            ([""], 400),
            ([right.upper()], 400),
            ([""] * 10_001, 422),
            ([1], 422),
            ([None], 422),
            ([[right]], 422),
            ([{"i": right}], 422),
            (right, 422),
            ({"0": right}, 422),
            (7, 422),
        ):
            cases.append((method, f"/v1/comments/{right}{what}", {"page_url": URL, "path": path} | more, {status}))
    for parents, status in (
        (["x"], 400),
        ([""], 400),
        ([NOWHERE.upper()], 400),
        ([right, "../../etc/passwd"], 400),
        ([f"{right}\n"], 400),
        ([""] * 10_001, 422),
        ([1], 422),
        ([None], 422),
        ([[right]], 422),
        (right, 422),
        ({"0": right}, 422),
        (True, 422),
        ([NOWHERE] * 4000, 413),
    ):
        cases.append(("POST", "/v1/comments", {"page_url": URL, "content": "hi", "parent_path": parents}, {status}))
    for bad in ("x", right[:-1], right + "0", right.upper(), "%00", "..%2f..%2fetc", "🙂", "a" * 2000):
        cases.append(("DELETE", f"/v1/comments/{quote(bad, safe='%')}", None, {400, 404}))
        cases.append(("POST", f"/v1/comments/{quote(bad, safe='%')}/vote", {"direction": "up"}, {400, 404}))
    assert await wrong(ada, cases) == []
    await still_fine(http, new_site, redis, 1)


async def test_every_field_refuses_every_wrong_kind(
    http: httpx.AsyncClient, new_site: NewSite, redis: Redis, ada: Person
) -> None:
    comment = await write(ada, "here")
    cases: list[tuple[str, str, Any, set[int]]] = []
    good_post: dict[str, Any] = {"page_url": URL, "content": "hi"}
    for name in ("page_url", "content", "author_name", "title"):
        # An optional field may be null; without an address nobody knows which page is meant.
        kinds = WRONG_KINDS if name == "content" else WRONG_KINDS[1:]
        cases += [("POST", "/v1/comments", good_post | {name: value}, {422}) for value in kinds]
    cases += [
        ("POST", "/v1/comments", {"page_url": URL}, {422}),
        ("POST", "/v1/comments", {"content": "hi"}, {400, 422}),
        ("POST", "/v1/comments", {"content": "hi", "page_url": None}, {400, 422}),
    ]
    cases += [
        ("POST", "/v1/comments", good_post | {"page_url": ""}, {422}),
        ("POST", "/v1/comments", good_post | {"page_url": "https://blog.example.org/" + "a" * 2000}, {422}),
        ("POST", "/v1/comments", good_post | {"author_name": "a" * 201}, {422}),
        ("POST", "/v1/comments", good_post | {"title": "a" * 501}, {422}),
        ("POST", "/v1/comments", good_post | {"content": ""}, {400}),
        ("POST", "/v1/comments", good_post | {"content": "x" * 140_000}, {413}),
        ("POST", "/v1/comments/preview", {}, {422}),
    ]
    one = f"/v1/comments/{comment['i']}"
    for value in WRONG_KINDS:
        cases += [
            ("PUT", one, {"content": value}, {422}),
            ("PATCH", one, {"text": value}, {422}),
            ("POST", f"{one}/vote", {"direction": value}, {422}),
            ("POST", "/v1/comments/preview", {"content": value}, {422}),
        ]
        if value is not None:
            cases += [
                ("PUT", one, {"content": "x", "page_url": value}, {422}),
                ("POST", f"{one}/vote", {"direction": "up", "page_url": value}, {422}),
                ("POST", f"{one}/pin", {"page_url": value}, {422}),
            ]
    for direction in ("", "UP", "sideways", "up ", "up\n", "u" * 1000):
        cases.append(("POST", f"{one}/vote", {"direction": direction}, {422}))
    no_objects: list[Any] = [[], "x", 1, None, True, [{}]]
    for body in no_objects:
        cases += [
            ("POST", "/v1/comments", body, {422}),
            ("PUT", one, body, {422}),
            ("POST", f"{one}/vote", body, {422}),
        ]
    assert await wrong(ada, cases) == []
    await still_fine(http, new_site, redis, 1)


BROKEN = [
    b"",
    b"{",
    b"}",
    b"{'page_url': 'x'}",
    b'{"page_url": "x",}',
    b"\xff\xfe",
    b'{"page_url": "\xff"}',
    b"[" * 30_000,
    b'{"a":' * 10_000,
    b"NaN",
    b'{"page_url": NaN}',
    b"\x00",
    b'{"page_url": "x", "content": "a\x00b"}',
    b'{"page_url": "x", "content": "a\\u0000b", "direction": "up"}',
    b'{"page_url": "\\u0000", "content": "x", "direction": "up"}',
    b'{"page_url": "x", "content": "\\ud800", "direction": "up"}',
    b'{"page_url": "x", "content": "\\udc00\\ud800", "direction": "up"}',
    b'{"page_url": "\\ud83d", "content": "x", "direction": "up"}',
    b'{"page_url": "x", "content": "\\x41"}',
]


async def test_bodies_that_are_no_json_or_hide_something(
    http: httpx.AsyncClient, new_site: NewSite, redis: Redis, ada: Person
) -> None:
    comment = await write(ada, "here")
    cases: list[tuple[str, str, Any, set[int]]] = []
    for path in ("/v1/comments", f"/v1/comments/{comment['i']}/vote", f"/v1/comments/{comment['i']}/pin"):
        cases += [("POST", path, body, {400}) for body in BROKEN]
        cases += [
            ("POST", path, f'{{"page_url": {HUGE}, "content": "x", "direction": "up"}}'.encode(), {400, 422}),
            ("POST", path, f'{{"page_url": -{HUGE}, "content": "x", "direction": "up"}}'.encode(), {400, 422}),
            ("POST", path, b'{"page_url": 1e999, "content": "x", "direction": "up"}', {400, 422}),
            ("POST", path, b'{"page_url": 9223372036854775808, "content": 1, "direction": 1}', {400, 422}),
            ("POST", path, b'{"x": "' + b"a" * 140_000 + b'"}', {413}),
        ]
    assert await wrong(ada, cases, is_raw=True) == []
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        answer = await send(
            ada, "POST", "/v1/comments", json.dumps({"page_url": URL, "content": "x"}), **{"content-type": kind}
        )
        assert answer.status_code == 415, kind
    await still_fine(http, new_site, redis, 1)


TEXTS = {
    "a word of 10,000 characters": "x" * 10_000,
    "10,000 characters that take four bytes each": "🙂" * 10_000,
    "mixed scripts": "Latin Ελληνικά Русский العربية עברית हिन्दी 中文 日本語 한국어 ไทย ქართული",
    "emoji with modifiers": "👩🏽‍🚀 👨‍👩‍👧‍👦 🏳️‍🌈 🇪🇺 ☝🏿 1️⃣",
    "right-to-left override": "file\u202egnp.exe \u202d\u202b\u202a\u202c",
    "isolates": "\u2066left\u2069 \u2067right\u2069 \u2068both\u2069",
    "a tower of marks": "z" + "\u0335\u0321\u0489" * 500,
    "noncharacters": "a\ufffe\uffff\U0001ffffb",
    "controls": "a\x01\x02\x1b[31m\x7f\x85b",
    "line ends": "a\r\nb\rc\u2028d\u2029e",
    "html": "<script>alert(1)</script><img src=x onerror=alert(1)> <svg/onload=alert(1)>",
    "links": "[x](javascript:alert(1)) <javascript:alert(1)> [y](data:text/html,x) ![z](https://evil.example/x.png)",
    "a lot of brackets": "[" * 3000,
    "a lot of quotes": ">" * 3000 + "x",
    "a lot of stars": "*a" * 3000,
    "lua and redis": "]] return redis.call('FLUSHALL') -- \r\nFLUSHALL\r\n",
    "json in text": '{"i": "x", "r": []}',
    "a format string": "{0} {limit} %s %n ${jndi:ldap://x}",
}


async def test_strange_texts_are_kept_whole_and_harmless(
    http: httpx.AsyncClient, new_site: NewSite, redis: Redis, ada: Person
) -> None:
    """S3-10: whatever is written can be read again, edited and voted on, and shows no more than text."""
    posted = 0
    for name, text in TEXTS.items():
        answer = await ada.call("POST", "/v1/comments", {"page_url": URL, "content": text})
        assert answer.status_code == 200, (name, answer.text)
        posted += 1
        comment = answer.json()["comment"]
        for character in "\u202a\u202b\u202d\u202e\x00\x1b\r\ufffe":
            assert character not in comment["t"] + comment["h"], name
        for harm in ("<script", "<img", "<svg", 'javascript:alert(1)"', 'href="data:', "onerror=alert(1)>"):
            assert harm not in comment["h"].lower(), (name, comment["h"])
        thread = await read(http, new_site)
        assert thread["tree"]["c"][-1]["t"] == comment["t"], name
        edited = await ada.call("PUT", f"/v1/comments/{comment['i']}", {"content": text})
        assert (edited.status_code, edited.json()["t"], edited.json()["h"]) == (200, comment["t"], comment["h"]), name
    await still_fine(http, new_site, redis, posted)


@pytest.mark.parametrize(
    "name", ["\u202eada", "<b>ada</b>", "a\nb", "a\x00b", "\u200b", " ", "🙂" * 200, "ada\u0335" * 40, "{limit}", "%s"]
)
async def test_strange_names_of_passers_by(
    http: httpx.AsyncClient, new_site: NewSite, redis: Redis, ada: Person, name: str
) -> None:
    body = {"page_url": URL, "content": "hi", "author_name": name}
    answer = await http.post("/v1/comments", json=body, headers={"projectid": ada.key})
    assert answer.status_code in (200, 400), answer.text
    if answer.status_code == 200:
        shown = answer.json()["comment"]["n"]
        assert shown.strip()
        assert not set(shown) & set("\n\x00\u202e")
    await still_fine(http, new_site, redis, int(answer.status_code == 200))


ADDRESSES = [
    "test",
    " ",
    "/",
    "//blog.example.org/post",
    "javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "file:///etc/passwd",
    "ftp://blog.example.org/",
    "HTTP://BLOG.EXAMPLE.ORG",
    "https://",
    "https:///path",
    "https://blog.example.org:0/",
    "https://blog.example.org:65536/",
    "https://blog.example.org:abc/",
    "https://blog.example.org:-1/",
    "https://blog.example.org:٣/",
    "https://user:hunter2@blog.example.org/with-credentials",
    "https://[::1]/",
    "https://[::1]:8080/",
    "https://[::1",
    "https://::1]/",
    "https://[v1.x]/",
    "https://[fe80::1%25eth0]/",
    "https://bücher.example/",
    "https://xn--bcher-kva.example/",
    "https://例え.テスト/パス?質問=答え",
    "https://blog.example.org/" + "ü" * 900,
    "https://blog.example.org/?" + "a=b&" * 400,
    "https://blog.example.org/%00%0a%ff",
    "https://blog.example.org/a b\tc",
    "https://blog.example.org/\u202egnp.exe",
    "https://blog.example.org/post\nSet-Cookie: x",
    "https://blog.example.org/{site_id}*?[a]",
    "https://blog.example.org\\@evil.example/",
    "https://" + "a" * 300 + ".example/",
    "https://℀.example/",
    "🙂",
]


async def test_strange_addresses_are_a_page_or_a_refusal(
    http: httpx.AsyncClient, new_site: NewSite, redis: Redis, ada: Person
) -> None:
    """S3-11: what can be written on can be read under the same address, by the ordinary way and the fast one."""
    headers = {"projectid": ada.key}
    wrote = 0
    for url in ADDRESSES:
        answer = await ada.call("POST", "/v1/comments", {"page_url": url, "content": "hi"})
        assert answer.status_code in (200, 400, 422), (url, answer.text)
        for known in (headers, headers | {"authorization": f"Bearer {ada.token}"}):
            thread = await http.get("/v1/comments", params={"page_url": url}, headers=known)
            if answer.status_code == 200:
                assert (thread.status_code, thread.json()["total"]) == (200, 1), (url, thread.text)
            else:
                assert thread.status_code in (200, 400), (url, thread.text)
        if answer.status_code != 200:
            continue
        wrote += 1
        comment_id = answer.json()["comment"]["i"]
        body = {"page_url": url, "path": [comment_id], "direction": "up"}
        assert (await ada.call("POST", f"/v1/comments/{comment_id}/vote", body)).status_code == 200, url
        counts = await http.get("/v1/counts", params={"url": url}, headers=headers)
        assert counts.json() == {"counts": {url: 1}}, url
        mine = await http.get("/v1/pages/my_votes", params={"page_url": url}, headers=known)
        assert mine.json() == {"votes": {comment_id: "up"}}, url
    assert wrote >= 20
    listed = (await ada.call("GET", "/v1/users/me/comments?limit=100")).json()["comments"]
    assert len(listed) == wrote
    for item in listed:
        assert item["page_url"] == "" or item["page_url"].startswith(("https://", "http://"))
    for trace in ("hunter2", "user:"):
        assert all(trace not in item["page_url"] for item in listed)
    assert await disagreements(redis, shadowed=()) == []


async def test_strange_questions_are_400(http: httpx.AsyncClient, new_site: NewSite, redis: Redis, ada: Person) -> None:
    await write(ada, "here")
    page = quote(URL, safe="")
    refused, unexpected = [], []
    for query in (
        "",
        "page_url=",
        "sort=new",
        f"page_url={page}&sort=",
        f"page_url={page}&sort=best",
        f"page_url={page}&sort=NEW",
        f"page_url={page}&sort=new%00",
        f"page_url={page}&sort=new%20",
        "page_url=" + "a" * 2001,
    ):
        refused += [f"/v1/comments?{query}"]
    for query in ("", "page_url=", "page_url=" + "a" * 2001):
        refused += [f"/v1/pages/my_votes?{query}"]
    for query in ("", "url=", "url=a&url=", "url=" + "a" * 2001, "page_id=", "page_id=" + "a" * 201):
        refused += [f"/v1/counts?{query}"]
    for name in ("limit", "offset"):
        for value in ("-1", "x", "1.5", "", f"-{HUGE}", "٣", "0x10", "null", "1;2"):
            refused += [f"/v1/users/me/comments?{name}={value}", f"/v1/users/{ada.id}/comments?{name}={value}"]
    for path in refused:
        for known in ({}, {"authorization": f"Bearer {ada.token}"}):
            answer = await http.get(path, headers={"projectid": ada.key} | known)
            expected = {401} if "my_votes" in path or "/me/" in path else {400}
            if answer.status_code not in (expected if not known else {400}):
                unexpected.append((path[:120], bool(known), answer.status_code, answer.text[:150]))
    assert unexpected == []
    await still_fine(http, new_site, redis, 1)


async def test_counts_are_given_for_a_hundred_addresses_and_no_more(http: httpx.AsyncClient, new_site: NewSite) -> None:
    headers = {"projectid": new_site.site.api_key_public}
    for number, status in ((1, 200), (100, 200), (101, 400), (1000, 400)):
        answer = await http.get("/v1/counts", params={"url": [f"p{n}" for n in range(number)]}, headers=headers)
        assert answer.status_code == status, number
    both = {"url": [f"p{n}" for n in range(51)], "page_id": [f"p{n}" for n in range(50)]}
    assert (await http.get("/v1/counts", params=both, headers=headers)).status_code == 400


async def test_a_parameter_given_twice_is_answered_the_same_on_both_ways(
    http: httpx.AsyncClient, new_site: NewSite, redis: Redis, ada: Person
) -> None:
    """Which one is meant nobody knows; the fast lane and the ordinary way must at least agree, and not fall over."""
    await write(ada, "here")
    page = quote(URL, safe="")
    for query in (
        f"page_url={page}&page_url=other",
        f"page_url=other&page_url={page}",
        f"page_url={page}&sort=new&sort=top",
        f"page_url={page}&sort=new&sort=nonsense",
        f"page_url={page}&unknown=1&unknown=2",
        f"page_url={page}&page_url={page}",
        f"page_url={page}&&&",
        f"page_url={page};sort=new",
        f"page_url={page}&sort",
        "page_url=%ff%fe",
        "page_url=%",
        "page_url=%zz",
        "page_url=%ed%a0%80",
    ):
        answers = [
            await http.get(f"/v1/comments?{query}", headers={"projectid": ada.key} | known)
            for known in ({}, {"authorization": "Bearer nobody"})
        ]
        assert answers[0].status_code == answers[1].status_code, query
        assert answers[0].status_code in (200, 400), (query, answers[0].text)
        if answers[0].status_code == 200:
            assert answers[0].json() == answers[1].json(), query
    await still_fine(http, new_site, redis, 1)


@pytest.mark.parametrize("key", ["", " ", "a b", "ü", "x" * 129, "a\tb"])
async def test_a_strange_idempotency_key_is_400(
    http: httpx.AsyncClient, new_site: NewSite, redis: Redis, ada: Person, key: str
) -> None:
    headers = {"projectid": ada.key, "authorization": f"Bearer {ada.token}"}
    given: Any = [*headers.items(), ("idempotency-key", key.encode())]
    answer = await http.post("/v1/comments", json={"page_url": URL, "content": "hi"}, headers=given)
    assert answer.status_code == 400, answer.text
    await still_fine(http, new_site, redis, 0)
