"""Does what is derived agree with the records, and is everything carried out? A few pages are looked at."""

from threadkit.doctor.model import Check
from threadkit.doctor.surroundings import Surroundings
from threadkit.sites.model import Site

OLDEST_MS = 60_000


async def index_sample(here: Surroundings, site: Site) -> Check:
    about = here.about("indexes")
    report = await here.samples.sample(site.id)
    if not report.tallies:
        if not report.pages:
            return about.ok("empty")
        return about.ok("well", pages=report.pages, comments=report.comments)
    found = here.words.clauses(
        [
            here.words(f"indexes.what_{tally.what}", kind=tally.kind, count=tally.count, examples=tally.examples)
            for tally in report.tallies[:3]
        ]
    )
    is_damaged = any(tally.what == "damaged" for tally in report.tallies)
    return about.bad("damaged" if is_damaged else "wrong", pages=report.pages, comments=report.comments, findings=found)


async def outbox(here: Surroundings, site: Site) -> Check:
    about = here.about("outbox")
    [state] = await here.outboxes.states([site.id])
    waits_ms = 0 if state.oldest_ms is None else here.clock.now_ms() - state.oldest_ms
    if waits_ms > OLDEST_MS:
        is_worker = here.settings.outbox == "worker"
        return about.bad(
            "worker_stuck" if is_worker else "server_stuck", waiting=state.waiting, seconds=waits_ms // 1000
        )
    if state.dead:
        return about.warning("dead", dead=state.dead)
    return about.ok("well", waiting=state.waiting, retrying=state.retrying)
