"""`threadkit worker`."""

from pathlib import Path
from typing import Any

import click

from threadkit.cli.common import settings_of, store_options


@click.command()
@click.option("--log-level", type=click.Choice(["debug", "info", "warning", "error"]), help="How much is logged.")
@store_options
def worker(config: Path | None, **flags: Any) -> None:
    """Carry out what follows from comments and votes, in a process of its own.

    Servers do this themselves unless their setting `outbox` is "worker". Any number of workers can run beside each
    other and beside servers, on any machine that reaches the store.
    """
    from threadkit.server.outbox import work  # slow to import, and only needed here

    work(settings_of({**flags, "config": config}))
