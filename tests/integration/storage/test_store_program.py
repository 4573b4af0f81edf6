"""Which server program becomes the bundled store, and which does not."""

import json
import shutil
from pathlib import Path

import pytest

from tests.folders import quick_folder
from tests.integration.server.program import environment, run
from threadkit.errors import CannotStart
from threadkit.settings import Settings, StoreTuning
from threadkit.storage import store_program
from threadkit.storage.bundled import BundledStore
from threadkit.storage.hailing import ping
from threadkit.storage.store_program import KNOWN, find_program


def test_the_program_that_comes_with_threadkit_is_one_we_know() -> None:
    program = find_program()
    assert (program.kind, program.is_bundled) == ("valkey", True)
    assert store_program._digest(Path(program.path), 0, 0) in KNOWN.values()


def test_a_program_that_was_changed_is_not_started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    changed = tmp_path / "valkey-server"
    changed.write_bytes(Path(find_program().path).read_bytes() + b"!")
    changed.chmod(0o755)
    monkeypatch.setattr(store_program, "_bundled_path", lambda: changed)
    with pytest.raises(CannotStart, match="its contents differ"):
        find_program()
    with pytest.raises(CannotStart, match=r"set store\.binary to a server that you trust"):
        BundledStore(Settings(data=str(tmp_path / "data"))).start()


def test_a_server_of_the_machines_own_can_be_the_store(tmp_path: Path) -> None:
    own = tmp_path / "my-server"
    shutil.copy(find_program().path, own)
    with quick_folder() as folder:
        store = BundledStore(Settings(data=folder, store=StoreTuning(binary=str(own))))
        store.start()
        try:
            assert ping(store.address)
            assert Path(f"/proc/{store._process.pid}/exe").resolve() == own  # type: ignore[union-attr]
        finally:
            store.stop()
        checks = json.loads(
            run("doctor", "--json", env=environment(THREADKIT_DATA=folder, THREADKIT_STORE_BINARY=str(own))).stdout
        )
        found = next(check for check in checks["checks"] if check["id"] == "store_program")
        assert found["state"] == "ok"
        assert str(own) in found["found"]
    assert f"({own})" in run("version", env=environment(THREADKIT_STORE_BINARY=str(own))).stdout
    assert "(bundled)" in run("version").stdout


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("echo hello", "is not a Valkey or Redis server"),
        ("exit 1", "is not a Valkey or Redis server"),
        ("echo Redis server v=6.2.7 sha=0", "is redis 6.2.7; ThreadKit needs 7.0 or newer"),
    ],
)
def test_what_is_no_store_or_too_old_is_refused(tmp_path: Path, script: str, sentence: str) -> None:
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    with pytest.raises(CannotStart, match=sentence):
        find_program(str(program))


def test_an_older_store_does_not_open_what_a_newer_one_wrote(tmp_path: Path) -> None:
    older = tmp_path / "older"
    older.write_text("#!/bin/sh\necho Server v=8.0.1 valkey v=8.0.1\n")
    older.chmod(0o755)
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "store.json").write_text('{"kind": "valkey", "version": "9.1.2"}')
    with pytest.raises(CannotStart, match=r"written by valkey 9\.1\.2.*set store\.binary"):
        BundledStore(Settings(data=str(folder), store=StoreTuning(binary=str(older)))).start()
