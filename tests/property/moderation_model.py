"""Reports, decisions and appeals in plain Python, written from contract 4.5, rows S3-80 and S3-81, and docs/moderation.md.

Every verb answers with the status the server must answer with, and what changes changes here too. Nothing is indexed:
the queue, the open reports and the open appeals are computed from the cases each time.
"""

from dataclasses import dataclass, field, replace
from typing import Literal

Status = Literal["pending", "approved", "rejected", "deleted"]
HIDE_AT = 3.0
UNDO_MS = 30_000
BECOMES: dict[str, Status] = {"approve": "approved", "reject": "rejected", "spam": "rejected"}


@dataclass
class Somebody:
    id: str
    weight: float = 1.0
    """Of a report, while the record says nothing."""
    is_moderator: bool = False
    is_guest: bool = False
    verdicts: dict[str, str] = field(default_factory=dict)
    """By comment what became of the report."""

    @property
    def weighs(self) -> float:
        if self.is_moderator:
            return HIDE_AT
        right = list(self.verdicts.values()).count("upheld")
        wrong = len(self.verdicts) - right
        if right >= 3 and right >= 0.6 * (right + wrong):
            return 1.5
        return 0.5 if wrong >= 3 and right < 0.3 * (right + wrong) else self.weight


@dataclass
class Case:
    """A comment as moderators know it."""

    id: str
    author: Somebody
    status: Status
    reporters: list[str] = field(default_factory=list)
    weight: float = 0.0
    decided_by: str | None = None
    decided_in: "Entry | None" = None
    """The newest decision: only that one can be undone."""
    appeal: str | None = None
    guests: set[str] = field(default_factory=set)
    """Those who have reported it: each address counts once."""
    closed: tuple[list[str], float] | None = None
    """What the latest decision closed; undoing opens it again."""
    closed_by: "Entry | None" = None
    """The dismissal that closed it, if it was one."""
    kept: "Case | None" = None
    """As it was before a moderator deleted it."""

    @property
    def may_be_appealed(self) -> bool:
        return self.status == "rejected" or (self.status == "pending" and self.weight >= HIDE_AT)

    def refusal(self, by: Somebody) -> int:
        """Of somebody else's comment: whoever does not see it is not told either that it is there."""
        return 403 if by.is_moderator or self.status == "approved" else 404


@dataclass
class Entry:
    """A line of the log."""

    id: str
    action: str
    case: Case
    at_ms: int
    before: Status | None = None
    after: Status | None = None
    decided_before: str | None = None
    by: str | None = None
    newest_before: "Entry | None" = None


