"""Which tests cannot run on a cluster or behind Sentinel, and why. Every other test that uses the store does."""

import pytest

from tests.stores import KIND

OWN_STORE = "uses no store, or one of its own"

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


def summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say at the end how many tests ran on this store, and how many did not."""
    if KIND == "bundled":
        return
    skipped = [str(report.longrepr) for report in terminalreporter.stats.get("skipped", ())]
    own = sum(f"{KIND}: {OWN_STORE}" in reason for reason in skipped)
    listed = sum(f"{KIND}: " in reason for reason in skipped) - own
    ran = sum(len(terminalreporter.stats.get(outcome, ())) for outcome in ("passed", "failed"))
    terminalreporter.write_line(
        f"{KIND}: {ran} tests ran, {listed} cannot run on it (tests/left_out.py says why), {own} do not use this store"
    )
