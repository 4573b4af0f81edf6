"""`threadkit copy` as an owner runs it: what it refuses, and what becomes of it when it is killed."""

import contextlib
import signal
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import msgspec
import pytest
from redis import Redis
from redis.cluster import RedisCluster

from tests.folders import quick_folder
from tests.integration.backup.stores import do, opened, refused, state_of
from tests.integration.backup.test_crashes import started
from tests.integration.server.program import environment, run, serving
from tests.integration.topologies.conftest import cluster, sentinel, topology
from tests.integration.topologies.nodes import on_cluster
from tests.integration.topologies.servers import Topology, free_ports
from tests.wait import until
from threadkit.settings import Settings
from threadkit.storage.bundled import BundledStore

__all__ = ["cluster", "sentinel", "topology"]

COMMENTS = 1_500
PATIENT = {"THREADKIT_STORE_COMMAND_TIMEOUT_S": "30"}


@pytest.fixture
def parent() -> Iterator[Path]:
    with quick_folder() as folder:
        yield Path(folder)


@pytest.fixture
def small(parent: Path) -> Path:
    folder = parent / "a"
    do("site", "create", "Blog", "blog.example.org", "--data", str(folder))
    return folder


@contextlib.contextmanager
def empty_store(folder: Path) -> Iterator[str]:
    """The URL of a store that nothing is in."""
    store = BundledStore(Settings(data=str(folder)))
    store.start()
    try:
        yield f"unix://{store.address.path}"
    finally:
        store.stop()


def keys_in(topology: Topology) -> int:
    return sum(int(server.ask("DBSIZE")) for server in topology.primaries)


def ours(topology: Topology, *words: str, **env: str) -> str:
    """A command on the cluster."""
    return do(*words, "--redis-url", topology.url, **env)


@on_cluster
@pytest.mark.prove
async def test_killed_in_the_middle_it_goes_on(topology: Topology, small: Path) -> None:
    secret = (small / "secret.key").read_text().strip()
    do("loadgen", "--site", "Blog", "--comments", str(COMMENTS), "--data", str(small), **PATIENT)
    words = ("copy", "--to", topology.url, "--data", str(small))
    with started(*words) as process:
        await until(lambda: keys_in(topology) > 2000, "some keys to be there", seconds=60)
        process.send_signal(signal.SIGKILL)
        process.wait()
    there = keys_in(topology)
    with opened(small) as source:
        assert 2000 < there < source.dbsize(), "killed too late to show anything"
        (site_id,) = (member.decode() for member in source.zrange("sites:index", 0, -1))  # type: ignore[union-attr]
    stray = f"{{{site_id}}}page:{uuid4()}:views"
    with contextlib.closing(RedisCluster.from_url(f"redis://127.0.0.1:{topology.primaries[0].port}")) as store:
        store.set(stray, "of a page that was deleted meanwhile")
    for command in (("site", "list"), ("backup", "create"), ("serve", "--port", "0")):
        said = refused(*command, "--redis-url", topology.url, THREADKIT_SECRET=secret)
        assert "did not come to its end" in said
        assert "threadkit copy" in said
    said = do(*words)
    assert "It went on where it had stopped" in said
    assert f"Every index of the copy agrees: {COMMENTS:,} comments" in said
    with contextlib.closing(RedisCluster.from_url(f"redis://127.0.0.1:{topology.primaries[0].port}")) as store:
        assert not store.exists(stray), "what the source does not have is gone"
    assert "Blog" in ours(topology, "site", "list", THREADKIT_SECRET=secret)
    assert "Everything agrees" in ours(topology, "doctor", "--deep", THREADKIT_SECRET=secret)
    said = refused(*words)
    assert "holds data already" in said, "a copy that is done is not gone on with"


def test_from_one_data_folder_into_another(small: Path, parent: Path) -> None:
    do("loadgen", "--site", "Blog", "--comments", "50", "--data", str(small))
    with empty_store(parent / "b") as url:
        found = msgspec.json.decode(do("copy", "--data", str(small), "--to", url, "--json"))
        assert found["counts"]["comment:{comment_id}"] == [50, 50]
        assert (found["left_behind"], found["unknown"], found["is_resumed"]) == ([], 0, False)
    before, after = state_of(small), state_of(parent / "b")
    for keys in (before, after):
        keys.pop(b"threadkit:probe", None)
    assert after == before


@on_cluster
async def test_what_nothing_tells_the_owner_of_is_left_behind_and_named(topology: Topology, small: Path) -> None:
    orphan = f"page:{uuid4()}:views"
    with opened(small) as source:
        source.set(orphan, "1")
        source.set("somebody", "else's")
    said = do("copy", "--to", topology.url, "--data", str(small))
    assert f"page:{{page_id}}:views: 1, e.g. {orphan}" in said
    assert "Not ThreadKit's, and left alone: 1 keys" in said


def test_data_in_the_target_is_refused(small: Path, parent: Path) -> None:
    with empty_store(parent / "b") as url:
        with Redis.from_url(url) as store:
            store.set("somebody", "else's")
        said = refused("copy", "--data", str(small), "--to", url)
        assert "holds data already: 1 keys" in said
        with Redis.from_url(url) as store:
            assert set(store.keys()) - {b"threadkit:probe"} == {b"somebody"}
        do("copy", "--data", str(small), "--to", url, "--to-prefix", "mine:")


def test_a_running_server_is_refused_on_either_side(small: Path, parent: Path) -> None:
    with empty_store(parent / "b") as other, serving(small):
        assert "A server is running with the data folder" in refused("copy", "--data", str(small), "--to", other)
        this = f"unix://{small / 'store.sock'}"
        assert "A ThreadKit server is running on the store" in refused("copy", "--from", this, "--to", other)
        do("site", "create", "Other", "other.example.org", "--redis-url", other)
        assert "A ThreadKit server is running on the store" in refused("copy", "--from", other, "--to", this)


def test_wrong_urls_end_in_a_sentence(small: Path, parent: Path) -> None:
    (port,) = free_ports(1)
    data = ("--data", str(small))
    assert "redis_url cannot be understood" in refused("copy", "--to", "http://127.0.0.1", *data)
    for url in (f"redis://127.0.0.1:{port}", f"redis+cluster://127.0.0.1:{port}", f"unix://{parent}/none"):
        assert "cannot be reached" in refused("copy", "--to", url, *data)
        assert "cannot be reached" in refused("copy", "--from", url, *data)
    with empty_store(parent / "b") as url:
        assert "There is no data of ThreadKit in the store" in refused(
            "copy", "--from", url, "--data", str(parent / "c")
        )
        assert "Both are the same store" in refused("copy", "--from", url, "--to", url)
        said = refused("copy", "--from", url, "--to", url, "--to-prefix", "a{b}")
        assert "key_prefix: may not contain braces" in said
    result = run("copy", env=environment())
    assert (result.returncode, "--to URL" in result.stderr) == (2, True)


@on_cluster
async def test_a_part_of_a_cluster_is_not_taken_for_a_store(topology: Topology, small: Path) -> None:
    said = refused("copy", "--to", f"redis://127.0.0.1:{topology.primaries[0].port}", "--data", str(small))
    assert "is part of a cluster" in said
