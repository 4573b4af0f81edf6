"""Taking back what a moderator did, for half a minute."""

from threadkit.clock import Clock
from threadkit.comments.model import Status
from threadkit.comments.scripts import UNDO_S
from threadkit.errors import NotFound
from threadkit.moderation.decisions import DecisionService
from threadkit.moderation.deleting import Deleting, TooLateToUndo
from threadkit.moderation.log import LogEntry, ModerationLog
from threadkit.moderation.people import PeopleService
from threadkit.moderation.reports import ReportService
from threadkit.sites.model import Site
from threadkit.users.viewer import Viewer

_STATUSES = frozenset(Status) - {Status.DELETED}
STANDINGS = ("ban", "unban", "shadowban", "unshadowban")


class NothingToUndo(NotFound):
    """There is no such action, or it was not one that can be undone."""

    code = "nothing_to_undo"


class UndoService:
    def __init__(
        self,
        *,
        clock: Clock,
        log: ModerationLog,
        decisions: DecisionService,
        deleting: Deleting,
        people: PeopleService,
        reports: ReportService,
    ) -> None:
        self._clock = clock
        self._log = log
        self._decisions = decisions
        self._deleting = deleting
        self._people = people
        self._reports = reports

    async def undo(self, site: Site, entry_id: str, *, by: Viewer) -> str:
        """Only if nobody has decided otherwise since. The answer is the undoing's own entry in the log."""
        entry = await self._log.entry(site.id, entry_id)
        if entry is None:
            raise NothingToUndo
        if self._clock.now_ms() - entry.at_ms > UNDO_S * 1000:
            raise TooLateToUndo(why="half a minute is over")
        if entry.action == "delete":
            return (await self._deleting.restore(site, entry, by=by)).entry_id
        if entry.action == "dismiss_reports":
            return await self._reports.reopen(site, entry, by=by)
        if entry.action in STANDINGS:
            return await self._people.take_back(site, entry, by=by)
        if _is_decision(entry):
            return (await self._decisions.take_back(site, entry, by=by)).entry_id
        raise NothingToUndo


def _is_decision(entry: LogEntry) -> bool:
    return entry.comment_id is not None and entry.before in _STATUSES and entry.after in _STATUSES
