"""Which tests cannot run on a cluster or behind Sentinel, and why. Every other test that uses the store does."""

import pytest

from tests.stores import KIND

OWN_STORE = "brings a store of its own"

_SENTINEL: dict[str, str] = {}

_CLUSTER: dict[str, str] = {}

LEFT_OUT = {"bundled": {}, "sentinel": _SENTINEL, "cluster": _CLUSTER}


def reason_for(item: pytest.Item, kind: str) -> str | None:
    """An entry names a file, or one test of it after `::`; paths begin at `tests/`."""
    if kind == "bundled":
        return None
    if "bundled" not in getattr(item, "fixturenames", ()):
        return OWN_STORE
    path, _, test = item.nodeid.removeprefix("tests/").partition("::")
    test = test.partition("[")[0]
    return LEFT_OUT[kind].get(f"{path}::{test}") or LEFT_OUT[kind].get(path)


def leave_out(items: list[pytest.Item]) -> None:
    """Skip what cannot run here; the reasons are in the summary of skipped tests."""
    for item in items:
        if (reason := reason_for(item, KIND)) is not None:
            item.add_marker(pytest.mark.skip(reason=f"{KIND}: {reason}"))


def count(items: list[pytest.Item]) -> list[str]:
    """What is said before the first test: how many run on this store, and how many do not."""
    if KIND == "bundled":
        return []
    reasons = [reason_for(item, KIND) for item in items]
    own, listed = reasons.count(OWN_STORE), sum(reason not in (None, OWN_STORE) for reason in reasons)
    return [
        f"store: {KIND}; {reasons.count(None)} tests run on it, {listed} are left out (tests/left_out.py says why), "
        f"{own} have nothing to do with it"
    ]
