"""The oldest versions of what ThreadKit runs with that have no hole which matters here.

`pyproject.toml` asks for newer ones, but an installation can be older than what was asked for: a distribution's
packages, a forced install, an image that nobody rebuilt. Nothing starts on these.
"""

import importlib.metadata
import re
from typing import NamedTuple

from threadkit.errors import CannotStart


class Floor(NamedTuple):
    package: str
    version: str
    why: str
    """What can happen below it."""
    known_as: str


FLOORS = (
    Floor(
        "litestar",
        "2.20.0",
        "forged headers pass limits, hosts that are not allowed pass as allowed",
        "CVE-2025-59152, CVE-2026-25479, CVE-2026-25480",
    ),
    Floor("uvicorn", "0.11.7", "requests write into the log and into answers", "CVE-2020-7694, CVE-2020-7695"),
    Floor("httptools", "0.5.0", "requests hide in other requests", "CVE-2022-32213, CVE-2022-32214, CVE-2022-32215"),
    Floor("h11", "0.16.0", "requests hide in other requests", "CVE-2025-43859"),
    Floor("redis", "4.5.5", "one person gets the answer that was meant for another", "CVE-2023-28858, CVE-2023-28859"),
    Floor("joserfc", "1.6.8", "tokens signed with nothing are taken", "CVE-2026-49852"),
    Floor("cryptography", "46.0.5", "weak public keys are taken, and give away what is signed", "CVE-2026-26007"),
    Floor("cbor2", "5.9.0", "a made-up passkey brings the server down", "CVE-2026-26209, CVE-2025-68131"),
    Floor("pyasn1", "0.6.4", "a made-up passkey brings the server down", "CVE-2026-59885, CVE-2026-59886"),
    Floor("idna", "3.15", "a long address keeps the server busy", "CVE-2024-3651, CVE-2026-45409"),
    Floor("markdown-it-py", "2.2.0", "a text crashes whoever renders it", "CVE-2023-26302, CVE-2023-26303"),
    Floor("bleach", "3.3.0", "a comment runs scripts", "CVE-2021-23980"),
)


class TooOld(NamedTuple):
    floor: Floor
    found: str

    def __str__(self) -> str:
        return f"{self.floor.package} {self.found} ({self.floor.why}: {self.floor.known_as})"


def too_old() -> list[TooOld]:
    """The packages below their floor. One that is not there at all is none of them: what needs it says so itself."""
    found = ((floor, _installed(floor.package)) for floor in FLOORS)
    return [
        TooOld(floor, version) for floor, version in found if version and _numbers(version) < _numbers(floor.version)
    ]


def how_to_mend(old: list[TooOld]) -> str:
    wanted = " ".join(f"'{each.floor.package}>={each.floor.version}'" for each in old)
    return f"Install what requirements.lock names, or at least: pip install {wanted}"


def refuse_known_holes() -> None:
    if old := too_old():
        raise CannotStart(f"Known security holes: {'; '.join(map(str, old))}. {how_to_mend(old)}")


def _installed(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _numbers(version: str) -> tuple[int, ...]:
    """Three of them, whatever stands behind: 26.1 is 26.1.0, and so is 26.1.0.post2."""
    leading = [re.match(r"\d*", part) for part in [*version.split("."), "", ""][:3]]
    return tuple(int(match[0] or 0) if match else 0 for match in leading)
