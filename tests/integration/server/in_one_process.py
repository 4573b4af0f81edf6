"""Commands one after the other in one process, for what holds for a process and all it starts: a full disk. What to run
comes over the standard input as JSON, how each ended goes to the standard output."""

import dataclasses
import json
import os
import subprocess
import sys

from tests.integration.server.program import Done, run


def run_all(commands: list[list[str]], env: dict[str, str], patience_s: float) -> list[Done]:
    done = subprocess.run(
        [sys.executable, "-m", __name__],
        input=json.dumps(commands),
        env=env,
        capture_output=True,
        text=True,
        timeout=patience_s,
    )
    assert done.returncode == 0, done.stderr
    return [Done(**each) for each in json.loads(done.stdout)]


if __name__ == "__main__":
    answers = [dataclasses.asdict(run(*words, env=dict(os.environ))) for words in json.load(sys.stdin)]
    sys.stdout.write(json.dumps(answers))
