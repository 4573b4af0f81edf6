"""What was measured, and whether it is enough."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import Struct


class Figure(Struct, kw_only=True):
    """One line of the table. Numbers are in `unit`; the ratio is what the goal speaks of."""

    row: str
    work: str
    ours: float
    floor: float
    unit: str
    ratio: float
    least_ratio: float
    most_ratio: float
    goal: str
    reached: bool
    notes: dict[str, float] = {}


@dataclass
class Rounds:
    """Numbers of both sides, taken in turns so that whatever else the machine does hits both."""

    ours: list[float] = field(default_factory=list)
    floor: list[float] = field(default_factory=list)

    @property
    def ratios(self) -> list[float]:
        return [ours / floor for ours, floor in zip(self.ours, self.floor, strict=True)]


def in_turns(count: int, ours: Callable[[], float], floor: Callable[[], float]) -> Rounds:
    """Each side `count` times; who begins changes every time."""
    rounds = Rounds()
    for number in range(count):
        if number % 2:
            rounds.floor.append(floor())
            rounds.ours.append(ours())
        else:
            rounds.ours.append(ours())
            rounds.floor.append(floor())
    return rounds


def at_least(goal: float, ratio: float) -> tuple[str, bool]:
    return f"≥ {goal:.2f}", ratio >= goal


def at_most(goal: float, ratio: float) -> tuple[str, bool]:
    return f"≤ {goal:.2f}", ratio <= goal


def only_shown(_goal: float, _ratio: float) -> tuple[str, bool]:
    """For what the design sets no goal for."""
    return "–", True


def no_more_than(most: float, ours: Sequence[float], unit: str) -> Callable[[float, float], tuple[str, bool]]:
    """For what stands for itself, whatever the floor does."""
    return lambda _goal, _ratio: (f"≤ {most:g} {unit}", statistics.median(ours) <= most)


def figure(
    row: str,
    work: str,
    rounds: Rounds,
    *,
    unit: str,
    judge: Callable[[float, float], tuple[str, bool]],
    goal: float = 0.0,
    notes: Mapping[str, float] | None = None,
) -> Figure:
    ratios = rounds.ratios
    ratio = statistics.median(ratios)
    wanted, reached = judge(goal, ratio)
    return Figure(
        row=row,
        work=work,
        ours=median(rounds.ours),
        floor=median(rounds.floor),
        unit=unit,
        ratio=round(ratio, 3),
        least_ratio=round(min(ratios), 3),
        most_ratio=round(max(ratios), 3),
        goal=wanted,
        reached=reached,
        notes={name: round(value, 3) for name, value in (notes or {}).items()},
    )


def not_measured(row: str, work: str, *, why: str) -> Figure:
    """For what this machine cannot do: no goal is missed, and the table says why there is no number."""
    return Figure(
        row=row,
        work=f"{work}: not measured, {why}",
        ours=0.0,
        floor=0.0,
        unit="",
        ratio=0.0,
        least_ratio=0.0,
        most_ratio=0.0,
        goal="–",
        reached=True,
    )


def median(values: Sequence[float]) -> float:
    return round(statistics.median(values), 3)
