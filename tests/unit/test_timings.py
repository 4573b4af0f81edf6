"""What the costs of tests are compared with."""

import subprocess
import sys
from pathlib import Path

from tests.timings import Meter, by_kind, grown, loop_ms, read, write


def test_only_what_clearly_takes_more_is_said() -> None:
    before = {"tests/a.py": 2.0, "tests/b.py": 20.0, "tests/c.py": 0.1, "": 5.0}
    now = {"tests/a.py": 9.0, "tests/b.py": 25.0, "tests/c.py": 1.0, "tests/new.py": 8.0, "tests/small.py": 0.5}
    said = [line.split("CPU s  ")[1] for line in grown(now, before)]
    assert said == ["tests/new.py is new", "tests/a.py took 2.0 before"]


def test_kinds_are_folders_and_slices() -> None:
    files = {
        "tests/unit/test_a.py": 1.0,
        "tests/integration/live/test_a.py": 2.0,
        "tests/integration/live/deep/test_a.py": 3.0,
        "": 4.0,
    }
    assert by_kind(files) == {"unit": 1.0, "integration/live": 5.0, "collecting, and the rest": 4.0}


def test_time_of_the_processor_is_counted_also_that_of_children_that_ended() -> None:
    meter = Meter()
    assert loop_ms() > 0
    busy = "import time\nwhile time.process_time() < 0.3: pass"
    subprocess.run([sys.executable, "-c", busy], check=True)
    assert 0.3 < meter.read() < 5
    assert meter.read() < 0.3


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    record = {"loop_ms": 7.5, "test": {"tests/a.py": {"cpu_s": 1.5, "s": 2.0}, "tests/b.py": {"cpu_s": 1, "s": 2}}}
    write(tmp_path / "new" / "record.json", record)
    assert read(tmp_path / "new" / "record.json") == record
    assert '"tests/a.py": {"cpu_s": 1.5, "s": 2.0}' in (tmp_path / "new" / "record.json").read_text()
