"""How somebody stands on a site, what is being done about them, and what moderators noted. No I/O here."""

from typing import Literal

from msgspec import Struct

from threadkit.clock import iso
from threadkit.errors import Conflict, Forbidden, Invalid, NotFound
from threadkit.ids import UserId
from threadkit.sites.roles import Role

List = Literal["ban", "shadowban"]
JobState = Literal["running", "done", "cancelled", "stopped"]


class CannotBanOneself(Invalid):
    """Cannot {deed} yourself"""

    code = "cannot_ban_oneself"


class HigherRole(Forbidden):
    """Cannot {deed} a user with an equal or higher role"""

    code = "higher_role"


class StandsOtherwise(Conflict):
    """Somebody has decided otherwise about this person since"""

    code = "stands_otherwise"


class NotOwnerEverywhere(Forbidden):
    """Only who owns every site of this server can do this; on the server itself: threadkit user ban --everywhere"""

    code = "not_owner_everywhere"


class JobNotFound(NotFound):
    """There is no such job"""

    code = "job_not_found"


class JobIsOver(Conflict):
    """This job is over: {state}"""

    code = "job_is_over"


class TooManyJobs(Conflict):
    """Too many jobs are under way on this site. Wait for one to end."""

    code = "too_many_jobs"


class NoteNotFound(NotFound):
    """There is no such note"""

    code = "note_not_found"


class NotYourNote(Forbidden):
    """Only its author or an admin can delete a note"""

    code = "not_your_note"


class TooManyNotes(Conflict):
    """There are {most} notes about this person already. Delete one first."""

    code = "too_many_notes"


class Mark(Struct, frozen=True, kw_only=True):
    """Why somebody is on a list of the site; the JSON in `site:{id}:standings`."""

    by: UserId | None
    reason: str | None
    at_ms: int
    state: str = "on"
    """What the log says it is: `on`, or `until` and a time."""
    entry: str | None = None
    """The entry of the log that tells of it."""


class Standing(Struct, frozen=True, kw_only=True):
    """How somebody stands on one site."""

    role: Role
    """Staff or not, whether they are banned or not."""
    is_banned: bool
    until_ms: int | None
    is_shadowed: bool
    ban: Mark | None
    shadow: Mark | None


class Job(Struct, frozen=True, kw_only=True):
    """Everything of one person's is being deleted; the JSON in `site:{id}:jobs`.

    Comments are gone through from the newest back: `cursor_ms` and `skip` are the place, `step` counts how often it moved.
    """

    id: str
    user_id: UserId
    by: UserId | None
    """None is whoever runs the server."""
    state: JobState
    started_ms: int
    total: int
    done: int = 0
    deleted: int = 0
    reason: str | None = None
    ended_ms: int | None = None
    step: int = 0
    cursor_ms: int | None = None
    skip: int = 0


class JobView(Struct, kw_only=True):
    """A job on the wire. `done` of `total` comments were looked at, and `deleted` of them were still there."""

    id: str
    user_id: UserId
    by: UserId | None
    state: JobState
    done: int
    total: int
    deleted: int
    started_at: str
    ended_at: str | None
    reason: str | None

    @classmethod
    def of(cls, job: Job) -> "JobView":
        return cls(
            id=job.id,
            user_id=job.user_id,
            by=job.by,
            state=job.state,
            done=job.done,
            total=job.total,
            deleted=job.deleted,
            started_at=iso(job.started_ms),
            ended_at=iso(job.ended_ms) if job.ended_ms else None,
            reason=job.reason,
        )


class Note(Struct, frozen=True, kw_only=True):
    """What a moderator wrote down about somebody."""

    id: str
    by: UserId
    text: str
    at_ms: int
