"""`threadkit config`."""

from pathlib import Path
from typing import Any

import click

from threadkit.cli.common import json_option, out, print_json, print_table, settings_of, store_options
from threadkit.settings import env_name, flat, is_secret


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
    out.print("The settings are fine.")


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
