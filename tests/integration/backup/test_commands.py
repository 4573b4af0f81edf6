"""`threadkit backup` as an owner types it (rows S1-46, S2-44)."""

import json
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.folders import quick_folder
from tests.integration.backup.stores import backup_of, do, new_folder, opened, refused, state, state_of
from tests.integration.server.program import serving


@pytest.fixture
def parent() -> Iterator[Path]:
    with quick_folder() as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def filled() -> Iterator[Path]:
    """A data folder with made-up threads and everything else that a store can hold."""
    with quick_folder() as parent:
        folder = Path(parent) / "filled"
        do("site", "create", "Blog", "blog.example.org", "--data", str(folder))
        words = ("--comments", "100", "--users", "30", "--votes", "100", "--pages", "4", "--seed", "one")
        do("loadgen", "--site", "Blog", *words, "--data", str(folder))
        with opened(folder) as store:
            (site,) = store.zrange("sites:index", 0, 0)
            site_id = bytes(site).decode()  # type: ignore[arg-type]
            store.pfadd(f"site:{site_id}:visitors:2026-11", *range(2000))
            store.expire(f"site:{site_id}:visitors:2026-11", 7_000_000)
            store.hset("session:0197b7a2-6f1c-7c3e-8a41-2d9f6c1e5b70", mapping={"user_id": "u", "ver": "1"})
            store.expire("session:0197b7a2-6f1c-7c3e-8a41-2d9f6c1e5b70", 3600)
            store.set("verify:ada@example.org", "{}", ex=600)
            store.xadd(f"site:{site_id}:modlog", {"entry": "{}"})
        yield folder


@pytest.fixture(scope="module")
def backup(filled: Path) -> Path:
    return backup_of(filled)


def test_every_key_type_value_and_ttl_comes_back(filled: Path, backup: Path, parent: Path) -> None:
    target = new_folder(parent, "b", like=filled)
    assert "100 comments" in do("backup", "restore", str(backup), "--data", str(target))
    before, after = state_of(filled), state_of(target)
    before.pop(b"threadkit:backups")  # written when the backup was done
    before.pop(b"threadkit:probe", None)
    after.pop(b"threadkit:probe", None)
    assert after == before
    assert do("rebuild", "--check", "--data", str(target)).startswith("Everything agrees: 100 comments")


def test_a_backup_is_private_and_says_what_it_holds(backup: Path) -> None:
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert stat.S_IMODE(backup.parent.stat().st_mode) == 0o700
    (found,) = json.loads(do("backup", "list", "--in", str(backup.parent), "--json"))
    assert found["counts"]["comment:{comment_id}"] == 100
    assert found["is_one_moment"]
    assert found["verified"]
    assert "100 comments" in do("backup", "verify", str(backup))
    assert "everything agrees" in do("backup", "verify", "--deep", str(backup))


def test_only_an_empty_store_takes_a_backup(filled: Path, backup: Path) -> None:
    before = state_of(filled)
    assert "holds data already" in refused("backup", "restore", str(backup), "--data", str(filled))
    after = state_of(filled)
    for keys in (before, after):
        keys.pop(b"threadkit:probe", None)
    assert after == before


def test_nothing_is_put_back_beside_a_server(filled: Path, backup: Path, parent: Path) -> None:
    target = new_folder(parent, "b", like=filled)
    with serving(target):
        assert "Stop it first" in refused("backup", "restore", str(backup), "--data", str(target))
        url = f"unix://{target}/store.sock"
        assert "A ThreadKit server is running on this store" in refused(
            *("backup", "restore", str(backup), "--redis-url", url, "--data", str(target))
        )


def test_a_backup_of_another_secret_needs_that_secret_or_a_new_beginning(
    filled: Path, backup: Path, parent: Path
) -> None:
    target = str(parent / "b")
    said = refused("backup", "restore", str(backup), "--data", target)
    assert "another server secret" in said
    assert "--new-secret" in said
    assert "sign in again" in do("backup", "restore", str(backup), "--new-secret", "--data", target)
    assert "Blog" in do("site", "list", "--data", target)
    with opened(Path(target)) as store:
        assert not list(store.scan_iter("session:*"))


def test_a_new_secret_locks_nobody_out_who_had_an_authenticator(filled: Path, parent: Path) -> None:
    with opened(filled) as store:
        with_totp, with_passkey = (key.decode() for key in list(store.scan_iter("user:" + "?" * 36))[:2])
        for user in (with_totp, with_passkey):
            store.hset(user, "has_second_step", "1")
            store.hset(f"{user}:totp", mapping={"secret": "v1.sealed", "since": "2026-01-01T00:00:00Z", "step": "0"})
            store.sadd(f"{user}:recovery", "a digest")
        store.hset(f"{with_passkey}:passkeys", "one", "{}")
    path = backup_of(filled)
    target = parent / "b"
    do("backup", "restore", str(path), "--new-secret", "--data", str(target))
    with opened(target) as store:
        assert not list(store.scan_iter("user:*:totp*")) + list(store.scan_iter("user:*:recovery"))
        assert store.hget(with_totp, "has_second_step") is None, "the password opens again"
        assert store.hget(with_passkey, "has_second_step") == b"1", "passkeys need no secret of the server"


