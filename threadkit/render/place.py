"""Where in a thread a page begins. No I/O here."""

from msgspec import Struct

from threadkit.comments.model import Sort
from threadkit.comments.window import Cursor, Window
from threadkit.ids import CommentId

ROOTS = 50
REPLIES = 20
LEVELS = 8


class Place(Struct, frozen=True, kw_only=True):
    """At a cursor, with the thread that holds a comment, or under a comment."""

    sort: Sort | None = None
    cursor: str | None = None
    around: CommentId | None = None
    under: CommentId | None = None

    def window(self, sort: Sort) -> Window:
        return Window(
            limit=REPLIES if self.under else ROOTS,
            replies=REPLIES,
            depth=LEVELS,
            cursor=Cursor.read(self.cursor, sort) if self.cursor else None,
            around=self.around,
            under=self.under,
        )
