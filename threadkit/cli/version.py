"""`threadkit version`."""

import platform
from pathlib import Path
from typing import Any

import click

from threadkit import __version__
from threadkit.cli.common import json_option, out, print_json, settings_of, store_options
from threadkit.clock import SystemClock
from threadkit.dependencies.sbom import locked_hashes, sbom
from threadkit.errors import CannotStart
from threadkit.storage.store_program import find_program


@click.command()
@click.option("--sbom", "is_sbom", is_flag=True, help="Print all packages it runs with (CycloneDX, JSON).")
@click.option(
    "--lock", metavar="FILE", type=click.Path(path_type=Path), help="With --sbom: take hashes from this lock file."
)
@json_option
@store_options
def version(is_sbom: bool, lock: Path | None, as_json: bool, config: Path | None, **flags: Any) -> None:
    """Print the versions of ThreadKit, Python and the store that would be started."""
    if is_sbom:
        print_json(sbom(SystemClock(), locked_hashes(lock) if lock else None))
        return
    try:
        program = find_program(settings_of({**flags, "config": config}).settings.store_program)
        store = f"{program.kind} {program.version} ({'bundled' if program.is_bundled else program.path})"
    except CannotStart:
        store = "none found"
    facts = {"threadkit": __version__, "python": platform.python_version(), "store": store}
    if as_json:
        print_json(facts)
        return
    for name, value in facts.items():
        out.print(f"{name} {value}")
