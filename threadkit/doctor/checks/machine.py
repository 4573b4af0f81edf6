"""The machine and the program: clocks, free space, versions, backups."""

import asyncio
import importlib.metadata
import platform
import shutil

from threadkit import __version__
from threadkit.backup.queries import LATE_S, backup_state
from threadkit.clock import SystemClock, from_iso
from threadkit.dependencies.floors import too_old
from threadkit.doctor.checks.store import journal_bytes
from threadkit.doctor.model import Check
from threadkit.doctor.surroundings import Surroundings
from threadkit.storage.room import Room

STORE_DRIFT_MS, WORST_STORE_DRIFT_MS = 1_000, 5_000
BROWSER_DRIFT_MS = 60_000
LITTLE, VERY_LITTLE = 0.2, 0.1
OLDEST_BACKUP_S = 7 * 86_400


async def clocks(here: Surroundings) -> Check:
    about = here.about("clock")
    answer = await here.store.redis.time()
    now_ms = here.clock.now_ms()
    times = list(answer.values()) if isinstance(answer, dict) else [answer]  # each node of a cluster has a clock
    ours = (now_ms, SystemClock.machine_ms())  # the first follows the store's
    drift_ms = max(abs(seconds * 1000 + microseconds // 1000 - our) for seconds, microseconds in times for our in ours)
    if drift_ms > STORE_DRIFT_MS:
        tell = about.bad if drift_ms > WORST_STORE_DRIFT_MS else about.warning
        return tell("store", seconds=round(drift_ms / 1000, 1))
    browser_ms = here.asked.browser_ms if here.asked else None
    if browser_ms is not None and abs(browser_ms - now_ms) > BROWSER_DRIFT_MS:
        return about.warning("browser", seconds=round(abs(browser_ms - now_ms) / 1000))
    return about.ok("well", ms=drift_ms)


async def disk(here: Surroundings) -> Check:
    """The bundled store ends itself when it cannot write, so there must be room to write its journal anew."""
    about, folder = here.about("disk"), here.settings.data_folder
    try:
        usage = await asyncio.to_thread(shutil.disk_usage, folder)
    except OSError as error:
        return about.bad("unseen", folder=str(folder), why=error.strerror or "")
    is_ours = here.settings.redis_url is None
    journal = await journal_bytes(here.store) if is_ours else 0
    room = Room(usage.free, journal, here.settings.store.least_free_mb * 10**6)
    if is_ours and room.is_short:
        megabytes = {"free": round(room.free / 1e6), "needed": round(room.needed / 1e6)}
        return about.bad("refusing", **megabytes, folder=str(folder.resolve()))
    share = usage.free / usage.total if usage.total else 0.0
    tell = about.ok
    if share < VERY_LITTLE or usage.free < 2 * journal:
        tell = about.bad
    elif share < LITTLE or usage.free < 4 * journal:
        tell = about.warning
    return tell(
        "free_and_journal" if is_ours else "free",
        free=round(usage.free / 1e9, 1),
        percent=round(share * 100),
        journal=round(journal / 1e9, 2),
        folder=str(folder.resolve()),
    )


async def versions(here: Surroundings) -> Check:
    about = here.about("version")
    if old := too_old():
        return about.bad(
            "old",
            parts=[f"{each.floor.package} {each.found} ({each.floor.known_as})" for each in old],
            floors=[f"{each.floor.package} {each.floor.version}" for each in old],
        )
    litestar = importlib.metadata.version("litestar")
    return about.ok("well", threadkit=__version__, python=platform.python_version(), litestar=litestar)


async def backups(here: Surroundings) -> Check:
    about = here.about("backups")
    state = await asyncio.to_thread(backup_state, here.settings, here.clock)
    if state.failure is not None:
        return about.bad("failed", why=state.failure.why.rstrip("."))
    if state.age_s is None:
        born = await here.store.redis.hget(here.keys.shared.stamp(), "created_at")
        is_new = born is not None and here.clock.now_ms() - from_iso(born) < LATE_S * 1000
        if is_new and state.is_scheduled:
            return about.ok("first")
        return about.warning("missing") if here.is_local else about.bad("missing")
    tell = about.ok
    if state.age_s > OLDEST_BACKUP_S:
        tell = about.bad
    elif state.is_late:
        tell = about.warning
    return tell("newest", hours=int(state.age_s // 3600))
