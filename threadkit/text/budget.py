"""The work one text may cause, counted and not timed, so that the same text always gets the same answer.

Prices are about one microsecond each on a machine of 2024. They are measured: `tests/unit/test_text_cost.py` holds the
sum to the promised time for every hostile shape we know.
"""

BUDGET = 30_000

LINE = 7.0
"""One look at one line by the block rules. A line is looked at again by each container around it."""
STEP = 4.0
"""One position at which every inline rule is asked."""
SKIP = 0.4
"""One token passed over while looking for the end of a label."""
PAIR = 8.0
"""One `*`, `_` or `~~` that may open or close something."""
URL = 40.0
URL_CHARACTER = 0.7
"""Parsing and encoding an address."""
TAG = 19.0
ENTITY = 10.0
ATTRIBUTE = 9.0
CHARACTER = 0.25
"""Sanitising: by far the largest part of an ordinary comment's cost."""


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
