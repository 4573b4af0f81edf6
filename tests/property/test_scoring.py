"""Laws of ranking that hold for any votes and any moment."""

from hypothesis import given
from hypothesis import strategies as st

from threadkit import scoring
from threadkit.scoring import HotFormula

votes = st.integers(0, 1_000_000)
moments_ms = st.integers(1_000_000_000_000, 4_000_000_000_000)
formulas = st.one_of(
    st.just(HotFormula("documented")), st.builds(HotFormula, st.just("decay"), st.integers(60, 315_360_000))
)


@given(formulas, votes, votes, moments_ms, st.integers(0, 1_000_000_000))
def test_newer_is_never_below_older_at_equal_votes(
    formula: HotFormula, up: int, down: int, created_ms: int, younger_ms: int
) -> None:
    assert scoring.hot(formula, up, down, created_ms + younger_ms) >= scoring.hot(formula, up, down, created_ms)


@given(votes, votes, moments_ms, st.integers(1, 1_000_000_000), st.integers(60, 315_360_000))
def test_with_decay_a_millisecond_makes_newer_beat_older(
    up: int, down: int, created_ms: int, younger_ms: int, decay_s: int
) -> None:
    formula = HotFormula("decay", decay_s)
    assert scoring.hot(formula, up, down, created_ms + younger_ms) > scoring.hot(formula, up, down, created_ms)


@given(votes, votes, moments_ms, st.integers(2, 1_000_000))
def test_documented_tells_newer_from_older_from_two_seconds_on(
    up: int, down: int, created_ms: int, younger_s: int
) -> None:
    """A double holds its tiny time term only so far."""
    formula = HotFormula("documented")
    assert scoring.hot(formula, up, down, created_ms + younger_s * 1000) > scoring.hot(formula, up, down, created_ms)


@given(formulas, moments_ms, votes, votes, votes, votes)
def test_more_is_never_below_fewer_at_equal_age(
    formula: HotFormula, created_ms: int, up: int, down: int, other_up: int, other_down: int
) -> None:
    """And above it, except that −1, 0 and +1 weigh the same."""
    score, other = sorted([(up - down, up, down), (other_up - other_down, other_up, other_down)])
    low = scoring.hot(formula, score[1], score[2], created_ms)
    high = scoring.hot(formula, other[1], other[2], created_ms)
    if score[0] == other[0] or {score[0], other[0]} <= {-1, 0, 1}:
        assert low == high
    else:
        assert low < high


@given(votes, votes)
def test_controversial_is_what_both_sides_have_and_does_not_depend_on_which(up: int, down: int) -> None:
    assert scoring.controversial(up, down) == scoring.controversial(down, up)
    assert scoring.controversial(up, down) * 2 <= up + down
    assert scoring.top(up, down) == -scoring.top(down, up)


@given(st.floats(allow_nan=False))
def test_a_score_survives_its_text(score: float) -> None:
    assert float(scoring.as_text(score)) == score
