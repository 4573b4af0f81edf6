"""The machine and the program: clocks, free space, versions, backups."""

import asyncio
import importlib.metadata
import platform
import shutil

from threadkit import __version__
from threadkit.backup.queries import LATE_S, backup_state
from threadkit.clock import from_iso
from threadkit.dependencies.floors import how_to_mend, too_old
from threadkit.doctor.checks.store import journal_bytes
from threadkit.doctor.model import Check
from threadkit.doctor.surroundings import About, Surroundings

STORE_DRIFT_MS, WORST_STORE_DRIFT_MS = 1_000, 5_000
BROWSER_DRIFT_MS = 60_000
LITTLE, VERY_LITTLE = 0.2, 0.1
OLDEST_BACKUP_S = 7 * 86_400

_clock = About("clock", "Clocks")
_disk = About("disk", "Disk space")
_versions = About("version", "Versions")
_backups = About("backups", "Backups")


async def clocks(here: Surroundings) -> Check:
    answer = await here.store.redis.time()
    now_ms = here.clock.now_ms()
    times = list(answer.values()) if isinstance(answer, dict) else [answer]  # each node of a cluster has a clock
    drift_ms = max(abs(seconds * 1000 + microseconds // 1000 - now_ms) for seconds, microseconds in times)
    fix = "Switch on time synchronisation (systemd-timesyncd, chrony) on both machines."
    if drift_ms > STORE_DRIFT_MS:
        found = f"The clocks of server and store differ by {drift_ms / 1000:,.1f} s."
        return _clock.bad(found, fix) if drift_ms > WORST_STORE_DRIFT_MS else _clock.warning(found, fix)
    browser_ms = here.asked.browser_ms if here.asked else None
    if browser_ms is not None and abs(browser_ms - now_ms) > BROWSER_DRIFT_MS:
        return _clock.warning(
            f"The clocks of server and browser differ by {abs(browser_ms - now_ms) / 1000:,.0f} s.",
            "One of them is wrong: switch on time synchronisation on the server, or on your own machine.",
        )
    return _clock.ok(f"Server and store agree to {drift_ms} ms.")


async def disk(here: Surroundings) -> Check:
    """The bundled store ends itself when it cannot write, so there must be room to write its journal anew."""
    folder = here.settings.data_folder
    try:
        usage = await asyncio.to_thread(shutil.disk_usage, folder)
    except OSError as error:
        return _disk.bad(f"The data folder {folder} cannot be looked at: {error.strerror}.", "Is --data right?")
    is_ours = here.settings.redis_url is None
    journal = await journal_bytes(here.store) if is_ours else 0
    share = usage.free / usage.total if usage.total else 0.0
    found = f"{usage.free / 1e9:,.1f} GB ({share:.0%}) are free"
    found += f", the journal has {journal / 1e9:,.2f} GB." if is_ours else "."
    fix = f"Make room on the disk of {folder.resolve()}."
    if share < VERY_LITTLE or usage.free < 2 * journal:
        return _disk.bad(found, fix)
    return _disk.warning(found, fix) if share < LITTLE or usage.free < 4 * journal else _disk.ok(found)


async def versions(here: Surroundings) -> Check:
    old = too_old()
    if old:
        return _versions.bad(f"Known security holes: {'; '.join(map(str, old))}.", how_to_mend(old))
    litestar = importlib.metadata.version("litestar")
    return _versions.ok(f"ThreadKit {__version__}, Python {platform.python_version()}, Litestar {litestar}.")


async def backups(here: Surroundings) -> Check:
    state = await asyncio.to_thread(backup_state, here.settings, here.clock)
    fix = "Make one with `threadkit backup create`, and let the server make one every day: backup.enabled = true"
    if state.failure is not None:
        return _backups.bad(
            f"The last one failed: {state.failure.why.rstrip('.')}.", "Mend that; the next is tried within an hour."
        )
    if state.age_s is None:
        born = await here.store.redis.hget(here.keys.shared.stamp(), "created_at")
        is_new = born is not None and here.clock.now_ms() - from_iso(born) < LATE_S * 1000
        if is_new and state.is_scheduled:
            return _backups.ok("The first one is made in the night to come.")
        return _backups.warning("There is none.", fix) if here.is_local else _backups.bad("There is none.", fix)
    found = f"The newest is {state.age_s // 3600:,.0f} hours old."
    if state.age_s > OLDEST_BACKUP_S:
        return _backups.bad(found, fix)
    return _backups.warning(found, fix) if state.is_late else _backups.ok(found)
