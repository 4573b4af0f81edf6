"""`threadkit user`: bans by whoever runs the server, what is known of somebody, and help for who has lost a phone."""

from typing import Any

import click
from msgspec import Struct

from threadkit.cli.common import find_site, find_user, json_option, out, print_json, store_options, with_services
from threadkit.clock import iso
from threadkit.errors import InvalidParameter
from threadkit.moderation.cards import Card
from threadkit.moderation.people_model import List
from threadkit.services import Services
from threadkit.users.model import User

HOURS = {"24h": 24, "72h": 72, "7d": 7 * 24, "30d": 30 * 24, "ever": None}
LONGEST_REASON = 500


class Shown(Struct, kw_only=True):
    """Somebody without a site."""

    id: str
    name: str
    email: str | None
    banned_everywhere: bool
    shadow_banned_everywhere: bool
    roles: dict[str, str]
    """By site."""
    bans: dict[str, str]
    """By site, until when: a time, or `ever`."""


def place_options(command: Any) -> Any:
    """`--site` or `--everywhere`, and what kind of ban."""
    options = [
        click.argument("wanted_user", metavar="USER"),
        click.option("--site", "wanted", help="On this site: id, key, domain or name."),
        click.option("--everywhere", is_flag=True, help="On every site of this server, at once."),
        click.option("--shadow", is_flag=True, help="A shadow ban: only they themselves see what they write."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@click.group()
def user() -> None:
    """Ban people, look at them, and help those who cannot get in."""


@user.command()
@place_options
@click.option("--for", "length", type=click.Choice(list(HOURS)), default="ever", show_default=True, help="How long.")
@click.option("--reason", help="Told to them, except for a shadow ban, and kept in the log.")
@click.option("--delete-comments", is_flag=True, help="Delete all they wrote on the site too, in the background.")
@store_options
@with_services
async def ban(
    services: Services,
    wanted_user: str,
    wanted: str | None,
    everywhere: bool,
    shadow: bool,
    length: str,
    reason: str | None,
    delete_comments: bool,
) -> None:
    """Ban USER (an id, e-mail address or name)."""
    _check_place(wanted, everywhere)
    hours = HOURS[length]
    if (everywhere or shadow) and hours is not None:
        raise InvalidParameter(name="--for", why="only a ban of one site that is no shadow ban can end by itself")
    if reason is not None and len(reason) > LONGEST_REASON:
        raise InvalidParameter(name="--reason", why=f"must be {LONGEST_REASON} characters or less")
    if everywhere and delete_comments:
        raise InvalidParameter(name="--delete-comments", why="is for one --site at a time")
    found = await find_user(services, wanted_user)
    if wanted is None:
        changed = await services.everywhere.ban(found, is_on=True, by=None, reason=reason, which=_which(shadow))
        _tell(found, "banned on every site", shadow, changed is not None)
        return
    site = await find_site(services, wanted)
    if shadow:
        done = await services.people.shadowban(site, found.id, by=None, is_on=True, reason=reason)
    else:
        done = await services.people.ban(site, found.id, by=None, hours=hours, reason=reason)
    _tell(found, f"banned on {site.name}", shadow, done is not None)
    if delete_comments:
        job = await services.jobs.start(site, found.id, by=None)
        out.print(f"{job.total} comments are looked through in the background, as job {job.id}.")


@user.command()
@place_options
@store_options
@with_services
async def unban(services: Services, wanted_user: str, wanted: str | None, everywhere: bool, shadow: bool) -> None:
    """Lift a ban of USER. Lifting one from everywhere leaves bans of single sites."""
    _check_place(wanted, everywhere)
    found = await find_user(services, wanted_user)
    if wanted is None:
        changed = await services.everywhere.ban(found, is_on=False, by=None, reason=None, which=_which(shadow))
        _tell(found, "not banned on every site", shadow, changed is not None)
        return
    site = await find_site(services, wanted)
    if shadow:
        done = await services.people.shadowban(site, found.id, by=None, is_on=False)
    else:
        done = await services.people.unban(site, found.id, by=None)
    _tell(found, f"not banned on {site.name}", shadow, done is not None)


@user.command("sign-out")
@click.argument("wanted_user", metavar="USER")
@store_options
@with_services
async def sign_out(services: Services, wanted_user: str) -> None:
    """End all sessions of USER, on every site and on the pages for staff. (A new jwt_secret ends everybody's.)"""
    found = await find_user(services, wanted_user)
    ended = await services.sessions.end_all(found.id)
    out.print(f"{found.name} is signed out everywhere: {ended} session{'' if ended == 1 else 's'} ended.")


@user.command()
@click.argument("wanted_user", metavar="USER")
@click.option("--site", "wanted", help="What moderators of this site see: id, key, domain or name.")
@json_option
@store_options
@with_services
async def show(services: Services, wanted_user: str, wanted: str | None, as_json: bool) -> None:
    """Show how USER stands: on every site, or in full on one."""
    found = await find_user(services, wanted_user)
    if wanted is not None:
        site = await find_site(services, wanted)
        card = await services.cards.of(site, found, viewer=None)
        print_json(card) if as_json else _print_card(card)
        return
    shown = await _shown(services, found)
    if as_json:
        print_json(shown)
        return
    out.print(f"{shown.name} ({shown.id}){f', {shown.email}' if shown.email else ''}")
    for flag, word in ((shown.banned_everywhere, "banned"), (shown.shadow_banned_everywhere, "shadow-banned")):
        if flag:
            out.print(f"{word} on every site")
    for site_name, role in shown.roles.items():
        out.print(f"{site_name}: {role}")
    for site_name, until in shown.bans.items():
        out.print(f"{site_name}: banned {'for ever' if until == 'ever' else f'until {until}'}")


@user.command()
@click.argument("wanted_user", metavar="USER")
@store_options
@with_services
async def reset_second_step(services: Services, wanted_user: str) -> None:
    """Take away all that USER has for the second step, for somebody who has lost it, and sign them out everywhere.

    Be sure that it is they who ask: afterwards their password alone opens what they may do.
    """
    found = await find_user(services, wanted_user)
    await services.office.start()
    try:
        was_on = await services.second_step.reset(found)
    finally:
        await services.office.stop()
    if was_on:
        out.print(f"{found.name} has no second step any more, and is signed out everywhere.")
    else:
        out.print(f"{found.name} has no second step, as before.")


async def _shown(services: Services, found: User) -> Shown:
    roles, bans = {}, {}
    for site in await services.site_queries.all():
        standing = await services.standing.of(site.id, found.id)
        if standing.role.label != "user":
            roles[site.name] = standing.role.label
        if standing.is_banned:
            bans[site.name] = iso(standing.until_ms) if standing.until_ms else "ever"
    return Shown(
        id=found.id,
        name=found.name,
        email=found.email,
        banned_everywhere=found.global_banned,
        shadow_banned_everywhere=found.shadow_banned,
        roles=roles,
        bans=bans,
    )


def _print_card(card: Card) -> None:
    lately, counts = card.counts.lately, card.counts
    out.print(f"{card.user.name} ({card.user.id}), {card.role}")
    if card.ban:
        out.print(f"banned {f'until {card.ban.until}' if card.ban.until else 'for ever'}")
    if card.shadow_ban:
        out.print("shadow-banned")
    if card.banned_everywhere:
        out.print("banned on every site")
    out.print(
        f"{counts.comments} comments; in {lately.days} days {lately.approved} shown, {lately.pending} waiting, "
        f"{lately.rejected} rejected, {lately.removed} deleted; {counts.reports_against} open reports",
    )
    for note in card.notes or []:
        out.print(f"note of {note.created_at} by {note.by_name or 'somebody'}: {note.text}")


def _check_place(wanted: str | None, everywhere: bool) -> None:
    if (wanted is None) != everywhere:
        raise InvalidParameter(name="--site", why="say either --site SITE or --everywhere")


def _which(shadow: bool) -> List:
    return "shadowban" if shadow else "ban"


def _tell(found: User, what: str, shadow: bool, changed: bool) -> None:
    words = what.replace("banned", "shadow-banned") if shadow else what
    out.print(f"{found.name} is {words}{'' if changed else ', as before'}.")
