"""The backup of the day: made by one of all servers, in a process of its own."""

import asyncio
import contextlib
import sys
from datetime import datetime, timedelta

import msgspec
import structlog
from redis.exceptions import RedisError

from threadkit.backup.child import Task
from threadkit.backup.folder import BackupFolder
from threadkit.backup.model import WRONG_CLOCK_MS, BackupFailed, Failure
from threadkit.clock import Clock, from_iso
from threadkit.ids import random_text
from threadkit.settings import Settings
from threadkit.storage.bundled import die_with_parent
from threadkit.storage.claims import Release
from threadkit.storage.client import Store
from threadkit.storage.keys import Keys

log = structlog.get_logger()

LOOK_S = 30.0
LEASE_S = 60
AGAIN_MS = 3_600_000  # after a failure


class BackupSchedule:
    """Every server process looks twice a minute; a lease lets one of them work. Missed ones are made up for."""

    def __init__(self, *, store: Store, keys: Keys, clock: Clock, settings: Settings, fingerprint: str) -> None:
        self._redis = store.redis
        self._keys = keys
        self._clock = clock
        self._settings = settings
        self._folder = BackupFolder(settings.backup_folder)
        self._task_of_child = Task(
            address=store.address,
            settings=settings,
            tagged=keys.tagged,
            fingerprint=fingerprint,
        )
        self._release = Release(store.redis)
        self._name = random_text(16)
        self._task: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()

    async def start(self) -> None:
        if self._settings.backup.enabled:
            self._task = asyncio.create_task(self._run(), name="backups")

    async def stop(self) -> None:
        """A backup under way is given up; the next server makes it."""
        self._stopping.set()
        if self._task:
            await self._task

    async def look(self) -> None:
        """Make a backup if there is one to make now."""
        if not await self._is_due():
            return
        try:
            await self._make_alone()
        except (RedisError, OSError) as error:
            self._failed(str(error))

    async def _make_alone(self) -> None:
        lease = self._keys.shared.backup_lease()
        if not await self._redis.set(lease, self._name, nx=True, ex=LEASE_S):
            return
        try:
            if await self._is_due():  # asked again, now that nobody else makes one
                await self._redis.hset(self._keys.shared.backups(), "tried_ms", str(self._clock.now_ms()))
                await self._make()
        finally:
            with contextlib.suppress(RedisError, OSError):  # it runs out by itself
                await self._release(lease, self._name)

    async def _is_due(self) -> bool:
        known = await self._redis.hgetall(self._keys.shared.backups())
        # A new store waits for its first night.
        born = await self._redis.hget(self._keys.shared.stamp(), "created_at")
        now_ms = self._clock.now_ms()
        done_ms, tried_ms, born_ms = (
            ms if ms <= now_ms + WRONG_CLOCK_MS else 0  # a clock was wrong, and nothing is known
            for ms in (int(known.get("done_ms", 0)), int(known.get("tried_ms", 0)), from_iso(born) if born else 0)
        )
        return max(done_ms, born_ms) < self._last_time_ms(now_ms) and tried_ms < now_ms - AGAIN_MS

    def _last_time_ms(self, now_ms: int) -> int:
        """When the clock on this machine last showed the time of the setting."""
        now = datetime.fromtimestamp(now_ms / 1000).astimezone()
        hour, minute = map(int, self._settings.backup.at.split(":"))
        today = now.replace(hour=hour, minute=minute, second=0, microsecond=0)
        last = today if today <= now else today - timedelta(days=1)
        return int(last.timestamp() * 1000)

    async def _make(self) -> None:
        log.info("backup_begins", folder=str(self._folder.path))
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "threadkit.backup.child"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=die_with_parent,
        )
        work = asyncio.create_task(child.communicate(msgspec.json.encode(self._task_of_child)))
        try:
            while not work.done():
                await self._redis.expire(self._keys.shared.backup_lease(), LEASE_S)
                stop = asyncio.create_task(self._stopping.wait())
                await asyncio.wait({work, stop}, timeout=LEASE_S / 3, return_when=asyncio.FIRST_COMPLETED)
                stop.cancel()
                if self._stopping.is_set():
                    return
        finally:
            if child.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    child.terminate()
            said, _ = await work
        self._tell(child.returncode or 0, said.decode(errors="replace").strip())

    def _tell(self, code: int, said: str) -> None:
        if code == 0:
            log.info("backup_ends", file=said)
            return
        self._failed(said.splitlines()[-1] if said else f"it ended with code {code}")

    def _failed(self, why: str) -> None:
        """The doctor tells it until a backup was made."""
        log.error("backup_failed", why=why)
        with contextlib.suppress(OSError, BackupFailed):
            self._folder.note_failure(Failure(self._clock.now_ms(), why))

    async def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                await self.look()
            except (RedisError, OSError) as error:
                log.warning("backup_waits", why=str(error))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), LOOK_S)
