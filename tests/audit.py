"""`make audit`: are holes known in what requirements.lock names?

pip-audit ends with "no known vulnerabilities" also when it could ask nobody, so its answer is read package by package.
When no database can be reached, a copy of one serves: OSV's list for PyPI, a zip file or a folder of its JSON files.
Exit code 0: every package was asked about and nothing is known. 1: something is known. 3: not every package could be
asked about, so nothing is said about the rest.
"""

import json
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from threadkit.dependencies.sbom import locked_hashes

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
    try:
        done = subprocess.run(  # the program is the maintainer's own
            [*command, "--format", "json", "--progress-spinner", "off", "--timeout", "15"],
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        return Answer(0, [], [], "pip-audit is not installed")
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


def ask_copy(copy: Path, lock: Path) -> tuple[Answer, str]:
    """The same by a copy of OSV's list, and the day of the newest entry in it."""
    versions, known, newest = dict(locked_hashes(lock).keys()), list[str](), ""
    for advisory in _advisories(copy):
        newest = max(newest, str(advisory.get("modified", "")))
        for affected in () if "withdrawn" in advisory else advisory.get("affected", []):
            package = affected.get("package", {})
            name = canonicalize_name(package.get("name", ""))
            if package.get("ecosystem") == "PyPI" and name in versions and _is_hit(versions[name], affected):
                known.append(
                    _sentence({"name": name, "version": versions[name]}, advisory | {"fix_versions": _fixes(affected)})
                )
    return Answer(
        len(versions) if newest else 0, sorted(set(known)), [], "" if newest else "it holds no advisory"
    ), newest[:10]


def _advisories(copy: Path) -> Iterator[dict[str, Any]]:
    if copy.is_dir():
        yield from (json.loads(path.read_bytes()) for path in sorted(copy.rglob("*.json")))
        return
    with zipfile.ZipFile(copy) as packed:
        yield from (json.loads(packed.read(name)) for name in packed.namelist() if name.endswith(".json"))


def _is_hit(version: str, affected: dict[str, Any]) -> bool:
    installed = Version(version)
    if any(_version(each) == installed for each in affected.get("versions", [])):
        return True
    return any(_is_within(installed, one["events"]) for one in affected.get("ranges", []) if one["type"] == "ECOSYSTEM")


def _is_within(installed: Version, events: list[dict[str, str]]) -> bool:
    """As OSV says how ranges are read: by version, each event decides for what comes after it."""
    is_hit = False
    steps = [(_version(version), kind) for event in events for kind, version in event.items()]
    for version, kind in sorted(steps, key=lambda step: (step[0], step[1] == "last_affected")):
        if kind == "introduced" and installed >= version:
            is_hit = True
        elif (kind == "fixed" and installed >= version) or (kind == "last_affected" and installed > version):
            is_hit = False
    return is_hit


def _fixes(affected: dict[str, Any]) -> list[str]:
    return [event["fixed"] for one in affected.get("ranges", []) for event in one["events"] if "fixed" in event]


def _version(text: str) -> Version:
    try:
        return Version(text)
    except InvalidVersion:
        return Version("0")  # of before the rules for versions


def audit(program: str, lock: Path, copy: Path | None = None) -> int:
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
    if copy is not None and copy.exists():
        return _audit_by_copy(copy, lock)
    print("NOT AUDITED: no database of known holes could be reached for every package.", file=sys.stderr)
    return NOT_ASKED


def _audit_by_copy(copy: Path, lock: Path) -> int:
    answer, newest = ask_copy(copy, lock)
    for sentence in answer.known:
        print(sentence)
    if not answer.is_whole:
        print(f"NOT AUDITED: {copy.name}: {answer.failure}", file=sys.stderr)
        return NOT_ASKED
    days = (datetime.now(UTC).date() - datetime.fromisoformat(newest).date()).days
    said = "see above" if answer.known else "no hole is known"
    print(
        f"{copy.name}, newest entry of {newest}, {days} days old: {answer.asked} packages of {lock.name} held against it, {said}."
    )
    return KNOWN if answer.known else CLEAN


def _sentence(package: dict[str, Any], hole: dict[str, Any]) -> str:
    names = ", ".join([hole["id"], *hole.get("aliases", [])])
    mended = ", ".join(hole.get("fix_versions", [])) or "no version"
    return f"{package['name']} {package['version']}: {names}; mended in {mended}"


if __name__ == "__main__":
    raise SystemExit(audit(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]) if sys.argv[3:] else None))
