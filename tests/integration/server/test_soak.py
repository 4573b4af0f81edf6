"""The short form of `make soak`: people come and go, and nothing of them stays behind."""

import pytest

from tests.soak.__main__ import soak

pytestmark = pytest.mark.prove


@pytest.mark.timeout(180)
async def test_nothing_grows_while_people_come_and_go() -> None:
    verdicts, traffic = await soak(0.4, people=2, seed=7)
    assert traffic.faults == []
    assert min(traffic.done.values()) > 0, traffic.done
    assert [verdict for verdict in verdicts if not verdict.holds] == []
    grown = ", ".join(f"{verdict.name} {verdict.early:g} → {verdict.late:g}" for verdict in verdicts)
    print(f"\nG24: {sum(traffic.done.values())} visits, 0 faults; {grown}")
