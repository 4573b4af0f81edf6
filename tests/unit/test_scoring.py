"""The ranking formulas against the contract's figures (section 8, row S3-14)."""

import math

import pytest

from threadkit import scoring
from threadkit.scoring import HotFormula

NOW_S = 1_736_935_200  # 2025-01-15 10:00 UTC
HOUR_S = 3600
DAY_S = 86_400

VECTORS = [
    # up, down, created_s, documented, Reddit's 45 000 s
    (1, 0, 1_705_314_600, 0.000205151211339, 12695.2577111),
    (0, 0, 1_705_314_600, 0.000205151211339, 12695.2577111),
    (0, 1, 1_705_314_600, 0.000205151211339, 12695.2577111),
    (10, 2, 1_705_314_600, 0.903295138203283, 12696.1608011),
    (0, 5, 1_705_314_600, -0.698764853124680, 12694.5587411),
    (11, 1, 1_736_935_200, 1.000205328524811, 13398.9377111),
    (100, 0, 1, 2.0, -25198.6222667),
    (0, 0, 0, 0.0, -25200.6222889),
]

# name, up, down, age, documented, and the others relative to a new comment without votes: 12.5 hours, 7 days, 30 days
SAMPLE = [
    ("I", 100, 0, 30 * DAY_S, 2.0002053, -55.60, -2.29, 1.00),
    ("F", 10, 0, 45_000, 1.0002053, 0.00, 0.93, 0.98),
    ("D", 10, 0, DAY_S, 1.0002053, -0.92, 0.86, 0.97),
    ("E", 3, 0, HOUR_S, 0.4773266, 0.40, 0.47, 0.48),
    ("A", 2, 0, 3652 * DAY_S, 0.3012334, -7011.5, -521.4, -121.4),
    ("B", 1, 0, 0, 0.0002053, 0.00, 0.00, 0.00),
    ("H", 0, 5, DAY_S, -0.6987647, -2.62, -0.84, -0.73),
]


@pytest.mark.parametrize(("up", "down", "created_s", "documented", "reddit"), VECTORS)
def test_the_formulas_give_the_contracts_figures_to_the_last_digit_s3_14(
    up: int, down: int, created_s: int, documented: float, reddit: float
) -> None:
    assert scoring.hot_documented(up, down, created_s) == pytest.approx(documented, abs=5e-16, rel=0)
    assert scoring.hot_decay(up, down, created_s, 45_000) == pytest.approx(reddit, abs=5e-8, rel=0)


@pytest.mark.parametrize(("column", "decay_s"), [(5, 45_000), (6, 7 * DAY_S), (7, 30 * DAY_S)])
def test_the_sample_has_the_scores_of_the_contract(column: int, decay_s: int) -> None:
    new = scoring.hot_decay(0, 0, NOW_S, decay_s)
    for row in SAMPLE:
        _, up, down, age_s, documented = row[:5]
        assert scoring.hot_documented(up, down, NOW_S - age_s) == pytest.approx(documented, abs=1e-7)
        figure = float(row[column])
        digit = 0.051 if abs(figure) > 100 else 0.0051
        assert scoring.hot_decay(up, down, NOW_S - age_s, decay_s) - new == pytest.approx(figure, abs=digit)


@pytest.mark.parametrize(
    ("formula", "order"),
    [
        (HotFormula("documented"), "IFDEABH"),
        (HotFormula("decay", 45_000), "EBFDHIA"),
        (HotFormula("decay", 7 * DAY_S), "FDEBHIA"),
        (HotFormula(), "IFDEBHA"),
    ],
)
def test_the_sample_sorts_as_in_the_contract(formula: HotFormula, order: str) -> None:
    """F and B are equal under Reddit's decay (12.5 hours against ten times the votes); the newer stands first."""

    def score(row: tuple[str, int, int, int, float, float, float, float]) -> tuple[float, int]:
        return scoring.hot(formula, row[1], row[2], (NOW_S - row[3]) * 1000), -row[3]

    assert "".join(row[0] for row in sorted(SAMPLE, key=score, reverse=True)) == order


def test_a_site_ranks_with_thirty_days_of_decay_unless_it_says_otherwise() -> None:
    assert HotFormula() == HotFormula("decay", 2_592_000)
    assert scoring.hot(HotFormula(), 10, 2, 1_705_314_600_000) == scoring.hot_decay(10, 2, 1_705_314_600, 2_592_000)
    assert scoring.hot(HotFormula("documented"), 10, 2, 1_705_314_600_000) == pytest.approx(0.903295138203283)


def test_a_decay_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="decay_s"):
        HotFormula("decay", 0)


def test_milliseconds_count() -> None:
    assert scoring.hot(HotFormula(), 0, 0, 1_705_314_600_001) > scoring.hot(HotFormula(), 0, 0, 1_705_314_600_000)


def test_top_is_the_difference_and_controversial_the_smaller_side() -> None:
    assert scoring.top(7, 10) == -3
    assert scoring.controversial(7, 10) == 7
    assert scoring.controversial(0, 0) == 0
    assert scoring.controversial(100, 0) == 0


def test_a_score_as_text_keeps_every_digit() -> None:
    assert scoring.as_text(0.1 + 0.2) == "0.30000000000000004"
    assert scoring.as_text(3) == "3.0"
    assert float(scoring.as_text(math.pi * 1e-9)) == math.pi * 1e-9
