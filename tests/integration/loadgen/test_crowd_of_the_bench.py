"""The bench of live pages: it runs, and it notices when somebody does not get what they should."""

import base64
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bench.client import LoadFailed
from tests.bench.crowd import Crowd
from tests.bench.stage import Pace, Stage
from threadkit.live.message import text_frame

SOCKETS = 20
FRAMES = [text_frame(b'{"method":"new_comment","params":{"number":%d}}' % number) for number in range(5)]

pytestmark = pytest.mark.prove


@pytest.fixture
def stage() -> Iterator[Stage]:
    stage = Stage(Pace(rounds=1, seconds=0.1, connections=1, is_quick=True))
    try:
        yield stage
    finally:
        stage.close()


@pytest.fixture
def crowd(stage: Stage) -> Iterator[Crowd]:
    with stage.floor("raw_sockets", {"frames": [base64.b64encode(frame).decode() for frame in FRAMES]}) as floor:
        crowd = Crowd(floor.port, SOCKETS, say="{}")
        try:
            crowd.come_in()
            yield crowd
        finally:
            crowd.close()


def test_every_receipt_of_every_event_is_counted(crowd: Crowd) -> None:
    crowd.know(FRAMES)
    assert crowd.hear(seconds=0.5, per_second=20).receipts == 10 * SOCKETS
    burst = crowd.hear(seconds=0.01, at_once=7)
    assert burst.receipts >= 7 * SOCKETS
    assert burst.receipts % (7 * SOCKETS) == 0


def test_events_in_another_order_end_the_run(crowd: Crowd) -> None:
    crowd.know(FRAMES[::-1])
    with pytest.raises(LoadFailed, match="this should not have come"):
        crowd.hear(seconds=0.1)
    with pytest.raises(LoadFailed):
        crowd.hear(seconds=0.1)


def test_the_bench_of_live_pages_runs(tmp_path: Path) -> None:
    """S3-20: a run too short to mean anything, but of all its parts."""
    file = tmp_path / "latest.json"
    words = ["--quick", "--only", "sockets", "--rounds", "1", "--seconds", "0.2", "--sockets", str(SOCKETS)]
    result = subprocess.run(
        [sys.executable, "-m", "tests.bench", *words, "--json", str(file)],
        capture_output=True,
        text=True,
        timeout=100,
        cwd=Path(__file__).parents[3],
    )
    assert result.returncode == 0, result.stdout + result.stderr
    written = json.loads(file.read_text())
    assert written["failed"] == []
    figures = {figure["work"]: figure for figure in written["figures"]}
    assert len(figures) == 5
    assert figures[f"20 events/s to {SOCKETS} sockets, p50"]["notes"]["receipts"] == 20 * 0.4 * SOCKETS
    assert all(figure["ours"] > 0 and figure["floor"] > 0 for name, figure in figures.items() if "memory" not in name)