def test_with_the_old_secret_in_the_settings_it_is_no_other(filled: Path, backup: Path, parent: Path) -> None:
    secret = (filled / "secret.key").read_text()
    do("backup", "restore", str(backup), "--data", str(parent / "b"), THREADKIT_SECRET=secret)


def test_without_secrets_nobody_stays_signed_in_and_nothing_else_is_lost(filled: Path, parent: Path) -> None:
    place = parent / "elsewhere"
    do("backup", "create", "--without-secrets", "--to", str(place), "--data", str(filled))
    (path,) = place.glob("*.backup")
    target = new_folder(parent, "b", like=filled)
    assert "sign in again" in do("backup", "restore", str(path), "--data", str(target))
    lost = state_of(filled).keys() - state_of(target).keys()
    assert lost - {b"threadkit:probe", b"threadkit:backups"} == {
        b"session:0197b7a2-6f1c-7c3e-8a41-2d9f6c1e5b70",
        b"verify:ada@example.org",
    }


def test_who_was_at_work_does_not_keep_others_from_it_afterwards(filled: Path, parent: Path) -> None:
    """They would be waited for though they are not there any more."""
    with opened(filled) as store:
        lease = f"lock:outbox:{next(store.scan_iter('site:*:config')).decode().split(':')[1]}"
        store.set(lease, "a worker of then", ex=600)
    target = new_folder(parent, "b", like=filled)
    do("backup", "restore", str(backup_of(filled)), "--data", str(target))
    lost = state_of(filled).keys() - state_of(target).keys()
    assert lost - {b"threadkit:probe", b"threadkit:backups"} == {lease.encode()}


def test_a_backup_comes_back_under_another_prefix(filled: Path, backup: Path, parent: Path) -> None:
    target = new_folder(parent, "b", like=filled)
    env = {"THREADKIT_KEY_PREFIX": "other:"}
    do("backup", "restore", str(backup), "--data", str(target), **env)
    assert "Everything agrees: 100 comments" in do("rebuild", "--check", "--data", str(target), **env)
    with opened(target) as store:
        assert all(key.startswith(b"other:") for key in state(store))
        store.set("somebody:else", "1")
    second = backup_of(target, **env)
    assert json.loads(do("backup", "list", "--in", str(second.parent), "--json"))[0]["keys"] >= 500
    third = new_folder(parent, "c", like=filled)
    do("backup", "restore", str(second), "--data", str(third))
    assert b"somebody:else" not in state_of(third)


def test_a_damaged_backup_is_refused_before_anything_is_touched(filled: Path, backup: Path, parent: Path) -> None:
    target = new_folder(parent, "b", like=filled)
    damaged = parent / "damaged.backup"
    data = bytearray(backup.read_bytes())
    data[-500] ^= 4
    damaged.write_bytes(data)
    for words in (("verify", str(damaged)), ("restore", str(damaged), "--data", str(target))):
        assert "is damaged" in refused("backup", *words)
    damaged.write_bytes(backup.read_bytes()[:-1])
    assert "is damaged" in refused("backup", "verify", str(damaged))
    damaged.write_text("something else")
    assert "is not a backup" in refused("backup", "verify", str(damaged))
    assert "is not a backup" in refused("backup", "restore", str(damaged), "--data", str(target))
    do("backup", "restore", str(backup), "--data", str(target))


def test_so_many_are_kept_and_the_oldest_go(filled: Path, parent: Path) -> None:
    env = {"THREADKIT_BACKUP_KEEP": "2", "THREADKIT_BACKUP_FOLDER": str(parent / "kept")}
    (parent / "kept").mkdir()
    broken = parent / "kept" / "threadkit-20200101-000000.backup"
    broken.write_text("nothing")
    create = ("backup", "create", "--json", "--data", str(filled))
    made = [json.loads(do(*create, **env))["file"] for _ in range(4)]
    listed = json.loads(do("backup", "--json", "--data", str(filled), **env))
    assert [found["file"] for found in listed] == [made[3], made[2], str(broken)]
    assert "cannot be read" in do("backup", "list", "--data", str(filled), **env)
    assert len(list((parent / "kept").glob("*.verified"))) == 2


def test_a_folder_that_cannot_be_used_is_said(filled: Path, parent: Path) -> None:
    (parent / "file").write_text("")
    assert "cannot be made" in refused("backup", "create", "--to", str(parent / "file"), "--data", str(filled))
    assert "There is no backup" in do("backup", "list", "--data", str(parent / "nothing"))
