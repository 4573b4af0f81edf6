"""The rows of the table. A new one is a function `(stage) -> figures` here below, in the order in which they run."""

from collections.abc import Callable

from tests.bench.figures import Figure
from tests.bench.rows.cold import cold_read
from tests.bench.rows.embed import embed
from tests.bench.rows.growth import growth
from tests.bench.rows.limits import limits
from tests.bench.rows.memory import memory
from tests.bench.rows.million import million
from tests.bench.rows.pace import pace
from tests.bench.rows.post import post
from tests.bench.rows.read import read
from tests.bench.rows.sockets import sockets
from tests.bench.rows.spam import spam
from tests.bench.rows.start import start
from tests.bench.rows.text import text_bound
from tests.bench.rows.vote import vote
from tests.bench.stage import Stage

Row = Callable[[Stage], list[Figure]]

ROWS: dict[str, Row] = {
    "text": text_bound,
    "start": start,
    "read": read,
    "vote": vote,
    "post": post,
    "pace": pace,
    "limits": limits,
    "cold": cold_read,
    "growth": growth,
    "sockets": sockets,
    "embed": embed,
    "memory": memory,
    "spam": spam,
    "million": million,
}
"""By the name that `--only` takes."""

ONLY_WHEN_ASKED = ("million",)
