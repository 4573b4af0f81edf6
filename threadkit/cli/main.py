"""The commands, gathered."""

import click

from threadkit import __version__
from threadkit.cli.common import Sentences
from threadkit.cli.config import config
from threadkit.cli.owner_link import owner_link
from threadkit.cli.roles import role
from threadkit.cli.schema import keys
from threadkit.cli.serve import serve
from threadkit.cli.sites import key, site
from threadkit.cli.version import version


@click.group(cls=Sentences, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="threadkit")
def main() -> None:
    """ThreadKit: comments for your site, on your own server.

    Without a command it starts the server: `threadkit` is `threadkit serve`.
    """


for command in (serve, site, key, role, owner_link, keys, config, version):
    main.add_command(command)
