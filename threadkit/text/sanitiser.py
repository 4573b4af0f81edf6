"""The allow-list, applied twice: bleach gets no more releases, so nh3, which does, has the last word."""

import re
import threading

import bleach  # type: ignore[import-untyped]
import nh3

from threadkit.ids import is_uuid
from threadkit.text.hygiene import drop_unwanted

LINK_REL = "nofollow ugc noopener"
TAGS = frozenset(
    "a blockquote br code em h1 h2 h3 h4 h5 h6 hr li ol p pre s span strong ul".split()  # noqa: SIM905 - reads better
)
ATTRIBUTES = {"a": {"href", "title"}, "code": {"class"}, "ol": {"start"}, "span": {"data-user"}}
SCHEMES = frozenset({"http", "https", "mailto"})

MAX_HOST = 253
_OUTSIDE = re.compile(rf"https?://(?:[^/?#@\s]*@)?[^/?#@\s]{{1,{MAX_HOST}}}(?:[/?#]|$)|mailto:[^\s]", re.IGNORECASE)
_LANGUAGE = re.compile(r"language-[^\s\"'<>&]{1,40}")
_START = re.compile(r"[0-9]{1,9}")


def is_outside_link(url: str) -> bool:
    """Absolute http, https or mailto. Anything else would point into the page that embeds us, or run code."""
    return _OUTSIDE.match(url) is not None


def is_language_class(value: str) -> bool:
    return _LANGUAGE.fullmatch(value) is not None


def sanitize(html: str) -> str:
    """Only what the allow-list names. HTML made by `render` passes unchanged."""
    return _nh3.clean(_cleaner().clean(drop_unwanted(html)))


def sanitize_plain(html: str) -> str:
    """The same for paragraphs of escaped text, which have nothing that the slower of the two could find."""
    return _nh3.clean(drop_unwanted(html))


def _is_allowed(tag: str, name: str, value: str) -> bool:
    match tag, name:
        case "a", "href":
            return is_outside_link(value)
        case "a", "title":
            return True
        case "code", "class":
            return is_language_class(value)
        case "ol", "start":
            return _START.fullmatch(value) is not None
        case "span", "data-user":
            return is_uuid(value)
    return False


def _keep(tag: str, name: str, value: str) -> str | None:
    return value if (tag, name) == ("a", "rel") or _is_allowed(tag, name, value) else None


# Naming `class` both here and in allowed_classes makes nh3 panic, with an exception that `except Exception` misses.
_nh3 = nh3.Cleaner(
    tags=set(TAGS),
    attributes={tag: set(names) for tag, names in ATTRIBUTES.items()},
    attribute_filter=_keep,
    url_schemes=set(SCHEMES),
    url_relative="deny",
    link_rel=LINK_REL,
)
# A bleach cleaner has state of its own while it works, and rendering runs in threads.
_local = threading.local()


def _cleaner() -> bleach.Cleaner:
    cleaner: bleach.Cleaner | None = getattr(_local, "cleaner", None)
    if cleaner is None:
        attributes = dict.fromkeys(ATTRIBUTES, _is_allowed)
        cleaner = _local.cleaner = bleach.Cleaner(tags=TAGS, attributes=attributes, protocols=SCHEMES, strip=True)
    return cleaner
