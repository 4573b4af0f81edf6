"""The work one text may cause, counted and not timed, so that the same text always gives the same HTML.

Prices are roughly microseconds where they were measured. `tests/unit/test_text_cost.py` holds the sum to the promised
time for every hostile shape we know. When the budget is spent, the rest of the text is shown as it was typed.
"""

from markdown_it.token import Token

BUDGET = 40_000
BLOCKS_LEAVE = 18_000
"""What is left to format the insides of blocks when there are too many of them."""

LINE = 9.5
"""One look at one line by the block rules. A line is looked at again by each container around it."""
CONTAINER = 18.0
"""One quote or list item, with what its tags cost the sanitiser more than others."""
BLOCK = 6.0
"""One paragraph, heading or list item that has text of its own."""
STEP = 4.0
"""One position at which every inline rule is asked."""
SKIP = 0.7
"""One token passed over while looking for the end of a label."""
PAIR = 6.0
"""What a run of `*`, `_` or `~` costs more than another step: it may open or close something."""
TOKEN = 3.0
"""One piece of inline text."""
URL = 32.0
URL_CHARACTER = 0.4
URL_TRIED = 0.04
"""Finding, parsing and encoding an address."""
HOST_CHARACTER = 14.0
"""One letter of a host that DNS writes otherwise: the longer its label, the longer it is looked for."""
SCAN = 0.2
"""One character of a link's destination or title."""

# Sanitising is by far the largest part of an ordinary comment's cost.
TAG = 19.0
ENTITY = 13.0
ATTRIBUTE = 9.0
CHARACTER = 0.2


OF_CHARACTER = (
    dict.fromkeys("*_~", PAIR + TAG) | dict.fromkeys("&<\\", ENTITY) | {"\n": TAG, "[": TAG + ATTRIBUTE, "`": TAG}
)
"""What a character may cost the sanitiser when it turns out to be markup."""


def of_block(token: Token) -> float:
    """What a part of a block costs the sanitiser, its inside left out."""
    if token.type in ("fence", "code_block"):
        return 4 * TAG + _entities(token.content)
    return 0 if token.hidden or not token.tag else TAG


def of_code(tokens: list[Token]) -> float:
    """The same for code in running text, which is not paid for by the character."""
    return sum(_entities(token.content) for token in tokens if token.type == "code_inline")


def _entities(text: str) -> float:
    return (text.count("&") + text.count("<")) * ENTITY


class TooComplex(ValueError):
    """As HTML this text is longer than a comment may be. Please use fewer special characters."""


class Budget:
    __slots__ = ("left",)

    def __init__(self, amount: float = BUDGET) -> None:
        self.left = amount

    def spend(self, amount: float) -> None:
        self.left -= amount

    @property
    def is_spent(self) -> bool:
        return self.left < 0
