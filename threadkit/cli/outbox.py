"""`threadkit outbox`: what waits to be carried out, and what could not be."""

import click

from threadkit.cli.common import (
    Sentences,
    fail,
    find_site,
    json_option,
    out,
    print_json,
    print_table,
    store_options,
    with_services,
)
from threadkit.clock import iso
from threadkit.ids import SiteId
from threadkit.outbox.model import FoundDead
from threadkit.services import Services
from threadkit.sites.model import Site

_site_option = click.option("--site", "wanted", metavar="SITE", help="Only this site: id, public key, domain or name.")
_all_option = click.option("--all", "is_all", is_flag=True, help="All of them, instead of naming each.")


class _ShownByDefault(Sentences):
    """`threadkit outbox` is `threadkit outbox show`."""

    default = "show"


@click.group(cls=_ShownByDefault)
def outbox() -> None:
    """Show what waits to be carried out, and look after what could not be."""


@outbox.command()
@_site_option
@json_option
@store_options
@with_services
async def show(services: Services, wanted: str | None, as_json: bool) -> None:
    """Show each site's outbox (the default): what waits, what is tried again, what was given up."""
    sites = await _sites(services, wanted)
    states = await services.outbox_queries.states(list(sites))
    if as_json:
        print_json(
            [
                {
                    "site_id": state.site_id,
                    "site": sites[state.site_id].name,
                    "waiting": state.waiting,
                    "oldest_waits_since": _time(state.oldest_ms),
                    "retrying": state.retrying,
                    "next_try": _time(state.next_try_ms),
                    "dead": state.dead,
                }
                for state in states
            ]
        )
        return
    now_ms = services.clock.now_ms()
    rows = [
        [
            sites[state.site_id].name,
            _number_and(state.waiting, _since(now_ms, state.oldest_ms)),
            _number_and(state.retrying, _until(now_ms, state.next_try_ms)),
            str(state.dead),
        ]
        for state in states
    ]
    print_table(
        ["Site", "Waiting", "Retrying", "Dead"], rows, empty="There is no site yet: threadkit site create NAME DOMAIN"
    )
    if states and not any(state.waiting or state.retrying or state.dead for state in states):
        out.print("\nEverything has been carried out.")
    if any(state.dead for state in states):
        out.print("\nWhy letters are dead: threadkit outbox dead")


@outbox.command()
@_site_option
@click.option("--limit", type=click.IntRange(1, 10_000), default=100, show_default=True, help="At most this many.")
@json_option
@store_options
@with_services
async def dead(services: Services, wanted: str | None, limit: int, as_json: bool) -> None:
    """List dead letters: what was given up, when, after how many tries, and why. The newest come last."""
    sites = await _sites(services, wanted)
    found = sorted(await services.dead_letters.all(list(sites)), key=lambda letter: letter.died_ms)
    letters = found[-limit:]
    if as_json:
        print_json([_described(letter, sites[letter.site_id]) for letter in letters])
        return
    rows = [
        [
            letter.id,
            sites[letter.site_id].name,
            iso(letter.died_ms),
            letter.letter.handler or "–",
            str(letter.letter.tries),
            letter.letter.why or "–",
        ]
        for letter in letters
    ]
    print_table(["Id", "Site", "Given up", "Handler", "Tries", "Why"], rows, empty="There are no dead letters.")
    if len(letters) < len(found):
        out.print(f"\n{len(found) - len(letters)} older ones are not shown: --limit {len(found)}")
    if letters:
        out.print("\nTry them again: threadkit outbox retry ID… (or --all) · Remove them: threadkit outbox drop ID…")


@outbox.command()
@click.argument("ids", nargs=-1, metavar="[ID]...")
@_all_option
@_site_option
@json_option
@store_options
@with_services
async def retry(services: Services, ids: tuple[str, ...], is_all: bool, wanted: str | None, as_json: bool) -> None:
    """Put dead letters back: each is tried at once, and gets all its tries anew."""
    letters = await _chosen(services, ids, is_all, wanted)
    done = await services.dead_letters.put_back(letters)
    _tell(as_json, "put_back", done, "There are no dead letters.", f"{_letters(done)} put back.")


@outbox.command()
@click.argument("ids", nargs=-1, metavar="[ID]...")
@_all_option
@_site_option
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@store_options
@with_services
async def drop(
    services: Services, ids: tuple[str, ...], is_all: bool, wanted: str | None, yes: bool, as_json: bool
) -> None:
    """Remove dead letters for good; what they stood for never happens."""
    letters = await _chosen(services, ids, is_all, wanted)
    if letters and not yes:
        question = f"Remove {_letters(len(letters))} for good? What they stand for never happens."
        click.confirm(question, abort=True, err=True)
    done = await services.dead_letters.drop(letters)
    _tell(as_json, "dropped", done, "There are no dead letters.", f"{_letters(done)} removed.")


async def _chosen(services: Services, ids: tuple[str, ...], is_all: bool, wanted: str | None) -> list[FoundDead]:
    if bool(ids) == is_all:
        fail("Name dead letters by their ids, or say --all. `threadkit outbox dead` lists them.")
    sites = list(await _sites(services, wanted))
    return await services.dead_letters.all(sites) if is_all else await services.dead_letters.find(sites, ids)


async def _sites(services: Services, wanted: str | None) -> dict[SiteId, Site]:
    sites = [await find_site(services, wanted)] if wanted is not None else await services.site_queries.all()
    return {site.id: site for site in sites}


def _tell(as_json: bool, verb: str, done: int, nothing: str, sentence: str) -> None:
    if as_json:
        print_json({verb: done})
    else:
        out.print(sentence if done else nothing)


def _described(found: FoundDead, site: Site) -> dict[str, object]:
    letter = found.letter
    return {
        "id": found.id,
        "site_id": site.id,
        "site": site.name,
        "given_up": iso(found.died_ms),
        "handler": letter.handler or None,
        "tries": letter.tries,
        "why": letter.why,
        "entry_id": letter.entry_id or None,
        "event": letter.event,
    }


def _letters(number: int) -> str:
    return f"{number} dead letter{'' if number == 1 else 's'}"


def _time(ms: int | None) -> str | None:
    return None if ms is None else iso(ms)


def _number_and(number: int, more: str) -> str:
    return f"{number} ({more})" if number and more else str(number)


def _since(now_ms: int, ms: int | None) -> str:
    return "" if ms is None else f"the oldest for {_span(now_ms - ms)}"


def _until(now_ms: int, ms: int | None) -> str:
    return "" if ms is None else "next now" if ms <= now_ms else f"next in {_span(ms - now_ms)}"


def _span(ms: int) -> str:
    seconds = max(0, round(ms / 1000))
    for name, length in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length} {name}"
    return f"{seconds} s"
