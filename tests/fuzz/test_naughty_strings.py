"""Strings that break programs, in every field of every call: never a fault of ours. THREADKIT_SOAK=1 sends all of them
to each field, otherwise they are dealt out among the fields. T13, G23."""

import itertools
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.fuzz.house import document
from tests.people import create
from threadkit.app import Application
from threadkit.sites.model import NewSite
from threadkit.sites.roles import Role

CORPUS = Path(__file__).parents[2].parent / "shared/data/hostile/naughty-strings.json"
OWN = [
    "",
    "\u202e right to left",
    "\ud7ff\uffff",
    "‮",
    "a" * 70_000,
    "'; DROP TABLE x",
    "{{7*7}}",
    "%s%n",
    "../../etc/passwd",
]
OWN += ["\r\nset-cookie: a=b", "00", "NaN", "-1", "1e400", "null", "𝕿𝖍𝖊", "ﷺ" * 200, "e" + "\u0301" * 500, "\x7f\x01"]
PER_FIELD = 10
ENDLESS = ("/v1/events", "/v1/moderation/events")
LEAVES = {"/v1/users/me", "/v1/users/me/sessions", "/v1/auth/logout", "/api/auth/logout"}


def strings() -> list[str]:
    """Ours, and the list of others where it is at hand."""
    return OWN + (json.loads(CORPUS.read_text()) if CORPUS.exists() else [])


def resolved(schema: dict[str, Any], whole: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in schema:
        schema = whole["components"]["schemas"][schema["$ref"].rsplit("/", 1)[-1]]
    options = schema.get("anyOf") or schema.get("oneOf")
    return resolved(options[0], whole) if options else schema


def sample(schema: dict[str, Any], whole: dict[str, Any], depth: int = 0) -> Any:
    """Something that fits, so that the field under test is what decides."""
    schema = resolved(schema, whole)
    if "enum" in schema:
        return schema["enum"][0]
    kinds = schema.get("type", "object")
    match kinds[0] if isinstance(kinds, list) else kinds:
        case "string":
            return "something"
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return True
        case "array":
            return [] if depth > 3 else [sample(schema.get("items", {}), whole, depth + 1)]
        case _:
            fields = schema.get("properties", {}) if depth <= 3 else {}
            return {name: sample(field, whole, depth + 1) for name, field in fields.items()}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where texts stand in a body."""
    if isinstance(value, str):
        yield path
    elif isinstance(value, dict | list):
        for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(inner, (*path, step))


def with_text(value: Any, path: tuple[Any, ...], text: str) -> Any:
    if not path:
        return text
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = with_text(copy[path[0]], path[1:], text)
    return copy


def attempts(
    whole: dict[str, Any], ids: dict[str, str], dealt: Iterator[str], per_field: int
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Method, address, and what goes along; `ids` are of things that are there."""
    for template, operations in whole["paths"].items():
        if template in ENDLESS:
            continue
        for method, operation in operations.items():
            if template in LEAVES and method != "get":
                continue
            parameters = operation.get("parameters", [])
            plain = template
            for parameter in parameters:
                if parameter["in"] == "path":
                    name = parameter["name"]
                    plain = plain.replace(f"{{{name}}}", ids.get(name, "01a1e1d5-9217-7000-be42-7b27b41a2a52"))
            content = operation.get("requestBody", {}).get("content", {}).get("application/json")
            body = sample(content["schema"], whole) if content else None
            along = {"json": body} if content else {}
            for parameter in parameters:
                for text in itertools.islice(dealt, per_field):
                    if parameter["in"] == "path":
                        name, odd = parameter["name"], quote(text[:2000], safe="", errors="ignore")
                        odd = template.replace(f"{{{name}}}", odd)
                        yield method, odd, along
                    elif parameter["in"] == "query":
                        yield method, plain, along | {"params": {parameter["name"]: text[:5000]}}
            for place in places(body) if content else ():
                for text in itertools.islice(dealt, per_field):
                    yield method, plain, {"json": with_text(body, place, text)}


@pytest.mark.timeout(3600 if os.environ.get("THREADKIT_SOAK") else 300)
async def test_no_string_breaks_anything(app: Application, http: httpx.AsyncClient, new_site: NewSite) -> None:
    owner = await create(http, new_site, "olga")
    await app.services.roles.grant(new_site.site.id, owner.id, Role.OWNER)  # type: ignore[arg-type]
    headers = {"projectid": owner.key, "authorization": f"Bearer {owner.token}", "origin": "http://localhost:8080"}
    dealt = itertools.cycle(text for text in strings() if "\ud800" not in text)
    per_field = len(strings()) if os.environ.get("THREADKIT_SOAK") else PER_FIELD
    wrong, asked = [], 0
    posted = await owner.call("POST", "/v1/comments", {"page_url": "https://blog.example.org/a", "content": "Hello."})
    ids = {"site_id": new_site.site.id, "comment_id": posted.json()["comment"]["i"], "user_id": owner.id}
    for method, address, along in attempts(document(), ids, dealt, per_field):
        if method == "delete" and address in (
            f"/v1/admin/sites/{new_site.site.id}",
            f"/v1/comments/{ids['comment_id']}",
        ):
            continue  # the others need them
        try:
            answer = await http.request(method, address, headers=headers, **along)
        except (UnicodeEncodeError, httpx.InvalidURL):
            continue  # no client could send it
        asked += 1
        if answer.status_code >= 500 and answer.status_code != 503:
            wrong.append(f"{method} {address[:100]} {str(along)[:200]}: {answer.status_code}")
        elif "json" in answer.headers.get("content-type", ""):
            answer.json()
    assert wrong == []
    assert asked > (50_000 if os.environ.get("THREADKIT_SOAK") else 1000)
    print(f"\nG23: {asked} requests with strings that break programs, 0 faults of ours")
