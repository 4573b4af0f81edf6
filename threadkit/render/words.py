"""Numbers, times and names as they stand on pages and in feeds."""

import re
from datetime import UTC, datetime

from threadkit.pages.model import Page
from threadkit.render.addresses import web_address
from threadkit.text import clean_source
from threadkit.users.model import GUEST_PREFIX

NOBODY = "Somebody"
GUEST = "Guest"

_GUEST = re.compile(GUEST_PREFIX + r"-[a-z0-9]{10}(?:-(.*))?")


def one_line(text: str) -> str:
    """Without line breaks, controls and whatever turns the text around it."""
    return " ".join(clean_source(text).split())


def name_of(author: str) -> str:
    """As people read it: of a guest only what they called themselves. Contract 2.6."""
    if guest := _GUEST.fullmatch(author):
        return one_line(guest[1] or "") or GUEST
    return one_line(author) or NOBODY


def title_of(page: Page | None) -> str:
    """What a page is called: by its title, else by its address where that is one for people."""
    if page is None:
        return "this page"
    address = web_address(page.url) or ""
    return one_line(page.title or "") or address.partition("://")[2].rstrip("/") or "this page"


def counted(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def machine_time(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def human_time(seconds: int) -> str:
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment.day} {moment:%B %Y, %H:%M} UTC"
