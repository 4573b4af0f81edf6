"""Does what is derived agree with the records, and is everything carried out? A few pages are looked at."""

from threadkit.doctor.model import Check
from threadkit.doctor.surroundings import About, Surroundings
from threadkit.sites.model import Site

OLDEST_MS = 60_000

_sample = About("indexes", "Indexes agree with the records")
_outbox = About("outbox", "Everything is carried out")


async def index_sample(here: Surroundings, site: Site) -> Check:
    report = await here.samples.sample(site.id)
    looked_at = f"{report.pages:,} pages and {report.comments:,} comments were looked at"
    if not report.tallies:
        return _sample.ok(f"They do: {looked_at}." if report.pages else "There is nothing to look at yet.")
    found = "; ".join(tally.sentence(is_check=True) for tally in report.tallies[:3])
    if any(tally.what == "damaged" for tally in report.tallies):
        return _sample.bad(f"{looked_at}: {found}.", "Some of it cannot be derived: see `threadkit doctor --deep`.")
    return _sample.bad(f"{looked_at}: {found}.", "threadkit rebuild")


async def outbox(here: Surroundings, site: Site) -> Check:
    [state] = await here.outboxes.states([site.id])
    waits_ms = 0 if state.oldest_ms is None else here.clock.now_ms() - state.oldest_ms
    if waits_ms > OLDEST_MS:
        where = "`threadkit worker`" if here.settings.outbox == "worker" else "the server"
        return _outbox.bad(
            f"{state.waiting:,} entries wait, the oldest for {waits_ms // 1000:,} s.",
            f"Is {where} running? See its log.",
        )
    if state.dead:
        return _outbox.warning(
            f"{state.dead:,} could not be carried out, and were given up.",
            "See why with `threadkit outbox dead`; then `threadkit outbox retry --all` or `drop --all`.",
        )
    return _outbox.ok(f"{state.waiting:,} wait, {state.retrying:,} are tried again, none was given up.")
