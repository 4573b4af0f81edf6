"""`threadkit keys`: the schema of the store."""

from typing import Any

import click

from threadkit.cli.common import json_option, print_json, print_table, store_options
from threadkit.storage.keys import SCHEMA, schema_markdown


@click.command()
@click.option("--markdown", is_flag=True, help="Print the page that is kept in storage/KEYS.md.")
@json_option
@store_options
def keys(markdown: bool, as_json: bool, **_where: Any) -> None:
    """Print every key that ThreadKit writes: pattern, type, lifetime, meaning."""
    if markdown:
        click.echo(schema_markdown(), nl=False)
        return
    if as_json:
        print_json(
            [
                {"key": e.pattern, "type": e.kind, "ttl_s": e.ttl_s, "writers": e.writers, "meaning": e.meaning}
                for e in SCHEMA
            ]
        )
        return
    rows = [[e.pattern, e.kind, "–" if e.ttl_s is None else f"{e.ttl_s} s", e.meaning] for e in SCHEMA]
    print_table(["Key", "Type", "Lifetime", "Meaning"], rows, empty="There are no keys.")
