"""The work one text may cause, counted and not timed, so that the same text always gets the same answer.

Prices are roughly microseconds where they were measured. `tests/unit/test_text_cost.py` holds the sum to the promised
time for every hostile shape we know.
"""

BUDGET = 29_000

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


class TooComplex(ValueError):
    """This text is too complex to be shown. Please use less formatting, fewer links or fewer nested parts."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Budget:
    __slots__ = ("left",)

    def __init__(self, amount: float = BUDGET) -> None:
        self.left = amount

    def spend(self, amount: float) -> None:
        self.left -= amount
        if self.left < 0:
            raise TooComplex("too much formatting")
