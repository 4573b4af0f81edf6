"""`threadkit version`."""

import platform

import click

from threadkit import __version__
from threadkit.cli.common import json_option, out, print_json
from threadkit.errors import CannotStart
from threadkit.storage.bundled import find_program


@click.command()
@json_option
def version(as_json: bool) -> None:
    """Print the versions of ThreadKit, Python and the store that would be started."""
    try:
        program = find_program()
        store = f"{program.kind} {program.version}"
    except CannotStart:
        store = "none found"
    facts = {"threadkit": __version__, "python": platform.python_version(), "store": store}
    if as_json:
        print_json(facts)
        return
    for name, value in facts.items():
        out.print(f"{name} {value}", markup=False)
