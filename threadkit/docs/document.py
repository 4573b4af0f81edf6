"""The OpenAPI document, completed: which keys open what, and every refusal a call can meet, as problems."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from threadkit.problems import PROBLEM_JSON, Problem

_REFUSALS = {
    "400": "What was asked for is not valid",
    "401": "The key or the token is missing, unknown or over",
    "403": "Not for this key, this page or this person",
    "404": "There is no such thing, or not on this site",
    "409": "Somebody was quicker, or it is so already",
    "413": "The body is too large",
    "415": "The body is not JSON",
    "422": "The body has the wrong shape",
    "429": "Too often; `Retry-After` says how long to wait",
    "503": "The store is away or there is too much to do; `Retry-After` says when to try again",
}
_SCHEMES = {
    "siteKey": {
        "type": "apiKey",
        "in": "header",
        "name": "projectid",
        "description": "The site's public key, or its secret key for what only its owner may do.",
    },
    "user": {"type": "http", "scheme": "bearer", "description": "A token that signing in has given."},
    "staffCookie": {
        "type": "apiKey",
        "in": "cookie",
        "name": "threadkit_staff",
        "description": "Set by signing in to the pages for staff; `__Host-threadkit_staff` over HTTPS.",
    },
}
_COOKIE_PATH = re.compile(r"/v1/staff/")


def complete(document: dict[str, Any]) -> dict[str, Any]:
    """The framework writes down what succeeds; the rest follows from rules that hold for every route."""
    components = document.setdefault("components", {})
    components["securitySchemes"] = _SCHEMES
    _, schemas = msgspec.json.schema_components([Problem], ref_template="#/components/schemas/{name}")
    components.setdefault("schemas", {}).update(schemas)
    for path, method, operation in _operations(document):
        answers = operation.setdefault("responses", {})
        for status in _met_by(path, method, operation):
            answers[status] = {
                "description": _REFUSALS[status],
                "content": {PROBLEM_JSON: {"schema": {"$ref": "#/components/schemas/Problem"}}},
            }
        if path.startswith("/v1/"):
            operation["security"] = (
                [{"staffCookie": []}] if _COOKIE_PATH.match(path) else [{"siteKey": []}, {"user": []}]
            )
    return document


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            yield path, method, operation


def _met_by(path: str, method: str, operation: dict[str, Any]) -> Iterator[str]:
    yield from ("400", "429", "503")
    if path.startswith(("/v1/", "/api/", "/metrics")):
        yield from ("401", "403")
    # A cursor, a page or a parent may be gone too, not only what stands in the path.
    yield "404"
    if method != "get":
        yield from ("409", "413", "422")
    if "requestBody" in operation:
        yield "415"
