"""`threadkit loadgen`."""

import secrets
from datetime import UTC, datetime

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from threadkit.cli.common import find_site, json_option, out, print_json, store_options, with_services
from threadkit.errors import InvalidParameter
from threadkit.loadgen.service import DAY_MS, MOST, Load, LoadService, Made, SiteHasComments, skewed_pages
from threadkit.loadgen.shapes import MadePage
from threadkit.pages.model import LONGEST_URL
from threadkit.services import Services
from threadkit.sites.model import Site

_STAGES = {"users": "People", "comments": "Comments", "votes": "Votes", "effects": "Karma and totals"}


@click.command()
@click.option("--site", "wanted", required=True, metavar="SITE", help="Id, public key, domain or name of the site.")
@click.option("--comments", type=click.IntRange(1, MOST), required=True, help="How many comments to write.")
@click.option("--users", type=click.IntRange(1, MOST), help="How many people write and vote (default: a quarter).")
@click.option("--votes", type=click.IntRange(0, MOST), help="How many votes they give (default: twice as many).")
@click.option("--pages", type=click.IntRange(1, MOST), help="On how many pages (default: one for every 40).")
@click.option("--page-url", metavar="URL", help="Write everything on this one page.")
@click.option("--seed", help="The same seed on an empty site gives the same data, down to the ids.")
@click.option(
    "--until",
    type=click.DateTime(["%Y-%m-%d"]),
    help="No comment is newer than this day's beginning in UTC (default: today).",
)
@click.option("--yes", is_flag=True, help="Also where there are comments already.")
@json_option
@store_options
@with_services
async def loadgen(
    services: Services,
    wanted: str,
    comments: int,
    users: int | None,
    votes: int | None,
    pages: int | None,
    page_url: str | None,
    seed: str | None,
    until: datetime | None,
    yes: bool,
    as_json: bool,
) -> None:
    """Fill SITE with made-up comments, to try things out and to measure.

    Few pages get most of the comments, half of them are replies, votes go to few, and all of it is spread over the past
    year. It is written with the scripts that write real comments. There is no command that takes it away again.
    """
    site = await find_site(services, wanted)
    service = LoadService(redis=services.store.redis, keys=services.keys, clock=services.clock, outbox=services.outbox)
    there = await service.comments_of(site)
    if there and not yes:
        raise SiteHasComments(site=site.name, count=f"{there:,}")
    seed = secrets.token_hex(4) if seed is None else seed
    load = Load(
        pages=_pages(site, comments, pages, page_url, seed),
        users=users or max(2, comments // 4),
        votes=comments * 2 if votes is None else votes,
        # What is there already has ids of the same seed, perhaps.
        seed=f"{seed}+{there}" if there else seed,
        until_ms=_until_ms(services, until),
    )
    if load.votes > load.users * comments:
        raise InvalidParameter(name="--votes", why="must be at most users × comments, because nobody votes twice")
    made = await _with_progress(service, site, load)
    if as_json:
        print_json(made)
    else:
        _print(site, made)


def _pages(site: Site, comments: int, pages: int | None, page_url: str | None, seed: str) -> tuple[MadePage, ...]:
    if page_url is None:
        return skewed_pages(site.domain, comments, pages or max(1, comments // 40), seed)
    if pages not in (None, 1):
        raise InvalidParameter(name="--pages", why="cannot be given together with --page-url")
    if not 1 <= len(page_url) <= LONGEST_URL:
        raise InvalidParameter(name="--page-url", why=f"must have 1 to {LONGEST_URL} characters")
    return (MadePage(page_url, "A story", comments),)


def _until_ms(services: Services, until: datetime | None) -> int:
    if until is None:
        return services.clock.now_ms() // DAY_MS * DAY_MS
    until_ms = int(until.replace(tzinfo=UTC).timestamp() * 1000)
    if not 10 * 365 * DAY_MS <= until_ms <= services.clock.now_ms():
        raise InvalidParameter(name="--until", why="must be a day between 1980 and now")
    return until_ms


async def _with_progress(service: LoadService, site: Site, load: Load) -> Made:
    columns = (TextColumn("{task.description:<16}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=out, disable=not out.is_terminal) as progress:
        totals = {"users": load.users, "comments": load.comments, "votes": load.votes, "effects": None}
        tasks = {stage: progress.add_task(_STAGES[stage], total=total) for stage, total in totals.items()}
        return await service.fill(site, load, tell=lambda stage, count: progress.advance(tasks[stage], count))


def _print(site: Site, made: Made) -> None:
    out.print(
        f"{site.name} now has {made.comments:,} more comments on {made.pages:,} pages, by {made.users:,} people who "
        f"voted {made.votes:,} times. It took {made.seconds:.1f} s; the seed was {made.seed}.",
    )
    if made.effects_wait:
        out.print(f"{made.effects_wait:,} changes of karma and totals wait for the next server.")
