"""Several installations on one store, one of whose prefixes begins with another's: each keeps to its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis

from tests.folders import quick_folder
from tests.integration.backup.stores import State, backup_of, do, opened, refused, state
from tests.integration.server.program import environment, run
from threadkit.keyring import open_keyring
from threadkit.settings import Settings

SHORT, LONG = "blog", "blog2"


@pytest.fixture(scope="module")
def parent() -> Iterator[Path]:
    with quick_folder() as folder:
        yield Path(folder)


@pytest.fixture
def store(parent: Path) -> Iterator[Redis]:
    with opened(parent / "store") as client:
        client.flushall()
        # As older versions allowed them: without anything that parts them from what follows.
        for prefix in (SHORT, LONG):
            client.hset(f"{prefix}threadkit:stamp", mapping={"schema_version": "1", "created_at": "2026-01-01"})
            client.hset(f"{prefix}threadkit:stamp", "secret", _fingerprint(parent))
            do(
                "site",
                "create",
                f"Site of {prefix}",
                "blog.example.org",
                "--data",
                str(parent),
                **where(parent, prefix),
            )
        yield client


def _fingerprint(parent: Path) -> str:
    return open_keyring(Settings(data=str(parent))).fingerprint


def where(parent: Path, prefix: str) -> dict[str, str]:
    return {"REDIS_URL": f"unix://{parent / 'store' / 'store.sock'}", "THREADKIT_KEY_PREFIX": prefix}


def of(client: Redis, prefix: str) -> State:
    return {key: value for key, value in state(client).items() if key.startswith(prefix.encode())}


def test_a_restore_that_begins_anew_leaves_the_other_installation_alone(parent: Path, store: Redis) -> None:
    path = backup_of(parent, **where(parent, SHORT))
    do("site", "create", "A later one", "later.example.org", "--data", str(parent), **where(parent, LONG))
    theirs = of(store, LONG)
    store.delete(*(of(store, SHORT).keys() - theirs.keys()))
    store.hset(f"{SHORT}threadkit:restoring", "file", path.name)  # as an interrupted one leaves it
    do("backup", "restore", str(path), "--data", str(parent), **where(parent, SHORT))
    assert of(store, LONG) == theirs
    assert "Site of blog " in do("site", "list", "--data", str(parent), **where(parent, SHORT))


def test_a_backup_holds_no_key_of_the_other_installation(parent: Path, store: Redis) -> None:
    path = backup_of(parent, **where(parent, SHORT))
    do("backup", "restore", str(path), "--data", str(parent), **where(parent, "alone:"))
    restored = of(store, "alone:")
    assert sum(key.endswith(b":config") for key in restored) == 1
    assert not any(key.startswith(b"alone:2") for key in restored)


def test_the_doctor_does_not_call_it_unknown(parent: Path, store: Redis) -> None:
    store.set(f"{SHORT}of-nobody", "1")
    done = run("doctor", "--deep", "--data", str(parent), env=environment(**where(parent, SHORT)))
    assert "of-nobody" in done.stdout
    assert LONG not in done.stdout


def test_new_data_needs_a_prefix_that_ends(parent: Path, store: Redis) -> None:
    said = refused("site", "create", "New", "new.example.org", "--data", str(parent), **where(parent, "shop"))
    assert "'shop' must end with a sign that parts it from what follows, such as 'shop:'" in said
    assert not store.keys("shop*stamp")
    do("site", "create", "New", "new.example.org", "--data", str(parent), **where(parent, "shop:"))
