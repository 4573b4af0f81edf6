"""Taking back what moderators did, for half a minute."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence

from msgspec import Struct

from threadkit.clock import Clock
from threadkit.comments.model import Status
from threadkit.comments.queries import CommentQueries
from threadkit.comments.scripts import UNDO_S
from threadkit.errors import Forbidden, NotFound, ThreadKitError
from threadkit.moderation.appeals import AppealService
from threadkit.moderation.decision_scripts import TooLateToUndo
from threadkit.moderation.decisions import AT_A_TIME, BATCH, DecisionService
from threadkit.moderation.deleting import Deleting
from threadkit.moderation.everywhere import BansEverywhere
from threadkit.moderation.impartiality import Impartiality
from threadkit.moderation.log import LogEntry, ModerationLog, stream_order
from threadkit.moderation.people import PeopleService
from threadkit.moderation.reports import ReportService
from threadkit.sites.model import Site
from threadkit.users.viewer import Viewer

_STATUSES = frozenset(Status) - {Status.DELETED}
STANDINGS = ("ban", "unban", "shadowban", "unshadowban")
EVERYWHERE = tuple(f"{deed}_everywhere" for deed in STANDINGS)


class NothingToUndo(NotFound):
    """There is no such action, or it was not one that can be undone."""

    code = "nothing_to_undo"


class Undone(Struct):
    """What came of each when many were taken back."""

    done: dict[str, str]
    """Entry of the log to the undoing's own entry."""
    failed: dict[str, str]
    """Entry of the log to the code of what went wrong."""


class UndoService:
    def __init__(
        self,
        *,
        clock: Clock,
        log: ModerationLog,
        comment_queries: CommentQueries,
        impartiality: Impartiality,
        decisions: DecisionService,
        deleting: Deleting,
        people: PeopleService,
        everywhere: BansEverywhere,
        reports: ReportService,
        appeals: AppealService,
    ) -> None:
        self._clock = clock
        self._log = log
        self._comment_queries = comment_queries
        self._impartiality = impartiality
        self._decisions = decisions
        self._deleting = deleting
        self._people = people
        self._everywhere = everywhere
        self._reports = reports
        self._appeals = appeals

    async def undo(self, site: Site, entry_id: str, *, by: Viewer) -> str:
        """Only if nobody has decided otherwise since. The answer is the undoing's own entry in the log."""
        entry = await self._log.entry(site.id, entry_id)
        if entry is None:
            raise NothingToUndo
        return await self._take_back(site, entry, by=by, asked_ms=self._clock.now_ms())

    async def undo_all(self, site: Site, entry_ids: Sequence[str], *, by: Viewer) -> Undone:
        """Each for itself: what fails is said and holds nobody up. What was asked for in time is done, though it takes a
        while. Whoever is no moderator any more after some of it does not do the rest."""
        asked_ms, undone = self._clock.now_ms(), Undone({}, {})
        turns = asyncio.Semaphore(AT_A_TIME)

        async def in_turn(entries: Sequence[LogEntry]) -> None:
            async with turns:
                for entry in entries:
                    try:
                        undone.done[entry.id] = await self._take_back(site, entry, by=by, asked_ms=asked_ms)
                    except ThreadKitError as error:
                        undone.failed[entry.id] = error.code

        may = True
        for number, level in enumerate(await self._levels(site, entry_ids, undone)):
            for start in range(0, len(level), BATCH):
                some = level[start : start + BATCH]
                may = may and (number + start == 0 or await self._decisions.may_still(by))
                if may:
                    await asyncio.gather(*(in_turn(entries) for entries in some))
                else:
                    undone.failed |= {entry.id: Forbidden.code for entries in some for entry in entries}
        return undone

    async def _levels(self, site: Site, entry_ids: Sequence[str], undone: Undone) -> list[list[list[LogEntry]]]:
        """The entries by what they are about, the newest first, in the order in which to take them: people, then comments
        from the roots down, because a reply can only come back to what is there."""
        about: dict[str, list[LogEntry]] = defaultdict(list)
        for entry_id in dict.fromkeys(entry_ids):
            entry = await self._log.entry(site.id, entry_id)
            if entry is None:
                undone.failed[entry_id] = NothingToUndo.code
            else:
                about[entry.comment_id or entry.user_id or ""].append(entry)
        comment_ids = [entries[0].comment_id for entries in about.values() if entries[0].comment_id]
        depths = {one.id: one.depth for one in await self._comment_queries.by_ids(site.id, comment_ids)}
        levels: dict[int, list[list[LogEntry]]] = defaultdict(list)
        for entries in about.values():
            comment_id = entries[0].comment_id
            newest_first = sorted(entries, key=lambda entry: stream_order(entry.id), reverse=True)
            levels[depths.get(comment_id, 0) if comment_id else -1].append(newest_first)
        return [levels[depth] for depth in sorted(levels)]

    async def _take_back(self, site: Site, entry: LogEntry, *, by: Viewer, asked_ms: int) -> str:
        if asked_ms - entry.at_ms > UNDO_S * 1000:
            raise TooLateToUndo(why="half a minute is over")
        if entry.comment_id is not None:
            await self._impartiality.check_undo(site.id, by.id, author_id=entry.user_id, decided_by=entry.by)
        if entry.action == "delete":
            return (await self._deleting.restore(site, entry, by=by)).entry_id
        if entry.action == "dismiss_reports":
            return await self._reports.reopen(site, entry, by=by)
        if entry.action in STANDINGS:
            return await self._people.take_back(site, entry, by=by)
        if entry.action in EVERYWHERE:
            return await self._everywhere.take_back(site, entry, by=by)
        if entry.action == "appeal_declined":
            return await self._appeals.take_back(site, entry, by=by)
        if _is_decision(entry):
            return (await self._decisions.take_back(site, entry, by=by)).entry_id
        raise NothingToUndo


def _is_decision(entry: LogEntry) -> bool:
    return entry.comment_id is not None and entry.before in _STATUSES and entry.after in _STATUSES
