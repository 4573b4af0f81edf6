"""HTML put together so that nothing gets in unescaped by accident: what is not `Html` is text."""

from html import escape

Attribute = str | int | bool | None
_VOID = frozenset({"base", "br", "input", "link", "meta"})


class Html(str):
    """Text that is HTML already: made here, or by the sanitiser."""

    __slots__ = ()


def start(tag: str, /, **attributes: Attribute) -> Html:
    """A start tag. `class_` is class, `aria_label` is aria-label, True is a bare attribute, None and False are none."""
    written = "".join(_attribute(name, value) for name, value in attributes.items())
    return Html(f"<{tag}{written}>")


def end(tag: str) -> Html:
    return Html(f"</{tag}>")


def element(tag: str, /, *children: str, **attributes: Attribute) -> Html:
    if tag in _VOID:
        return start(tag, **attributes)
    return join([start(tag, **attributes), *children, end(tag)])


def join(parts: list[str]) -> Html:
    return Html("".join(part if isinstance(part, Html) else escape(part) for part in parts))


def _attribute(name: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = name.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(str(value), quote=True)}"'
