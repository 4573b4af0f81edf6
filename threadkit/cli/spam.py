"""`threadkit spam`: what the filter that learns has learnt, and how good it is."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec

from threadkit.cli.common import find_site, json_option, out, print_json, print_table, store_options, with_services
from threadkit.moderation.filter import Telling
from threadkit.moderation.labelled import Labelled, labelled
from threadkit.moderation.measuring import Measuring
from threadkit.services import Services

MOST_SHOWN = 20

_site_option = click.option(
    "--site", "wanted", metavar="SITE", required=True, help="The site: its id, public key, domain or name."
)
_files = click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path))
_first_option = click.option("--first", type=click.IntRange(1, 1_000_000), help="Only the first so many rows.")


@click.group()
def spam() -> None:
    """The spam filter that learns from what moderators decide. Nothing of it leaves this server."""


@spam.command()
@_files
@_site_option
@_first_option
@json_option
@store_options
@with_services
async def train(services: Services, files: tuple[Path, ...], wanted: str, first: int | None, as_json: bool) -> None:
    """Teach the filter with labelled comments, as if a moderator had decided each.

    A FILE is CSV with the columns `text` and `spam` (1 or 0), or JSON by line with the same names. The same file twice
    changes nothing, up to 2,000 rows.
    """
    site = await find_site(services, wanted)
    measuring = Measuring(learning=services.learning_filter, clock=services.clock)
    trained = await measuring.train(site.id, _rows(files, first))
    totals = await services.learning_filter.totals(site.id)
    if as_json:
        print_json({**msgspec.to_builtins(trained), "totals": totals})
        return
    out.print(f"{trained.learnt:,} of {trained.rows:,} comments were news.")
    out.print(f"It has learnt from {totals.rejected:,} rejected and {totals.approved:,} approved comments.")


@spam.command()
@_files
@_site_option
@_first_option
@json_option
@store_options
@with_services
async def test(services: Services, files: tuple[Path, ...], wanted: str, first: int | None, as_json: bool) -> None:
    """Say what the filter would do with labelled comments. Nothing is learnt from them."""
    site = await find_site(services, wanted)
    measuring = Measuring(learning=services.learning_filter, clock=services.clock)
    rule = site.settings.screening.learning
    measured = await measuring.test(site.id, _rows(files, first), rule)
    totals = await services.learning_filter.totals(site.id)
    is_ready = min(totals.rejected, totals.approved) >= rule.least
    if as_json:
        facts = {"precision": measured.precision, "recall": measured.recall, "is_ready": is_ready}
        print_json({**facts, **msgspec.to_builtins(measured)})
        return
    rows = [
        ["spam", f"{measured.held_spam:,}", f"{measured.passed_spam:,}"],
        ["not spam", f"{measured.held_others:,}", f"{measured.passed_others:,}"],
    ]
    print_table(["", "Held", "Let through"], rows, empty="")
    out.print(f"precision {_percent(measured.precision)}: so much of what it holds is spam")
    out.print(f"recall    {_percent(measured.recall)}: so much of the spam it holds")
    if not is_ready:
        out.print(f"It holds nothing before it has seen {rule.least} decisions of both kinds.")


@spam.command()
@_site_option
@click.option("--most", type=click.IntRange(0, 1000), default=MOST_SHOWN, show_default=True, help="Words to show.")
@json_option
@store_options
@with_services
async def stats(services: Services, wanted: str, most: int, as_json: bool) -> None:
    """Show what the filter has learnt, with the words that say most."""
    site = await find_site(services, wanted)
    learnt = await services.learning_filter.learnt(site.id, most=most)
    rule = site.settings.screening.learning
    totals = learnt.totals
    is_ready = rule.enabled and min(totals.rejected, totals.approved) >= rule.least
    if as_json:
        print_json({"is_ready": is_ready, **msgspec.to_builtins(learnt)})
        return
    rows = [
        ["decisions", f"{totals.rejected:,}", f"{totals.approved:,}"],
        ["different texts", f"{totals.rejected_texts:,}", f"{totals.approved_texts:,}"],
        ["words and pairs in them", f"{totals.rejected_tokens:,}", f"{totals.approved_tokens:,}"],
    ]
    print_table(["", "Rejected", "Approved"], rows, empty="")
    if not rule.enabled:
        out.print("It is switched off: screening.learning.enabled=false")
    elif not is_ready:
        out.print(f"It holds nothing before it has seen {rule.least} decisions of both kinds.")
    for title, found in (("Speaks for spam", learnt.for_spam), ("Speaks against it", learnt.against_spam)):
        if found:
            out.print()
            print_table([title, "Rejected", "Approved"], [_row(telling) for telling in found], empty="")


def _rows(files: tuple[Path, ...], first: int | None) -> Iterator[Labelled]:
    return itertools.islice(itertools.chain.from_iterable(labelled(path) for path in files), first)


def _row(telling: Telling) -> list[str]:
    name = "".join(char if char.isprintable() else "?" for char in telling.token).replace("[", "\\[")
    return [name, f"{telling.rejected:,}", f"{telling.approved:,}"]


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.1%}"
