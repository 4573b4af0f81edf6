"""`threadkit page`: which pages there are, and what happens when articles move."""

from typing import Any

import click

from threadkit.cli.common import find_site, json_option, out, print_json, print_table, store_options, with_services
from threadkit.clock import iso
from threadkit.pages.routes import PageItem
from threadkit.pages.service import Moved
from threadkit.services import Services

MOST_LISTED = 1000


def site_option(command: Any) -> Any:
    return click.option("--site", "wanted", required=True, help="The site: id, key, domain or name.")(command)


@click.group()
def page() -> None:
    """Pages: list, lock, move, merge."""


@page.command("list")
@site_option
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, MOST_LISTED))
@json_option
@store_options
@with_services
async def list_pages(services: Services, wanted: str, limit: int, as_json: bool) -> None:
    """The pages people wrote on, newest writing first."""
    site = await find_site(services, wanted)
    found = [PageItem.of(*one) for one in await services.page_queries.newest(site.id, offset=0, limit=limit)]
    if as_json:
        print_json(found)
        return
    print_table(
        ["comments", "last written", "locked", "address or id", "title"],
        [
            [
                str(one.comments),
                iso(one.updated_ms),
                "yes" if one.locked else "",
                one.url or one.page_id,
                one.title or "",
            ]
            for one in found
        ],
        empty="Nobody has written anything yet.",
    )


@page.command("lock")
@site_option
@click.argument("page")
@click.option("--open", "is_open", is_flag=True, help="Open it again.")
@store_options
@with_services
async def lock(services: Services, wanted: str, page: str, is_open: bool) -> None:
    """Let nobody write on a page, whether it has comments yet or not. PAGE is its address or its id."""
    site = await find_site(services, wanted)
    found = await services.pages.lock_named(site, page, locked=not is_open)
    out.print(f"{found.page.url or page} is {'locked' if found.page.locked else 'open'}.")


@page.command("move")
@site_option
@click.argument("page")
@click.argument("new_url")
@click.option("--title", help="The page's new title.")
@json_option
@store_options
@with_services
async def move(services: Services, wanted: str, page: str, new_url: str, title: str | None, as_json: bool) -> None:
    """An article has a new address: take its comments along. The old address keeps working. PAGE is that or the page's id."""
    site = await find_site(services, wanted)
    _tell(await services.pages.move(site, page, new_url, title=title), as_json, "The thread is now at {url}.")


@page.command("merge")
@site_option
@click.argument("from_page")
@click.argument("into_page")
@json_option
@store_options
@with_services
async def merge(services: Services, wanted: str, from_page: str, into_page: str, as_json: bool) -> None:
    """Put the comments of one page into another's thread. Each is an address or an id. Interrupted, say it again and it goes on."""
    site = await find_site(services, wanted)
    done = await services.pages.merge(site, from_page, into_page)
    _tell(done, as_json, "{comments_moved} comments moved to {url}.")


def _tell(moved: Moved, as_json: bool, sentence: str) -> None:
    if as_json:
        print_json(moved)
    else:
        out.print(sentence.format(url=moved.url, comments_moved=moved.comments_moved))
