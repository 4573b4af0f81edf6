"""A window on a thread: the part of it that somebody asks for. No I/O here."""

import re
from typing import Annotated, get_args

from msgspec import Meta, Struct

from threadkit.comments.model import AskedSort, Sort
from threadkit.errors import Invalid
from threadkit.ids import CommentId
from threadkit.pages.model import LONGEST_URL, PageName
from threadkit.sites.model import Site

MOST_ROOTS = 100
MOST_REPLIES = 100
MOST_LEVELS = 100
LONGEST_CURSOR = 120

_CURSOR = re.compile(
    rf"(?P<sort>{'|'.join(get_args(Sort))})"
    r"(?::(?P<score>-?\d{1,20}(?:\.\d{1,20})?(?:e[+-]?\d{1,3})?):(?P<after>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}))?"
)


class InvalidCursor(Invalid):
    """This cursor is not one of ours, or belongs to another order."""

    code = "invalid_cursor"


class Cursor(Struct, frozen=True):
    """A place in a level: behind one comment with one score. It stays where it is while others post and vote."""

    sort: Sort
    score: str = ""
    after: str = ""

    @property
    def text(self) -> str:
        return f"{self.sort}:{self.score}:{self.after}" if self.after else self.sort

    @classmethod
    def read(cls, text: str, sort: Sort) -> "Cursor":
        found = _CURSOR.fullmatch(text)
        if found is None or found["sort"] != sort:
            raise InvalidCursor
        return cls(sort, found["score"] or "", found["after"] or "")


class Window(Struct, frozen=True, kw_only=True):
    """So many roots from a cursor on, the first replies of each, and so many levels of them."""

    limit: int = 25
    replies: int = 5
    depth: int = 2
    cursor: Cursor | None = None
    around: CommentId | None = None
    under: CommentId | None = None


def begins_a_visit(window: Window | None) -> bool:
    """Whether somebody opens a page with this, or reads on in one that is counted already."""
    return window is None or (window.cursor is None and window.under is None)


def order_of(asked: AskedSort, site: Site) -> Sort:
    return site.settings.display.default_sort if asked == "default" else asked


class Question(Struct, kw_only=True, forbid_unknown_fields=True):
    """The parameters of `GET /v1/comments`. Without any of the last ones the whole tree is meant."""

    page_url: Annotated[str, Meta(min_length=1, max_length=LONGEST_URL)] | None = None
    page_id: PageName | None = None
    sort: AskedSort = "new"
    limit: Annotated[int, Meta(ge=1, le=MOST_ROOTS)] | None = None
    cursor: Annotated[str, Meta(max_length=LONGEST_CURSOR)] | None = None
    replies: Annotated[int, Meta(ge=0, le=MOST_REPLIES)] | None = None
    depth: Annotated[int, Meta(ge=0, le=MOST_LEVELS)] | None = None
    around: CommentId | None = None

    def window(self, order: Sort) -> Window | None:
        asked = {
            "limit": self.limit,
            "replies": self.replies,
            "depth": self.depth,
            "cursor": Cursor.read(self.cursor, order) if self.cursor is not None else None,
            "around": self.around,
        }
        given = {name: value for name, value in asked.items() if value is not None}
        return Window(**given) if given else None  # type: ignore[arg-type]
