"""All outside checks of a site at once: a refusal wins over a hold, and whoever does not answer well is not believed."""

import asyncio
from collections.abc import Sequence
from typing import Protocol

import structlog

from threadkit.http.outbound import OutboundFailed
from threadkit.moderation.model import LOOKED_AT_FIRST, Attempt, Facts, Kind, Reason, Verdict
from threadkit.moderation.outside.model import Finding, Visitor
from threadkit.sites.model import Site

log = structlog.get_logger()

DEADLINE_S = 1.0


class Check(Protocol):
    name: str

    def is_on(self, site: Site) -> bool:
        """Whether the owner wants it asked."""

    async def judge(self, attempt: Attempt, visitor: Visitor) -> Finding | None:
        """What it says, or None if it has nothing to say; raises `OutboundFailed`."""


class OutsideChecks:
    def __init__(self, checks: Sequence[Check], *, deadline_s: float = DEADLINE_S) -> None:
        self._checks = tuple(checks)
        self._deadline_s = deadline_s

    async def check(self, attempt: Attempt, facts: Facts, visitor: Visitor | None = None) -> Verdict | None:
        """None when nobody was asked or nobody had anything to say. Nobody is asked about those who moderate."""
        asked = [check for check in self._checks if check.is_on(attempt.site) and not attempt.is_staff]
        if not asked:
            return None
        said = await asyncio.gather(*(self._ask(check, attempt, facts, visitor or Visitor()) for check in asked))
        return _together([finding for finding in said if finding])

    async def _ask(self, check: Check, attempt: Attempt, facts: Facts, visitor: Visitor) -> Finding | None:
        try:
            async with asyncio.timeout(self._deadline_s):
                return await check.judge(attempt, visitor)
        except TimeoutError:
            why = "no answer in time"
        except OutboundFailed as failed:
            why = failed.reason
        except Exception as error:  # whatever is wrong with one check, the others have said what they have said
            why = f"it failed: {type(error).__name__}"
        log.warning("outside_check_failed", check=check.name, site_id=attempt.site.id, why=why)
        if facts.is_known:
            return None
        sentence = f"{check.name} could not be asked ({why}), and the author is new here"
        return Finding("hold", Reason(code="outside_check_failed", sentence=sentence, told=LOOKED_AT_FIRST))


def _together(findings: Sequence[Finding]) -> Verdict | None:
    kinds: tuple[Kind, ...] = ("refuse", "hold", "pass")
    for kind in kinds:
        if reasons := [finding.reason for finding in findings if finding.kind == kind]:
            notes = [finding.reason.sentence for finding in findings if finding.kind == "pass"]
            return Verdict(kind=kind, reasons=reasons, notes=notes)
    return None
