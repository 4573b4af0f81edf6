"""When the disk has too little room for the bundled store."""

import shutil
from pathlib import Path

import pytest

from threadkit.storage.room import CLOSED_BYTES, Room, memory_limit, room_in

MB = 10**6


@pytest.mark.parametrize(
    ("free", "journal", "least", "is_short"),
    [
        (99 * MB, 0, 100 * MB, True),
        (100 * MB, 0, 100 * MB, False),
        (399 * MB, 200 * MB, 100 * MB, True),
        (400 * MB, 200 * MB, 100 * MB, False),
        (0, 200 * MB, 0, False),
    ],
)
def test_there_must_be_room_for_the_least_and_for_the_journal_twice(
    free: int, journal: int, least: int, is_short: bool
) -> None:
    assert Room(free, journal, least).is_short is is_short


def test_the_journal_is_all_files_of_its_folder(tmp_path: Path) -> None:
    (tmp_path / "appendonlydir").mkdir()
    for name, length in (("base", 300), ("incr", 20)):
        (tmp_path / "appendonlydir" / name).write_bytes(b"x" * length)
    room = room_in(tmp_path, least_free_mb=5)
    assert room is not None
    assert (room.journal, room.least) == (320, 5 * MB)
    assert room.free <= shutil.disk_usage(tmp_path).total


def test_what_is_being_written_anew_takes_the_room_kept_free_for_it(tmp_path: Path) -> None:
    before = room_in(tmp_path, least_free_mb=5)
    (tmp_path / "temp-rewriteaof-bg-7.aof").write_bytes(b"x" * MB)
    after = room_in(tmp_path, least_free_mb=5)
    assert before
    assert after
    assert after.free > before.free - MB / 2


def test_at_the_edge_a_closed_store_stays_closed() -> None:
    assert [Room(free * MB, 0, 100 * MB).is_ample for free in (100, 109, 110)] == [False, False, True]


def test_what_cannot_be_seen_is_not_judged(tmp_path: Path) -> None:
    assert room_in(tmp_path / "nowhere", least_free_mb=5) is None


def test_a_closed_store_has_no_limit_of_the_owners() -> None:
    assert [memory_limit(said) for said in (0, CLOSED_BYTES, 5 * MB)] == [0, 0, 5 * MB]
