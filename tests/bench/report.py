"""`make bench ARGS="--report"`: the figures as docs/performance.md with charts, and what they mean for larger machines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from tests.bench.figures import Figure

DOCS = Path(__file__).parents[2] / "docs"
WIDTH, ROW, LABEL, BAR = 760, 30, 330, 300
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1b1f27}.muted{fill:#565e6d}.ok{fill:#2f7d4f}.no{fill:#b3261e}"
    ".goal{stroke:#1b1f27;stroke-width:2}.back{fill:#eef1f6}"
    "@media(prefers-color-scheme:dark){text{fill:#e7e9ee}.muted{fill:#a5adbb}.ok{fill:#7ddc9a}.no{fill:#ff9d95}"
    ".goal{stroke:#e7e9ee}.back{fill:#262b35}}"
)
CORES = 8
EXAMPLE_COMMENTS = 10_000
SITES = (1_000_000, 10_000_000, 100_000_000)


@dataclass(frozen=True)
class Capacity:
    """What one worker on one core does, and what a comment takes; from the figures."""

    reads: float
    posts: float
    store_posts: float
    """What the store would carry if it had nobody to wait for."""
    bytes_per_comment: float

    @classmethod
    def of(cls, figures: Sequence[Figure]) -> "Capacity | None":
        found = {figure.row: figure for figure in reversed(figures)}
        if not {"read", "post", "memory"} <= found.keys():
            return None
        read, post, memory = found["read"], found["post"], found["memory"]
        return cls(read.ours, post.ours, 1e6 / post.notes["store_cpu_us"], memory.ours * 1e6 / EXAMPLE_COMMENTS)

    def machine(self, cores: int) -> tuple[float, float]:
        """Reads and posts a second: one core is the store's, whose own pace is the end of all writes."""
        workers = max(1, cores - 1)
        return workers * self.reads, min(workers * self.posts, self.store_posts)

    def cluster(self, shards: int, machines: int, cores: int) -> tuple[float, float]:
        return machines * cores * self.reads, min(machines * cores * self.posts, shards * self.store_posts)

    def gigabytes(self, comments: int) -> float:
        return comments * self.bytes_per_comment / 1e9


def write(figures: Sequence[Figure], record: Mapping[str, Any], docs: Path = DOCS) -> None:
    (docs / "img").mkdir(parents=True, exist_ok=True)
    (docs / "img" / "performance.svg").write_text(chart(figures))
    (docs / "performance.md").write_text(page(figures, record))


def chart(figures: Sequence[Figure]) -> str:
    """One bar for each figure with a goal, as a part of it: the line is the goal, longer is better."""
    shown = [figure for figure in figures if figure.goal != "–"]
    height = ROW * len(shown) + 20
    rows = "".join(_bar(figure, place) for place, figure in enumerate(shown))
    goal_x = LABEL + BAR / 2
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="Each figure beside its goal"><style>{STYLE}</style>{rows}'
        f'<line class="goal" x1="{goal_x}" x2="{goal_x}" y1="4" y2="{height - 12}"/></svg>\n'
    )


def _bar(figure: Figure, place: int) -> str:
    y, part = place * ROW + 8, min(2.0, _part_of_goal(figure))
    return (
        f'<text x="{LABEL - 10}" y="{y + 15}" text-anchor="end">{escape(figure.work)}</text>'
        f'<rect class="back" x="{LABEL}" y="{y}" width="{BAR}" height="20" rx="4"/>'
        f'<rect class="{"ok" if figure.reached else "no"}" x="{LABEL}" y="{y}" width="{part * BAR / 2:.1f}" height="20" '
        f'rx="4"/><text class="muted" x="{LABEL + BAR + 10}" y="{y + 15}">{figure.ratio:.2f} ({escape(figure.goal)})</text>'
    )


def _part_of_goal(figure: Figure) -> float:
    """1 is the goal, more is better than it, whichever way the goal goes."""
    sign, number = figure.goal.split()[:2]
    wanted = float(number.replace(",", ""))
    reached = figure.ratio if len(figure.goal.split()) == 2 else figure.ours
    return reached / wanted if sign == "≥" else wanted / reached if reached else 2.0


def page(figures: Sequence[Figure], record: Mapping[str, Any]) -> str:
    machine, pace = record["machine"], record["pace"]
    lines = [
        "# Performance",
        "",
        "Written by `make bench ARGS=--report`. Each figure stands beside a floor that was measured in the same run on the",
        "same machine, in turns, so that ratios hold where absolute numbers do not. Run it on yours.",
        "",
        f"Measured {record['at'][:10]} on {machine['usable_cpus']} cores ({machine['processor']}), {machine['system'].split()[0]}, "
        f"Python {machine['python']}, {machine['store']}; {pace['rounds']} rounds of {pace['seconds']:g} s, "
        f"{pace['connections']} connections. The load generator, the server and the store share the cores.",
        "",
        "![Each figure as a bar beside its goal](img/performance.svg)",
        "",
        "| work | ours | floor | | ratio | spread | goal | reached |",
        "|---|--:|--:|---|--:|---|---|---|",
    ]
    for one in figures:
        cells = (
            one.work,
            _number(one.ours),
            _number(one.floor),
            one.unit,
            f"{one.ratio:.2f}",
            f"{one.least_ratio:.2f}–{one.most_ratio:.2f}",
            one.goal,
            "yes" if one.reached else "**no**",
        )
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "Why a goal is missed stands in [DECISIONS.md](../threadkit/DECISIONS.md).", ""]
    if capacity := Capacity.of(figures):
        lines += _capacity(capacity)
    return "\n".join(lines) + "\n"


def _capacity(one: Capacity) -> list[str]:
    """A model, and said to be one."""
    reads, posts = one.machine(CORES)
    lines = [
        "## What it carries",
        "",
        "A model from the numbers above, not a measurement: workers share nothing but the store, so readers, who are",
        "answered from memory, scale with cores; writes end where the store's one thread does, which for a post and all",
        f"that follows from it takes {1e6 / one.store_posts:,.0f} µs. In the example above a comment takes",
        f"{_number(one.bytes_per_comment)} bytes in the store, with its indexes, five people and five votes.",
        "",
        "| | reads a second | posts a second |",
        "|---|--:|--:|",
        f"| one worker on one core | {_number(one.reads)} | {_number(one.posts)} |",
        f"| one machine of {CORES} cores, one of them for the store | {_number(reads)} | {_number(posts)} |",
    ]
    for shards in (3, 10, 30):
        reads, posts = one.cluster(shards, shards, CORES)
        name = f"a cluster of {shards} shards and {shards} machines of {CORES} cores for workers"
        lines.append(f"| {name} | {_number(reads)} | {_number(posts)} |")
    lines += [
        "",
        "| comments | memory of the store | shards of 32 GB, half full |",
        "|--:|--:|--:|",
        *(f"| {n:,} | {one.gigabytes(n):,.1f} GB | {max(1, -(-one.gigabytes(n) // 16)):.0f} |" for n in SITES),
        "",
        "All keys of one site lie on one shard, so a cluster helps with many sites; a single site ends at one shard's memory",
        "and writes. Replicas double the memory.",
        "",
    ]
    return lines


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2f}"
