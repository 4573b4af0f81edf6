"""When two texts are nearly the same."""

import random

from hypothesis import given
from hypothesis import strategies as st

from threadkit.moderation.likeness import KEPT, RUN, Sketch, likeness, sketch
from threadkit.moderation.words import normal, words_of

TEXT = "I have been reading this blog for years and this is the best article about gardens that you ever wrote."


def shared(one: str, other: str) -> float:
    """The share of common runs of letters, by making all of them."""
    sets = []
    for text in (one, other):
        joined = "".join(words_of(normal(text))) or "".join(normal(text).split())
        sets.append({joined[at : at + RUN] for at in range(len(joined) - RUN + 1)})
    if sketch(one).digest == sketch(other).digest:
        return 1.0
    both = sets[0] | sets[1]
    return len(sets[0] & sets[1]) / len(both) if both else 0.0


def test_case_spaces_and_signs_do_not_make_another_text() -> None:
    assert likeness(sketch(TEXT), sketch(TEXT.upper().replace(" ", " \n") + "!!!")) == 1.0
    assert likeness(sketch(TEXT), sketch(TEXT.replace("e", "e\u200b"))) == 1.0


def test_a_word_more_or_less_is_nearly_the_same_and_another_text_is_not() -> None:
    assert likeness(sketch(TEXT), sketch(TEXT + " Thanks")) > 0.8
    assert likeness(sketch(TEXT), sketch(TEXT.replace("gardens", "trees"))) > 0.7
    assert (
        likeness(sketch(TEXT), sketch("Something quite different, about the weather in the mountains in spring.")) < 0.2
    )


@given(st.text("ab cd", max_size=60), st.text("ab cd", max_size=60))
def test_short_texts_are_compared_exactly(one: str, other: str) -> None:
    found = likeness(sketch(one), sketch(other))
    assert abs(found - shared(one, other)) < 1e-9
    assert found == likeness(sketch(other), sketch(one))


@given(st.text(max_size=300))
def test_a_sketch_is_small_survives_the_store_and_is_like_itself(text: str) -> None:
    mine = sketch(text)
    assert Sketch.decode(mine.encode()) == mine
    assert len(mine.runs) <= KEPT
    assert len(mine.encode()) < 700
    assert likeness(mine, mine) == 1.0


def test_long_texts_are_estimated_well() -> None:
    chance = random.Random(5)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=6)) for _ in range(1500)]
    for kept in (0.0, 0.3, 0.5, 0.8, 1.0):
        one = words[:500]
        other = one[: int(500 * kept)] + words[500 : 1000 - int(500 * kept)]
        a, b = " ".join(one), " ".join(other)
        assert abs(likeness(sketch(a), sketch(b)) - shared(a, b)) < 0.2
