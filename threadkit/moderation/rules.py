"""What an owner decides about screening: which screens there are, in which order, and how strict. No I/O here."""

from typing import Annotated, Literal, get_args

from msgspec import Meta, Struct

from threadkit.moderation.words import LONGEST_ENTRY, MOST_ENTRIES, check_entries

ScreenName = Literal["repeated", "too_fast", "honeypot", "first_comment", "links", "words", "history", "learning"]
BEFORE: tuple[str, ...] = ("posting", "blocked", "rate", "length")
"""Decided before these, where a comment is taken in: nobody can order or switch them off. Outside checks come last."""
DEFAULT_ORDER: tuple[ScreenName, ...] = get_args(ScreenName)

# Tuples and not lists: the API's own description wants defaults that can be hashed.
Entries = Annotated[
    tuple[Annotated[str, Meta(min_length=1, max_length=LONGEST_ENTRY)], ...], Meta(max_length=MOST_ENTRIES)
]
Count = Annotated[int, Meta(ge=1, le=50)]


class RepeatedRule(Struct, frozen=True, kw_only=True):
    """The same or nearly the same text again, by the same author or guest."""

    enabled: bool = True
    minutes: Annotated[int, Meta(ge=1, le=60)] = 10
    likeness: Annotated[float, Meta(ge=0.5, le=1)] = 0.7


class TooFastRule(Struct, frozen=True, kw_only=True):
    """Guests who need less than this from seeing the form to sending it."""

    enabled: bool = True
    seconds: Annotated[float, Meta(ge=0.1, le=60)] = 2.0


class HoneypotRule(Struct, frozen=True, kw_only=True):
    """A field that people do not see. A browser may fill it in by itself, so it is not a refusal unless you say so."""

    enabled: bool = True
    action: Literal["hold", "refuse"] = "hold"


class FirstCommentRule(Struct, frozen=True, kw_only=True):
    """Hold newcomers until so many of their comments were approved."""

    enabled: bool = False
    approvals: Count = 1


class LinksRule(Struct, frozen=True, kw_only=True):
    """From so many links on a comment is held."""

    enabled: bool = True
    newcomers: Count = 1
    others: Count = 4


class WordsRule(Struct, frozen=True, kw_only=True):
    """Words that hold a comment and words that refuse it; `words.py` says how they are written."""

    enabled: bool = True
    hold: Entries = ()
    refuse: Entries = ()
    names: bool = True
    """Whether they are looked for in names too."""

    def __post_init__(self) -> None:
        check_entries(self.hold)
        check_entries(self.refuse)


class HistoryRule(Struct, frozen=True, kw_only=True):
    """Authors of whose comments more than this share was rejected in the last seven days."""

    enabled: bool = True
    percent: Annotated[int, Meta(ge=1, le=99)] = 30
    least: Annotated[int, Meta(ge=1, le=100)] = 3
    """With fewer decided comments nothing can be said."""


class LearningRule(Struct, frozen=True, kw_only=True):
    """The filter that learns from what moderators decide on this site."""

    enabled: bool = True
    sureness: Annotated[float, Meta(ge=0.5, le=0.99)] = 0.8
    least: Annotated[int, Meta(ge=5, le=10_000)] = 50
    """It says nothing before it has seen so many decisions of both kinds."""


class ScreeningRules(Struct, frozen=True, kw_only=True):
    order: Annotated[tuple[ScreenName, ...], Meta(max_length=len(DEFAULT_ORDER))] = DEFAULT_ORDER
    repeated: RepeatedRule = RepeatedRule()
    too_fast: TooFastRule = TooFastRule()
    honeypot: HoneypotRule = HoneypotRule()
    first_comment: FirstCommentRule = FirstCommentRule()
    links: LinksRule = LinksRule()
    words: WordsRule = WordsRule()
    history: HistoryRule = HistoryRule()
    learning: LearningRule = LearningRule()

    def __post_init__(self) -> None:
        if len(set(self.order)) < len(self.order):
            raise ValueError("each screen stands in the order once")

    @property
    def in_order(self) -> list[ScreenName]:
        """All screens: what the owner did not name comes last."""
        return [*self.order, *(name for name in DEFAULT_ORDER if name not in self.order)]
