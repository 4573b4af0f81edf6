"""Whether the indexes of a copy follow from its records, as `threadkit rebuild --check` looks at it."""

from collections import Counter

from threadkit.clock import Clock
from threadkit.copying.model import CopyFailed
from threadkit.copying.service import OnProgress
from threadkit.copying.side import Side
from threadkit.rebuild.model import Report
from threadkit.rebuild.service import RebuildService
from threadkit.sites.queries import SiteQueries
from threadkit.storage.listener import Listener


async def check_agreement(source: Side, target: Side, *, clock: Clock, on_progress: OnProgress) -> Report:
    """What was found in the copy; refused when it is not what the source has as well."""
    copied = await _look(target, clock, "Checking the copy", on_progress)
    if copied.tallies:
        original = await _look(source, clock, "Checking the source", on_progress)
        known = Counter({(tally.kind, tally.what): tally.count for tally in original.tallies})
        new = [tally for tally in copied.tallies if tally.count > known[tally.kind, tally.what]]
        if new:
            sentences = "; ".join(tally.sentence(is_check=True) for tally in new)
            raise CopyFailed(f"Not everything in the copy agrees, though it does in the source: {sentences}.")
    return copied


async def _look(side: Side, clock: Clock, stage: str, on_progress: OnProgress) -> Report:
    store, keys = side.store, side.keys
    sites = SiteQueries(redis=store.redis, keys=keys, clock=clock, listener=Listener(store))
    rebuild = RebuildService(store=store, keys=keys, clock=clock, site_queries=sites)
    return await rebuild.run(
        site_id=None, is_check=True, on_progress=lambda done, total: on_progress(stage, done, total)
    )
