"""What all commands share: their options, their way to the services, and how they speak."""

import asyncio
import contextlib
import functools
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click
import msgspec
from redis.exceptions import RedisError
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from threadkit.errors import CannotStart, InvalidParameter, SiteNotFound, ThreadKitError
from threadkit.ids import UserId, is_uuid
from threadkit.keyring import open_keyring
from threadkit.services import Services, build
from threadkit.settings import Loaded, load
from threadkit.sites.model import Site
from threadkit.storage.bundled import can_only_be_read, refuse_without_data, shared_use
from threadkit.storage.checks import check_store, refuses_for_now
from threadkit.storage.client import Store, parse_url
from threadkit.storage.stamp import stamp_store
from threadkit.terminal import printable, printable_json, printable_lines
from threadkit.users.model import User, normal_email

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


class Terminal(Console):
    """Prints text as it is: what others wrote is neither markup nor a command. Colours come as `Text`."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=True)

    def print(self, *objects: Any, **options: Any) -> None:
        super().print(*(printable_lines(each) if isinstance(each, str) else each for each in objects), **options)


out = Terminal()
err = Terminal(stderr=True)


def store_options(command: F) -> F:
    """`--data`, `--redis-url`, `--config`: where the data is."""
    options = [
        click.option("--data", metavar="FOLDER", help="Data folder (default: ./data)."),
        click.option("--redis-url", metavar="URL", help="Use this store instead of the bundled one."),
        click.option("--config", metavar="FILE", type=click.Path(path_type=Path), help="Settings file."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def json_option(command: F) -> F:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


def settings_of(flags: dict[str, Any]) -> Loaded:
    known = {name: value for name, value in flags.items() if name != "config"}
    return load(file=flags.get("config"), flags=known)


def with_services(
    work: Callable[..., Awaitable[T]], *, on_any_store: bool = False, makes_data: bool = False
) -> Callable[..., T]:
    """A command that works on the data: beside a running server, or with a store started just for it. Only who wants to
    tell what is wrong with a store takes any; others refuse one that loses comments. In a folder without data most have
    nothing to do, and leave nothing behind there."""

    @functools.wraps(work)
    def command(*args: Any, data: str | None, redis_url: str | None, config: Path | None, **kwargs: Any) -> T:
        loaded = settings_of({"data": data, "redis_url": redis_url, "config": config})

        async def run() -> T:
            async with _open_services(loaded, on_any_store, makes_data) as services:
                return await work(services, *args, **kwargs)

        return asyncio.run(run())

    return command


@contextlib.asynccontextmanager
async def _open_services(loaded: Loaded, on_any_store: bool, makes_data: bool) -> AsyncIterator[Services]:
    settings = loaded.settings
    if not makes_data:
        refuse_without_data(settings, needs_secret=not on_any_store)
    with contextlib.ExitStack() as stack:
        address = parse_url(settings.redis_url) if settings.redis_url else stack.enter_context(shared_use(settings))
        store = Store(address, settings.store)
        try:
            keyring = open_keyring(settings, may_be_missing=on_any_store)
            services = build(settings, keyring, store)
            if not on_any_store and not can_only_be_read(settings):
                await check_store(store, services.keys, settings)
            if not on_any_store:
                await stamp_store(store.redis, services.keys, services.keyring, services.clock, may_be_new=makes_data)
            yield services
        finally:
            await store.close()


async def find_site(services: Services, wanted: str) -> Site:
    """A site by id, public key, domain or name. Only ids and keys are unique; a name that several share is refused."""
    sites = await services.site_queries.all()
    found = [site for site in sites if wanted in (site.id, site.api_key_public)]
    found = found or [site for site in sites if wanted in (site.domain, site.name)]
    if not found:
        raise SiteNotFound(site=wanted)
    if len(found) > 1:
        which = ", ".join(f"{site.id} ({site.name}, {site.domain})" for site in found)
        raise InvalidParameter(name="site", why=f"several are called {wanted!r}; say which one by its id: {which}")
    return found[0]


async def find_user(services: Services, text: str) -> User:
    """A user by id, e-mail address or name."""
    if is_uuid(text):
        found = await services.user_queries.by_id(UserId(text))
    elif "@" in text:
        found = await services.user_queries.by_email(normal_email(text))
    else:
        found = await services.user_queries.by_name(text)
    if found is None:
        raise InvalidParameter(name="user", why=f"there is nobody with the id, address or name {text!r}")
    return found


def print_json(data: Any) -> None:
    click.echo(printable_json(msgspec.json.format(msgspec.json.encode(data), indent=2).decode()))


def print_table(columns: list[str], rows: list[list[str]], *, empty: str) -> None:
    """Nothing is cut or wrapped, so that keys and ids can be copied, and piped into another program."""
    if not rows:
        out.print(empty)
        return
    lines = [[printable(cell) for cell in row] for row in (columns, *rows)]
    widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    for number, line in enumerate(lines):
        cells = (set_cell_size(cell, width) for cell, width in zip(line, widths, strict=True))
        out.print(Text("  ".join(cells).rstrip(), style="" if number else "bold"))


def fail(sentence: str) -> NoReturn:
    err.print(f"Error: {sentence}")
    raise SystemExit(1)


class Sentences(click.Group):
    """A group whose commands end in a sentence, never in a traceback. Without a command it serves."""

    default = "serve"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0].startswith("-") and args[0] not in ("--help", "-h", "--version")):
            args = [self.default, *args]
        return super().parse_args(ctx, args)

    def main(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().main(*args, **kwargs)
        except (CannotStart, ThreadKitError) as error:
            fail(str(error))
        except (RedisError, OSError) as error:
            if refuses_for_now(error):
                fail(f"The store takes in nothing new until its disk or its memory has room again: {error}")
            fail(f"The store or a file could not be used: {error}")


def progress_bar(*, is_silent: bool) -> Progress:
    """For work that takes its time: on a terminal only, and gone when it is done."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        console=err,
        transient=True,
        disable=is_silent or not err.is_terminal,
    )
