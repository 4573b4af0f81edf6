"""From the start of a worker to its first request, against importing the two libraries it cannot do without."""

import subprocess
import sys
import time

from tests.bench.figures import Figure, at_most, figure, in_turns
from tests.bench.stage import Stage
from tests.integration.server.program import environment, free_port

GOAL = 4.0
ROUNDS, ROUNDS_WHEN_QUICK = 9, 3


def start(stage: Stage) -> list[Figure]:
    with stage.store() as folder:
        env = environment(
            REDIS_URL=f"unix://{folder / 'store.sock'}",
            THREADKIT_DATA=str(folder),
            THREADKIT_LOG_LEVEL="warning",
            THREADKIT_PORT=str(free_port()),
            THREADKIT_SECRET="a secret of the benchmark, long enough",
        )

        def worker() -> float:
            return _until_ready([sys.executable, "-m", "tests.bench.worker_start"], env)

        def imports() -> float:
            return _until_ready([sys.executable, "-c", "import litestar, redis; print('ready')"], env)

        worker(), imports()
        rounds = in_turns(ROUNDS_WHEN_QUICK if stage.pace.is_quick else ROUNDS, worker, imports)
    return [figure("start", "worker start to ready", rounds, unit="ms", judge=at_most, goal=GOAL)]


def _until_ready(command: list[str], env: dict[str, str]) -> float:
    started = time.perf_counter()
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        lines = iter(process.stdout.readline, "")
        assert any(line == "ready\n" for line in lines), "it ended before it was ready"
        took = time.perf_counter() - started
        process.wait(20)
    return took * 1000
