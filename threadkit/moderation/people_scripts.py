"""Atomic writes about people: their standing on a site, jobs about them, notes."""

from typing import Any

import msgspec

from threadkit.ids import SiteId, UserId
from threadkit.moderation.people_model import HigherRole, Job, List, Mark, Note, StandsOtherwise, TooManyJobs
from threadkit.storage.lua import KeyedScript

MOST_JOBS = 100
MOST_NOTES = 100
LOOKED_FOR_AMONG = 500


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


class SetStanding(KeyedScript):
    """Saying the same again changes nothing, so a lost answer may be asked for again."""

    file = "set_standing.lua"
    makes_room = True
    repeatable = True

    async def __call__(
        self,
        site_id: SiteId,
        user_id: UserId,
        which: List,
        mark: Mark | None,
        *,
        until_ms: int | None,
        now_ms: int,
        by: UserId | None,
        entry: dict[str, Any],
        event: bytes = b"",
        expects: str = "",
        undoes: str = "",
    ) -> str | None:
        """The id of the log entry; None when it was so already. Without a mark they are taken off the list. `undoes` is
        the entry that must have put them on it, if they are."""
        keys = self._keys.site(site_id)
        reply = await self._run(
            keys=[
                keys.blocked() if which == "ban" else keys.shadowbanned(),
                keys.ban_ends(),
                keys.standings(),
                keys.modlog(),
                keys.outbox(),
                keys.owners(),
                keys.admins(),
                keys.moderators(),
            ],
            args=[
                user_id,
                "on" if mark else "off",
                which,
                until_ms or "",
                now_ms,
                by or "",
                _json(mark or {}),
                _json(entry),
                event.decode(),
                expects,
                undoes,
            ],
        )
        match reply:
            case ["OK", entry_id]:
                return str(entry_id)
            case ["HIGHER"]:
                raise HigherRole(deed=entry["action"])
            case ["OTHERWISE"]:
                raise StandsOtherwise
        return None


class NoteDeed(KeyedScript):
    file = "note_deed.lua"
    makes_room = True
    repeatable = True

    async def __call__(self, site_id: SiteId, deed_id: str, entry: dict[str, Any], event: bytes) -> str:
        """The id of the log entry."""
        keys = self._keys.site(site_id)
        args: list[str | int] = [deed_id, _json(entry), LOOKED_FOR_AMONG, event.decode()]
        return str(await self._run(keys=[keys.modlog(), keys.outbox()], args=args))


class StartJob(KeyedScript):
    file = "start_job.lua"
    repeatable = True

    async def __call__(self, site_id: SiteId, job: Job, *, event: bytes, entry: dict[str, Any]) -> Job:
        """The job that is under way: this one, or one that began before."""
        keys = self._keys.site(site_id)
        stored = await self._run(
            keys=[keys.jobs(), keys.outbox(), keys.modlog()],
            args=[job.id, _json(job), job.user_id, MOST_JOBS, event.decode(), _json(entry)],
        )
        if not stored:
            raise TooManyJobs
        return msgspec.json.decode(stored, type=Job)


class SaveJob(KeyedScript):
    file = "save_job.lua"

    async def __call__(
        self, site_id: SiteId, before: Job, after: Job, *, event: bytes = b"", entry: dict[str, Any] | None = None
    ) -> bool:
        """False when it is not where it was read any more."""
        keys = self._keys.site(site_id)
        return bool(
            await self._run(
                keys=[keys.jobs(), keys.outbox(), keys.modlog()],
                args=[before.id, before.step, _json(after), event.decode(), _json(entry) if entry else ""],
            )
        )


class AddNote(KeyedScript):
    file = "add_note.lua"
    repeatable = True

    async def __call__(self, site_id: SiteId, user_id: UserId, note: Note) -> bool:
        """False when there are as many as there may be."""
        keys = self._keys.site(site_id)
        return bool(await self._run(keys=[keys.notes_about(user_id)], args=[note.id, _json(note), MOST_NOTES]))
