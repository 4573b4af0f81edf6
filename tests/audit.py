"""`make audit`: are holes known in what requirements.lock names?

pip-audit ends with "no known vulnerabilities" also when it could ask nobody, so its answer is read package by package.
Exit code 0: every package was asked about and nothing is known. 1: something is known. 3: not every package could be
asked about, so nothing is said about the rest.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

CLEAN, KNOWN, NOT_ASKED = 0, 1, 3
SERVICES = ("osv", "pypi")


class Answer(NamedTuple):
    asked: int
    known: list[str]
    skipped: list[str]
    """Packages nobody could tell anything about."""
    failure: str = ""

    @property
    def is_whole(self) -> bool:
        return self.asked > 0 and not self.skipped and not self.failure


def ask(program: str, lock: Path, service: str) -> Answer:
    command = [
        program,
        "--requirement",
        str(lock),
        "--require-hashes",
        "--disable-pip",
        "--vulnerability-service",
        service,
    ]
    done = subprocess.run(  # the program is the maintainer's own
        [*command, "--format", "json", "--progress-spinner", "off", "--timeout", "15"],
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        found = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError, TypeError):
        return Answer(0, [], [], (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1])
    asked = [each for each in found if "skip_reason" not in each]
    return Answer(
        asked=len(asked),
        known=[_sentence(each, hole) for each in asked for hole in each.get("vulns", [])],
        skipped=[each["name"] for each in found if "skip_reason" in each],
    )


def audit(program: str, lock: Path) -> int:
    for service in SERVICES:
        answer = ask(program, lock, service)
        for sentence in answer.known:
            print(sentence)
        if answer.known:
            return KNOWN
        if answer.is_whole:
            print(f"{service}: {answer.asked} packages of {lock.name} asked about, no hole is known.")
            return CLEAN
        why = answer.failure or f"nothing is known of {len(answer.skipped)}: {', '.join(answer.skipped[:5])} …"
        print(f"{service}: {answer.asked} packages could be asked about; {why}", file=sys.stderr)
    print("NOT AUDITED: no database of known holes could be reached for every package.", file=sys.stderr)
    return NOT_ASKED


def _sentence(package: dict[str, Any], hole: dict[str, Any]) -> str:
    names = ", ".join([hole["id"], *hole.get("aliases", [])])
    mended = ", ".join(hole.get("fix_versions", [])) or "no version"
    return f"{package['name']} {package['version']}: {names}; mended in {mended}"


if __name__ == "__main__":
    raise SystemExit(audit(sys.argv[1], Path(sys.argv[2])))