class Moderation:
    """Whatever happened on a site whose moderators are those among `people` who are."""

    def __init__(self, people: list[Somebody]) -> None:
        self.people = {person.id: person for person in people}
        self.cases: list[Case] = []
        self.log: list[Entry] = []
        self.now_ms = 0

    # What can be done. The answers with an id of the log get it afterwards, from the server.

    def post(self, comment_id: str, author: Somebody, *, is_held: bool) -> None:
        is_held = is_held and not author.is_moderator
        self.cases.append(Case(comment_id, author, "pending" if is_held else "approved"))

    def report(self, case: Case, by: Somebody) -> int:
        if case.status != "approved":
            return 404
        if case.author is by:
            return 400
        if by.id not in case.reporters:
            case.reporters.append(by.id)
            is_overruled = case.id in by.verdicts and by.verdicts[case.id] == "dismissed" and not by.is_moderator
            if not is_overruled and by.id not in case.guests:
                case.weight += by.weighs
            if by.is_guest:
                case.guests.add(by.id)
        if case.weight >= HIDE_AT and not case.author.is_moderator:
            self._note("hide", case, "pending", by if by.is_moderator else None)
        return 204

    def decide(self, case: Case, action: str, by: Somebody) -> int:
        if not by.is_moderator:
            return 403
        if case.status == "deleted":
            return 404
        if action in ("approve", "delete") and case.appeal == "open" and self._is_partial(case, by):
            return 403
        if action == "approve" and case.author is by and (case.status == "rejected" or case.reporters):
            return 403
        if action == "delete":
            self._delete_as_moderator(case, by)
            return 200
        verdict = "upheld" if BECOMES[action] == "rejected" else "dismissed"
        self._close(case, verdict if case.author is not by else None, by, is_kept=True)
        self._note(action, case, BECOMES[action], by)
        if case.status == "approved" and case.appeal == "open":
            case.appeal = "granted"
        return 200

    def dismiss(self, case: Case, by: Somebody) -> tuple[int, int]:
        if not by.is_moderator:
            return 403, 0
        closed = len(case.reporters)
        if case.author is by and (case.reporters or case.status == "rejected"):
            return 403, 0
        if case.may_be_appealed and case.status == "pending":
            return self.decide(case, "approve", by), closed
        if closed and case.status != "approved":
            return 409, 0
        if closed:
            self._close(case, "dismissed", by, is_kept=True)
            self._add("dismiss_reports", case, by=by)
            case.closed_by = self.log[-1]
        return 200, closed

    def delete(self, case: Case, by: Somebody) -> int:
        """The button on the page: authors for good, moderators so that it can be undone."""
        if case.status == "deleted":
            return 404
        if case.author is not by and not by.is_moderator:
            return case.refusal(by)
        if case.author is by:
            self._close(case, None, by, is_kept=False)
            case.closed = None
            self._wipe(case)
        elif case.appeal == "open" and self._is_partial(case, by):
            return 403
        else:
            self._delete_as_moderator(case, by)
        return 204

    def appeal(self, case: Case, by: Somebody) -> int:
        if case.status == "deleted":
            return 404
        if case.author is not by:
            return case.refusal(by)
        if case.appeal or not case.may_be_appealed:
            return 409
        case.appeal = "open"
        self._add("appeal", case, by=by)
        return 204

    def rule(self, case: Case, by: Somebody, decision: str) -> int:
        if not by.is_moderator:
            return 403
        if case.appeal != "open":
            return 409
        if self._is_partial(case, by):
            return 403
        if decision == "decline":
            self._add("appeal_declined", case, decided_before=case.decided_by, by=by)
            case.appeal, case.decided_by, case.decided_in = "declined", by.id, self.log[-1]
            return 200
        self._close(case, "dismissed", by, is_kept=True)
        self._note("appeal_granted", case, "approved", by)
        case.appeal = "granted"
        return 200

    def undo(self, entry: Entry, by: Somebody) -> int:
        case = entry.case
        if not by.is_moderator:
            return 403
        if self.now_ms - entry.at_ms > UNDO_MS:
            return 409
        if case.author is by and entry.by != by.id:
            return 403
        if entry.action == "delete":
            return self._restore(entry, case, by)
        if entry.action == "dismiss_reports":
            if case.closed is None or case.closed_by is not entry:
                return 409
            self._reopen(case)
            self._add("undo_dismiss_reports", case, by=by)
            return 200
        if entry.action == "appeal_declined":
            if case.appeal != "declined" or case.decided_in is not entry:
                return 409
            case.appeal, case.decided_by, case.decided_in = "open", entry.decided_before, entry.newest_before
            self._add("undo_appeal_declined", case, by=by)
            return 200
        if entry.before is None or entry.after is None or entry.action == "undo_delete" or case.status == "deleted":
            return 404
        if case.status != entry.after or case.decided_in is not entry:
            return 409
        before, said = case.status, case.decided_by
        case.status, case.decided_by = entry.before, entry.decided_before
        case.decided_in = entry.newest_before
        self._reopen(case)
        if entry.action == "hide":
            case.weight = 0.0
        if case.appeal == "open" and case.status == "approved":
            case.appeal = "granted"
        elif case.appeal == "granted" and entry.action in ("approve", "appeal_granted"):
            case.appeal = "open"
        self._add(f"undo_{entry.action}", case, before, entry.before, said, by=by)
        return 200

    # What can be asked.

    def with_status(self, status: Status) -> set[str]:
        return {case.id for case in self.cases if case.status == status}

    def open_reports(self) -> set[tuple[str, str]]:
        return {(case.id, reporter) for case in self.cases for reporter in case.reporters}

    def open_appeals(self) -> set[str]:
        return {case.id for case in self.cases if case.appeal == "open"}

    # How it is done.

    def _add(
        self,
        action: str,
        case: Case,
        before: Status | None = None,
        after: Status | None = None,
        decided_before: str | None = None,
        by: Somebody | None = None,
    ) -> None:
        doer, newest = by.id if by else None, case.decided_in
        self.log.append(Entry("", action, case, self.now_ms, before, after, decided_before, doer, newest))

    def _note(self, action: str, case: Case, status: Status, by: Somebody | None) -> None:
        before, decided_before = case.status, case.decided_by
        case.status, case.decided_by = status, by.id if by else None
        self._add(action, case, before, status, decided_before, by=by)
        case.decided_in = self.log[-1]

    def _close(self, case: Case, verdict: str | None, by: Somebody, *, is_kept: bool) -> None:
        case.closed_by = None
        if is_kept:
            case.closed = (case.reporters, case.weight) if case.reporters else None
        for reporter in case.reporters:
            if verdict and reporter != by.id:
                self.people[reporter].verdicts[case.id] = verdict
        case.reporters, case.weight = [], 0.0

    def _reopen(self, case: Case) -> None:
        if case.closed is None:
            return
        (reporters, weight), case.closed, case.closed_by = case.closed, None, None
        for reporter in reporters:
            self.people[reporter].verdicts.pop(case.id, None)
        new = [reporter for reporter in reporters if reporter not in case.reporters]
        case.weight = case.weight + weight if new == reporters else max(case.weight, weight)
        case.reporters = case.reporters + new

    def _delete_as_moderator(self, case: Case, by: Somebody) -> None:
        kept = replace(case, kept=None)
        self._close(case, "upheld" if case.author is not by else None, by, is_kept=True)
        before = case.status
        self._wipe(case)
        case.kept = kept
        self._add("delete", case, before, "deleted", by=by)

    def _wipe(self, case: Case) -> None:
        case.status, case.decided_by, case.decided_in, case.appeal, case.kept = "deleted", None, None, None, None

    def _is_partial(self, case: Case, by: Somebody) -> bool:
        """Whether somebody else has to look at the appeal."""
        others = {one.id for one in self.people.values() if one.is_moderator} - {by.id}
        if case.author is by:
            return bool(others)
        return case.decided_by == by.id and bool(others - {case.author.id})

    def _restore(self, entry: Entry, case: Case, by: Somebody) -> int:
        kept = case.kept
        newest = next((one for one in reversed(self.log) if one.case is case and one.action == "delete"), None)
        if kept is None or newest is not entry:
            return 409
        case.status, case.decided_by, case.appeal, case.kept = kept.status, kept.decided_by, kept.appeal, None
        case.decided_in = kept.decided_in
        self._reopen(case)
        self._add("undo_delete", case, "deleted", kept.status, by=by)
        return 200
