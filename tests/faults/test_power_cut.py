"""A power cut at any moment under load: what was acknowledged had been synced. THREADKIT_SOAK=1 makes it 100. K4, G2.

The arm without syncs must lose, or the knife is blunt.
"""

import os
import random
import signal
import subprocess
from pathlib import Path

import pytest
import redis

from tests.faults.between import COMPILER
from tests.faults.crew import Crew
from tests.faults.power import Power
from tests.faults.test_kills import kill_everything
from tests.folders import disk_folder
from tests.integration.server.program import Server, environment
from threadkit.storage.store_program import find_program

CUTS = 100 if os.environ.get("THREADKIT_SOAK") else 2
pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler, see .ci/run")


@pytest.mark.timeout(7200 if os.environ.get("THREADKIT_SOAK") else 400)
async def test_a_power_cut_takes_nothing_that_was_acknowledged() -> None:
    seed = int(os.environ.get("THREADKIT_SEED", random.randrange(1_000_000)))
    print(f"seed {seed}")
    dice = random.Random(seed)
    with disk_folder() as parent:
        power = Power(Path(parent) / "power")
        crew = Crew(Path(parent) / "data", dice, env=environment(**power.environment))

        def cut(server: Server) -> None:
            kill_everything(server)
            power.cut(crew.folder / "appendonlydir", dice)

        for _ in range(CUTS):
            await crew.live(cut)
        await crew.last_look()
        print(f"\nG2: {CUTS} power cuts, {crew.acknowledged} acknowledged writes, none lost")


def test_the_same_cut_takes_from_a_store_that_syncs_once_a_second() -> None:
    with disk_folder() as parent:
        folder = Path(parent)
        power = Power(folder / "power")
        with _store(folder, power) as store:
            client = redis.Redis(unix_socket_path=str(folder / "s"))
            written = 0
            for number in range(3000):
                client.set(f"key:{number}", "x" * 100)
                written += 1
            store.send_signal(signal.SIGKILL)
            store.wait()
        assert power.cut(folder / "appendonlydir", random.Random(1)) > 0
        with _store(folder, power):
            assert redis.Redis(unix_socket_path=str(folder / "s")).dbsize() < written


def _store(folder: Path, power: Power) -> "_Running":
    return _Running(folder, power)


class _Running:
    """A store that says yes before its writes are on disk."""

    def __init__(self, folder: Path, power: Power) -> None:
        self._socket = folder / "s"
        words = ["--port", "0", "--unixsocket", str(self._socket), "--dir", str(folder)]
        words += ["--appendonly", "yes", "--appendfsync", "everysec", "--save", ""]
        self.process = subprocess.Popen(
            [str(find_program().path), *words],
            env=os.environ | power.environment,
            stdout=subprocess.DEVNULL,
        )

    def __enter__(self) -> "subprocess.Popen[bytes]":
        client = redis.Redis(unix_socket_path=str(self._socket))
        for _ in range(3000):
            try:
                client.ping()
            except (OSError, redis.ConnectionError, redis.BusyLoadingError):
                assert self.process.poll() is None
                continue
            return self.process
        raise AssertionError("the store does not answer")

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
