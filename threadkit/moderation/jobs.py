"""Deleting all that somebody wrote here: a little at once, the rest in the background, step by step through the outbox.

A step is one event: it takes away one batch, and the script that notes how far that went appends the event of the next
step. So a job goes on wherever a worker runs, whoever crashes in between, and a step that is done twice counts once.
"""

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from threadkit.clock import Clock
from threadkit.ids import CommentId, SiteId, UserId, new_uuid
from threadkit.moderation.people_model import HigherRole, Job, JobIsOver, JobNotFound, JobState
from threadkit.moderation.people_scripts import SaveJob, StartJob
from threadkit.moderation.removing import Remover
from threadkit.moderation.standing import StandingQueries
from threadkit.outbox.handlers import Event, Handlers
from threadkit.outbox.model import NotUnderstood
from threadkit.sites.model import Site
from threadkit.sites.roles import Role
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.users.queries import UserQueries
from threadkit.users.viewer import Viewer

BATCH = 50
STEPS_AT_ONCE = 2
"""So many are done while a ban waits for its answer."""
MOST_TRIES = 20


class _Step(Struct):
    job_id: str
    step: int


class JobService:
    def __init__(
        self,
        *,
        redis: Commands,
        keys: Keys,
        clock: Clock,
        standing: StandingQueries,
        user_queries: UserQueries,
        remover: Remover,
        wake_outbox: Callable[[SiteId], None],
    ) -> None:
        self._redis = redis
        self._keys = keys
        self._clock = clock
        self._standing = standing
        self._user_queries = user_queries
        self._remover = remover
        self._wake_outbox = wake_outbox
        self._start_job = StartJob(redis, keys)
        self._save_job = SaveJob(redis, keys)

    def register(self, handlers: Handlers) -> None:
        handlers.on("delete_comments", "delete_comments", self.go_on)

    async def start(self, site: Site, user_id: UserId, *, by: UserId | None) -> Job:
        """Begin; where the same is under way already, that job is the answer."""
        job = Job(
            id=new_uuid(),
            user_id=user_id,
            by=by,
            state="running",
            started_ms=self._clock.now_ms(),
            total=await self._redis.zcard(self._keys.site(site.id).comments_of(user_id)),
        )
        running = await self._start_job(
            site.id, job, event=_event(job), entry=self._entry(site.id, job, "delete_comments", by=by)
        )
        self._wake_outbox(site.id)
        return running

    async def delete_now(self, site: Site, user_id: UserId, *, by: UserId | None) -> Job:
        """Begin, and take the newest away at once; whatever fails then, the job sees to it."""
        job = await self.start(site, user_id, by=by)
        for _ in range(STEPS_AT_ONCE):
            if job.state == "running":
                await self._step(site.id, job)
                job = await self.one(site.id, job.id)
        return job

    async def newest(self, site_id: SiteId) -> list[Job]:
        """Newest first; the last hundred are kept."""
        stored = await self._redis.hvals(self._keys.site(site_id).jobs())
        found = [msgspec.json.decode(text, type=Job) for text in stored]
        return sorted(found, key=lambda job: job.id, reverse=True)

    async def one(self, site_id: SiteId, job_id: str) -> Job:
        stored = await self._redis.hget(self._keys.site(site_id).jobs(), job_id)
        if stored is None:
            raise JobNotFound
        return msgspec.json.decode(stored, type=Job)

    async def cancel(self, site: Site, job_id: str, *, by: Viewer) -> Job:
        """What is deleted stays deleted. One's own, or that of somebody with a lower role."""
        for _ in range(MOST_TRIES):
            job = await self.one(site.id, job_id)
            if job.state != "running":
                raise JobIsOver(state=job.state)
            if job.by != by.id and by.role <= await self._role_behind(site.id, job):
                raise HigherRole(deed="cancel a job of")
            ended = await self._end(site.id, job, "cancelled", None, by=by.id)
            if ended is not None:
                return ended
        raise JobIsOver(state="not to be held")

    async def go_on(self, site_id: SiteId, entry_id: str, event: Event) -> None:
        """One step of a job: the handler of the outbox."""
        try:
            asked = msgspec.convert(event, _Step)
        except msgspec.ValidationError as error:
            raise NotUnderstood(f"delete_comments: {error}") from None
        stored = await self._redis.hget(self._keys.site(site_id).jobs(), asked.job_id)
        if stored is None:
            return  # so old that it was forgotten, or its site is
        job = msgspec.json.decode(stored, type=Job)
        if job.state == "running" and job.step == asked.step:  # else cancelled, or done before
            await self._step(site_id, job)

    async def _step(self, site_id: SiteId, job: Job) -> None:
        if why := await self._why_not(site_id, job):
            await self._end(site_id, job, "stopped", why, by=job.by)
            return
        batch, after = await self._next_batch(site_id, job)
        deleted = await self._remover.remove(site_id, job.user_id, batch, removal=job.id, by=job.by, most=BATCH)
        after = replace(after, deleted=job.deleted + deleted, step=job.step + 1)
        if len(batch) < BATCH:
            await self._end(site_id, job, "done", None, by=job.by, after=after)
            return
        await self._save_job(site_id, job, after, event=_event(after))
        self._wake_outbox(site_id)

    async def _why_not(self, site_id: SiteId, job: Job) -> str | None:
        """Why whoever began a job may not go on with it."""
        if job.by is None:
            return None
        who = await self._user_queries.by_id(job.by)
        own, theirs = await self._standing.of(site_id, job.by), await self._standing.of(site_id, job.user_id)
        if who is None or own.role < Role.MODERATOR or own.is_banned or who.global_banned:
            return "whoever began it is no moderator any more"
        return None if own.role > theirs.role else "whoever it is about has an equal or higher role by now"

    async def _role_behind(self, site_id: SiteId, job: Job) -> Role:
        """Whoever runs the server counts like an admin, so that owners can stop what they began there."""
        return (await self._standing.of(site_id, job.by)).role if job.by else Role.ADMIN

    async def _next_batch(self, site_id: SiteId, job: Job) -> tuple[list[CommentId], Job]:
        """The next comments, newest first, and the place behind them. Many may have been written in one millisecond."""
        found = await self._redis.zrange(
            self._keys.site(site_id).comments_of(job.user_id),
            "+inf" if job.cursor_ms is None else job.cursor_ms,
            "-inf",
            desc=True,
            byscore=True,
            offset=job.skip,
            num=BATCH,
            withscores=True,
        )
        if not found:
            return [], job
        last = int(found[-1][1])
        at_last = sum(1 for _, score in found if int(score) == last)
        skip = at_last + (job.skip if last == job.cursor_ms else 0)
        after = replace(job, cursor_ms=last, skip=skip, done=job.done + len(found))
        return [CommentId(comment_id) for comment_id, _ in found], after

    async def _end(
        self,
        site_id: SiteId,
        job: Job,
        state: JobState,
        why: str | None,
        *,
        by: UserId | None,
        after: Job | None = None,
    ) -> Job | None:
        """None when the job is not where it was read any more."""
        ended = replace(after or job, state=state, reason=why, ended_ms=self._clock.now_ms())
        entry = self._entry(site_id, ended, f"delete_comments_{state}", by=by) | {"count": ended.deleted}
        return ended if await self._save_job(site_id, job, ended, entry=entry) else None

    def _entry(self, site_id: SiteId, job: Job, action: str, *, by: UserId | None) -> dict[str, Any]:
        facts: dict[str, Any] = {"site_id": site_id, "action": action, "user_id": job.user_id, "by": by}
        return facts | {"reason": job.reason, "at_ms": self._clock.now_ms(), "job_id": job.id}


def _event(job: Job) -> bytes:
    return msgspec.json.encode({"type": "delete_comments", "job_id": job.id, "step": job.step})
