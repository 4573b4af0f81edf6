"""The OpenAPI document as a page that can be read without JavaScript."""

from html import escape
from typing import Any

METHODS = ("get", "post", "put", "patch", "delete")


def render(document: dict[str, Any]) -> str:
    groups: dict[str, list[str]] = {}
    for path, operations in document["paths"].items():
        for method in METHODS:
            if operation := operations.get(method):
                group = (operation.get("tags") or ["Other"])[0]
                groups.setdefault(group, []).append(_operation(document, path, method, operation))
    names = sorted(groups)
    info = document["info"]
    links = "".join(f'<li><a href="#{_anchor(name)}">{escape(name)}</a></li>' for name in names)
    sections = "".join(
        f'<section id="{_anchor(name)}"><h2>{escape(name)}</h2>{"".join(groups[name])}</section>' for name in names
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(info['title'])} API</title>"
        '<link rel="icon" href="/favicon.svg"><link rel="stylesheet" href="/docs/style.css"></head><body>'
        f"<header><h1>{escape(info['title'])} API <small>{escape(info['version'])}</small></h1>"
        f"<p>{escape(info.get('description') or '')}</p>"
        f'<p>For programs: <a href="/openapi.json">openapi.json</a></p></header>'
        f'<nav aria-label="Sections"><ul>{links}</ul></nav><main>{sections}</main></body></html>'
    )


def _operation(document: dict[str, Any], path: str, method: str, operation: dict[str, Any]) -> str:
    parameters = "".join(_parameter(document, parameter) for parameter in operation.get("parameters", []))
    body = operation.get("requestBody", {}).get("content", {})
    answers = "".join(
        f"<tr><th><code>{escape(status)}</code></th><td>{escape(answer.get('description', ''))}</td>"
        f"<td>{_content(document, answer.get('content', {}))}</td></tr>"
        for status, answer in operation.get("responses", {}).items()
    )
    return (
        f'<details><summary><code class="method {method}">{method.upper()}</code> <code>{escape(path)}</code> '
        f"<span>{escape(operation.get('summary') or '')}</span></summary>"
        f"<p>{escape(operation.get('description') or '')}</p>"
        + (f"<h3>Parameters</h3><table>{parameters}</table>" if parameters else "")
        + (f"<h3>Body</h3>{_content(document, body)}" if body else "")
        + f"<h3>Answers</h3><table>{answers}</table></details>"
    )


def _parameter(document: dict[str, Any], parameter: dict[str, Any]) -> str:
    needed = " <em>needed</em>" if parameter.get("required") else ""
    return (
        f"<tr><th><code>{escape(parameter['name'])}</code>{needed}</th><td>{escape(parameter['in'])}</td>"
        f"<td>{_schema(document, parameter.get('schema', {}), depth=0)} {escape(parameter.get('description') or '')}</td></tr>"
    )


def _content(document: dict[str, Any], content: dict[str, Any]) -> str:
    return "".join(
        f"<div><small>{escape(kind)}</small>{_schema(document, media.get('schema', {}), depth=0)}</div>"
        for kind, media in content.items()
    )


def _schema(document: dict[str, Any], schema: dict[str, Any], *, depth: int) -> str:
    """A schema in words; deeper structures fold into their names, so that the page ends."""
    if reference := schema.get("$ref"):
        name = reference.rsplit("/", 1)[-1]
        if depth >= 3:
            return f"<code>{escape(name.rsplit('.', 1)[-1])}</code>"
        return _schema(document, document["components"]["schemas"].get(name, {}), depth=depth)
    if options := schema.get("oneOf") or schema.get("anyOf"):
        return " or ".join(_schema(document, option, depth=depth) for option in options)
    if "enum" in schema:
        return " | ".join(f"<code>{escape(str(value))}</code>" for value in schema["enum"])
    if "const" in schema:
        return f"<code>{escape(str(schema['const']))}</code>"
    if schema.get("type") == "array":
        return f"list of {_schema(document, schema.get('items', {}), depth=depth)}"
    if properties := schema.get("properties"):
        needed = set(schema.get("required", []))
        rows = "".join(
            f"<tr><th><code>{escape(name)}</code>{'' if name in needed else ' <em>optional</em>'}</th>"
            f"<td>{_schema(document, inner, depth=depth + 1)}</td></tr>"
            for name, inner in properties.items()
        )
        return f"<table>{rows}</table>"
    limits = ", ".join(
        f"{word} {schema[name]}"
        for name, word in (
            ("minLength", "at least"),
            ("maxLength", "at most"),
            ("minimum", "from"),
            ("maximum", "to"),
        )
        if name in schema
    )
    kind = schema.get("type", "anything")
    kind = " or ".join(kind) if isinstance(kind, list) else str(kind)
    return f"{escape(kind)}{f' ({limits})' if limits else ''}"


def _anchor(name: str) -> str:
    return "".join(character if character.isalnum() else "-" for character in name.lower())
