"""Which tests belong to `make test`, and which, slow by nature, to `make prove`.

A test marked `prove` (with `also=True` in both, longer there) runs when it or its file is named, or with `--prove`, together with the quick proofs that
docs/proof.md names. `--prove=3/7` takes the third of seven parts of what is slow: whole files, shared out by what
tests/timings.json says they take.
"""

import os

import pytest

from tests.goals import proofs
from tests.timings import expected_s

UNKNOWN_S = 10.0
# For tests that are longer in `make prove`. Said by the environment, so that modules know it when they are imported.
PROVING = "THREADKIT_PROVE" in os.environ


def add_options(parser: pytest.Parser) -> None:
    parser.addoption(
        "--prove",
        nargs="?",
        const="all",
        metavar="PART/PARTS",
        help="run what is slow by nature, or one part of it, instead of the rest",
    )


def select(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of this run's tier, those that take longest first."""
    wanted = config.option.prove
    if wanted is None:
        takes_all = "THREADKIT_SOAK" in os.environ  # make long ARGS=a folder
        kept = [item for item in items if takes_all or not is_slow(item) or file_of(item) in _named(config)]
    else:
        named = tuple(proofs()) if wanted == "all" else ()
        kept = [item for item in items if is_proof(item) or item.nodeid.startswith(named)]
        if wanted != "all":
            chosen = part_of(sorted({file_of(item) for item in kept}), wanted)
            kept = [item for item in kept if file_of(item) in chosen]
    keeps = {id(item) for item in kept}
    config.hook.pytest_deselected(items=[item for item in items if id(item) not in keeps])
    took = expected_s("test" if wanted is None else "prove")
    # Stable, so that tests of a file stay together and in order.
    items[:] = sorted(kept, key=lambda item: (-took.get(file_of(item), UNKNOWN_S), file_of(item)))


def is_slow(item: pytest.Item) -> bool:
    """Whether it belongs to `make prove` alone."""
    return any(not marker.kwargs.get("also") for marker in item.iter_markers("prove"))


def is_proof(item: pytest.Item) -> bool:
    """Whether it belongs to `make prove`, perhaps in a longer form than in `make test`."""
    return item.get_closest_marker("prove") is not None


def file_of(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


def part_of(files: list[str], wanted: str) -> set[str]:
    """Each file goes to the part that has least so far, the longest first: the same files give the same parts."""
    number, _, parts = wanted.partition("/")
    if not (number.isdigit() and parts.isdigit() and 1 <= int(number) <= int(parts)):
        raise pytest.UsageError(f"--prove {wanted}: say which part of how many, such as 3/7")
    took = expected_s("prove")
    shares: list[tuple[float, set[str]]] = [(0.0, set()) for _ in range(int(parts))]
    for file in sorted(files, key=lambda file: (-took.get(file, UNKNOWN_S), file)):
        least = min(range(len(shares)), key=lambda share: shares[share][0])
        shares[least] = (shares[least][0] + took.get(file, UNKNOWN_S), shares[least][1] | {file})
    return shares[int(number) - 1][1]


def _named(config: pytest.Config) -> set[str]:
    """Files that whoever runs the tests asked for by name."""
    return {word.partition("::")[0].removeprefix("./") for word in config.invocation_params.args}
