"""`threadkit memory`."""

from typing import Any

import click

from threadkit.cli.common import find_site, json_option, out, print_json, print_table, store_options, with_services
from threadkit.services import Services
from threadkit.sites.model import Site
from threadkit.storage.footprint import Footprint, FootprintService, Of

MOST = 10_000_000_000
# The example that the key document reckons with.
EXAMPLE = {Of.COMMENT: 10_000, Of.USER: 50_000, Of.VOTE: 50_000}

_NUMBER = click.IntRange(0, MOST)


@click.command()
@click.option("--site", "wanted", metavar="SITE", help="Only what belongs to this site; people belong to none.")
@click.option("--estimate", is_flag=True, help="Also say what other numbers would take (default: the example).")
@click.option("--comments", type=_NUMBER, help="Comments to estimate for.")
@click.option("--users", type=_NUMBER, help="People to estimate for.")
@click.option("--votes", type=_NUMBER, help="Votes to estimate for.")
@click.option("--sessions", type=_NUMBER, help="Sessions to estimate for.")
@click.option("--notifications", type=_NUMBER, help="Notifications to estimate for.")
@json_option
@store_options
@with_services
async def memory(services: Services, wanted: str | None, estimate: bool, as_json: bool, **numbers: int | None) -> None:
    """Say what people, comments and votes take in the store's memory, measured from those that are there.

    \b
    threadkit memory --estimate --comments 10000 --users 50000 --votes 50000
    """
    site = await find_site(services, wanted) if wanted else None
    service = FootprintService(redis=services.store.redis, keys=services.keys)
    footprint = await service.measure(among=await _ids_of(services, site) if site else None)
    asked = {Of(name.removesuffix("s")): number for name, number in numbers.items() if number is not None}
    estimated = footprint.estimate(asked or EXAMPLE) if estimate or asked else {}
    if as_json:
        print_json(_facts(footprint, asked or EXAMPLE, estimated))
        return
    _print(footprint, site)
    if estimated:
        _print_estimate(asked or EXAMPLE, estimated)


async def _ids_of(services: Services, site: Site) -> frozenset[str]:
    """The ids that stand in the keys of a site: its own, its pages', its comments'."""
    keys = services.keys.site(site.id)
    ids = {str(site.id)}
    for index in (keys.pages(), keys.comments()):
        async for member, _ in services.store.redis.zscan_iter(index, count=1000):
            ids.add(member)
    return frozenset(ids)


def _print(footprint: Footprint, site: Site | None) -> None:
    rows = []
    for share in footprint.shares:
        each = share.bytes_each
        rows.append(
            [
                share.kind,
                f"{share.count:,}" if share.count else "–",
                "–" if each is None else f"{share.record_bytes / share.count:,.0f}",
                "–" if each is None else f"{share.index_bytes / share.count:,.0f}",
                "–" if each is None else f"{each:,.0f}",
                f"{share.keys:,}",
                _mb(share.bytes),
            ]
        )
    rows.append(["all", "", "", "", "", f"{sum(share.keys for share in footprint.shares):,}", _mb(footprint.bytes)])
    print_table(["Kind", "There are", "Bytes each", "+ indexes", "= together", "Keys", "In all"], rows, empty="")
    if site is None and footprint.used_memory is not None:
        out.print(f"The store itself says {_mb(footprint.used_memory)}, with its own tables and buffers.")


def _print_estimate(asked: dict[Of, int], estimated: dict[Of, int | None]) -> None:
    out.print()
    rows = [
        [f"{number:,} {kind}s", "nothing there to measure" if (size := estimated[kind]) is None else _mb(size)]
        for kind, number in asked.items()
    ]
    rows.append(["together", _mb(sum(size or 0 for size in estimated.values()))])
    print_table(["Estimate", ""], rows, empty="")


def _facts(footprint: Footprint, asked: dict[Of, int], estimated: dict[Of, int | None]) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "kinds": [
            {
                "kind": share.kind,
                "count": share.count,
                "keys": share.keys,
                "record_bytes": share.record_bytes,
                "index_bytes": share.index_bytes,
                "bytes_each": None if share.bytes_each is None else round(share.bytes_each, 1),
            }
            for share in footprint.shares
        ],
        "bytes": footprint.bytes,
        "used_memory": footprint.used_memory,
    }
    if estimated:
        facts["estimate"] = {
            "for": {f"{kind}s": number for kind, number in asked.items()},
            "bytes": {f"{kind}s": size for kind, size in estimated.items()},
            "total_bytes": sum(size or 0 for size in estimated.values()),
        }
    return facts


def _mb(size: int) -> str:
    return f"{size / 1e6:,.2f} MB"
