"""Every command once: what to say to it, and what may be expected of it in a good place and in bad ones."""

from collections.abc import Iterator
from dataclasses import dataclass

import click

from threadkit.cli import main

IN_PROCESSES_OF_THEIR_OWN = {"serve", "worker"}
ANYWHERE = "anywhere"
"""Works without any data."""
NEEDS_FILE = "needs a file"
MAKES_DATA = "makes data"


@dataclass(frozen=True)
class Row:
    """`{…}` is what the world has: a site, somebody, a page, a backup, a file with words."""

    words: str
    kind: str = ""
    code: int = 0
    """How it ends in a good place: 1 where it has nothing to do there."""
    is_reading: bool = True
    """Whether it has something to say on a disk on which nothing can be written."""
    has_json: bool = True

    @property
    def name(self) -> str:
        parts: list[str] = []
        command: click.Command = main
        for word in self.words.split():
            if not isinstance(command, click.Group) or word not in command.commands:
                break
            parts.append(word)
            command = command.commands[word]
        return " ".join(parts)


ROWS = [
    Row("serve", has_json=False),
    Row("worker", has_json=False),
    Row("outbox show"),
    Row("outbox dead"),
    Row("outbox retry --all"),
    Row("outbox drop --all --yes"),
    Row("site create New new.example.org", MAKES_DATA, is_reading=False),
    Row("site list"),
    Row("site show {site}"),
    Row("site set {site} moderation_mode=post", is_reading=False),
    Row("site usage {site}"),
    Row("site webhook-secret {site}"),
    Row("key rotate {victim} public", is_reading=False),
    Row("role grant {site} {user} moderator", has_json=False, is_reading=False),
    Row("role list {site}"),
    Row("role revoke {site} {user}", has_json=False, is_reading=False),
    Row("user ban {user} --site {site}", has_json=False, is_reading=False),
    Row("user unban {user} --site {site}", has_json=False, is_reading=False),
    Row("user show {user} --site {site}"),
    Row("user sign-out {user}", has_json=False, is_reading=False),
    Row("user reset-second-step {user}", has_json=False),
    Row("page list --site {site}"),
    Row("page lock --site {site} {page}", has_json=False, is_reading=False),
    Row("page move --site {site} {page} https://blog.example.org/moved", is_reading=False),
    Row("page merge --site {site} {other_page} https://blog.example.org/moved", is_reading=False),
    Row("owner-link", is_reading=False),
    Row("backup create", is_reading=False),
    Row("backup list", ANYWHERE),
    Row("backup verify {backup}", NEEDS_FILE),
    Row("backup restore {backup}", NEEDS_FILE, code=1, is_reading=False),
    Row("copy --to unix:///nowhere/store.sock", code=1, is_reading=False),
    Row("keys", ANYWHERE),
    Row("doctor"),
    Row("doctor --deep", code=1),
    Row("rebuild --check"),
    Row("rerender"),
    Row("limits"),
    Row("config check", ANYWHERE, has_json=False),
    Row("config show", ANYWHERE),
    Row("version", ANYWHERE),
    Row("loadgen --site {victim} --comments 2 --yes", is_reading=False),
    Row("memory"),
    Row("spam train {words} --site {site}", NEEDS_FILE, is_reading=False),
    Row("spam test {words} --site {site}", NEEDS_FILE, is_reading=False),
    Row("spam stats --site {site}"),
    Row("site delete {victim} --yes", is_reading=False),
]
IN_PROCESS = [row for row in ROWS if row.name not in IN_PROCESSES_OF_THEIR_OWN]


def all_commands(command: click.Command = main, path: tuple[str, ...] = ()) -> Iterator[str]:
    if isinstance(command, click.Group):
        for name, part in command.commands.items():
            yield from all_commands(part, (*path, name))
    else:
        yield " ".join(path)
