"""`threadkit config`."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from threadkit.backup.passphrase import passphrase_of
from threadkit.cli.common import json_option, out, print_json, print_table, settings_of, store_options
from threadkit.errors import CannotStart
from threadkit.settings import Settings, env_name, flat, is_secret
from threadkit.storage.client import parse_url
from threadkit.storage.store_program import find_program


@click.group()
def config() -> None:
    """Look at the settings."""


@config.command()
@store_options
def check(config: Path | None, **flags: Any) -> None:
    """Say whether the settings can be used, and all that is wrong with them."""
    loaded = settings_of({**flags, "config": config})
    for notice in loaded.notices:
        out.print(f"Note: {notice}")
    if problems := list(_unusable(loaded.settings)):
        raise CannotStart("The settings cannot be used:\n" + "\n".join(f"  - {problem}" for problem in problems))
    out.print("The settings are fine.")


def _unusable(settings: Settings) -> Iterator[str]:
    """What a server would stumble over before it is up."""
    for look in (_look_for_store, _look_for_passphrase, _look_at_folder, _look_at_address):
        try:
            look(settings)
        except CannotStart as error:
            yield str(error)


def _look_for_store(settings: Settings) -> None:
    if settings.redis_url is None:
        find_program(settings.store_program)
    else:
        parse_url(settings.redis_url)


def _look_for_passphrase(settings: Settings) -> None:
    passphrase_of(settings.backup)


def _look_at_folder(settings: Settings) -> None:
    for name, folder in (("data", settings.data_folder), ("backup.folder", settings.backup_folder)):
        # The nearest one that is there, in which the rest would be made.
        there = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
        if not there.is_dir():
            raise CannotStart(f"{name}: {there} is no folder")
        if not os.access(there, os.W_OK | os.X_OK):
            raise CannotStart(f"{name}: {there} is not writable for this user")


def _look_at_address(settings: Settings) -> None:
    try:
        socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise CannotStart(f"host: nothing can listen on {settings.host!r}") from error


@config.command()
@json_option
@store_options
def show(config: Path | None, as_json: bool, **flags: Any) -> None:
    """Print every setting, its value and where it comes from. Secrets stay hidden."""
    loaded = settings_of({**flags, "config": config})
    values = {
        name: "(hidden)" if value is not None and is_secret(name) else value
        for name, value in flat(loaded.settings).items()
    }
    if as_json:
        print_json(
            {name: {"value": value, "source": loaded.sources.get(name, "default")} for name, value in values.items()}
        )
        return
    rows = [
        [name, _shown(value), loaded.sources.get(name, "default"), env_name(name)] for name, value in values.items()
    ]
    print_table(["Setting", "Value", "From", "Environment"], rows, empty="There are no settings.")


def _shown(value: Any) -> str:
    return "–" if value is None else ", ".join(value) if isinstance(value, list) else str(value)
