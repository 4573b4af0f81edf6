"""The commands, gathered."""

import click

from threadkit import __version__
from threadkit.cli.backup import backup
from threadkit.cli.common import Sentences
from threadkit.cli.config import config
from threadkit.cli.copy import copy
from threadkit.cli.doctor import doctor
from threadkit.cli.limits import limits
from threadkit.cli.loadgen import loadgen
from threadkit.cli.memory import memory
from threadkit.cli.outbox import outbox
from threadkit.cli.owner_link import owner_link
from threadkit.cli.pages import page
from threadkit.cli.rebuild import rebuild
from threadkit.cli.rerender import rerender
from threadkit.cli.roles import role
from threadkit.cli.schema import keys
from threadkit.cli.serve import serve
from threadkit.cli.sites import key, site
from threadkit.cli.spam import spam
from threadkit.cli.usage import usage
from threadkit.cli.users import user
from threadkit.cli.version import version
from threadkit.cli.webhook import webhook_secret
from threadkit.cli.worker import worker


@click.group(cls=Sentences, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="threadkit")
def main() -> None:
    """ThreadKit: comments for your site, on your own server.

    Without a command it starts the server: `threadkit` is `threadkit serve`.
    """


for command in (
    serve,
    worker,
    outbox,
    site,
    key,
    role,
    user,
    page,
    owner_link,
    backup,
    copy,
    keys,
    doctor,
    rebuild,
    rerender,
    limits,
    config,
    version,
    loadgen,
    memory,
    spam,
):
    main.add_command(command)
site.add_command(usage)
site.add_command(webhook_secret)
