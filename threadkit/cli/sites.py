"""`threadkit site` and `threadkit key`."""

import functools
from typing import Any

import click
import msgspec
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from threadkit.cli.common import err, find_site, json_option, out, print_json, print_table, store_options, with_services
from threadkit.errors import InvalidParameter
from threadkit.ids import SiteId
from threadkit.services import Services
from threadkit.sites.model import NewSite, Site, SiteSettings, SiteView, changed_settings
from threadkit.sites.service import PUBLIC_KEY_GRACE_S
from threadkit.terminal import printable


@click.group()
def site() -> None:
    """Make, list and change sites."""


@site.command("create")
@click.argument("name")
@click.argument("domain")
@click.argument("settings", nargs=-1, metavar="[SETTING=VALUE]...")
@json_option
@store_options
@functools.partial(with_services, makes_data=True)
async def create(services: Services, name: str, domain: str, settings: tuple[str, ...], as_json: bool) -> None:
    """Make a site; prints its keys. The secret key is shown only this once."""
    try:
        wanted = changed_settings(SiteSettings(), _pairs(settings))
    except (KeyError, msgspec.ValidationError) as error:
        raise InvalidParameter(name="settings", why=str(error)) from None
    _print_new(await services.sites.create(name, domain, settings=wanted), as_json)


@site.command("list")
@json_option
@store_options
@with_services
async def list_sites(services: Services, as_json: bool) -> None:
    """List all sites."""
    sites = [SiteView.of(found) for found in await services.site_queries.all()]
    if as_json:
        print_json(sites)
        return
    rows = [[view.name, view.domain, view.api_key_public, view.id] for view in sites]
    print_table(
        ["Name", "Domain", "Public key", "Id"], rows, empty="There is no site yet: threadkit site create NAME DOMAIN"
    )


@site.command()
@click.argument("wanted", metavar="SITE")
@json_option
@store_options
@with_services
async def show(services: Services, wanted: str, as_json: bool) -> None:
    """Show a site with all its settings. SITE is its id, public key, domain or name."""
    found = await find_site(services, wanted)
    _print_site(found, as_json, reranking_percent=await services.rankings.percent(found))


@site.command("set")
@click.argument("wanted", metavar="SITE")
@click.argument("changes", nargs=-1, required=True, metavar="FIELD=VALUE...")
@json_option
@store_options
@with_services
async def change(services: Services, wanted: str, changes: tuple[str, ...], as_json: bool) -> None:
    """Change a site: name, domain, or any setting by its dotted name.

    \b
    threadkit site set blog.example.org moderation_mode=pre auth.anonymous=false
    threadkit site set blog.example.org allowed_origins=www.example.org,*.example.net
    """
    pairs = _pairs(changes)
    found = await find_site(services, wanted)
    name, domain = pairs.pop("name", None), pairs.pop("domain", None)
    changed = await services.sites.change(found.id, name=name, domain=domain, settings=pairs)
    _print_site(changed, as_json, reranking_percent=await services.rankings.percent(changed))


@site.command("delete")
@click.argument("wanted", metavar="SITE")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@store_options
@with_services
async def delete(services: Services, wanted: str, yes: bool, as_json: bool) -> None:
    """Delete a site completely, with all its comments, for ever. People keep their accounts.

    Interrupted, it can be said again with the site's id, and goes on; a running server does so by itself.
    """
    site_id = SiteId(wanted)
    if not await services.deletions.is_under_way(site_id):
        found = await find_site(services, wanted)
        site_id = found.id
        if not yes:
            comments = await services.store.redis.zcard(services.keys.site(found.id).comments())
            question = f"Delete {found.name} ({found.domain}) and its {comments:,} comments for good?"
            click.confirm(printable(question), abort=True, err=True)
        await services.deletions.begin(found, confirm=found.domain, in_foreground=True)
        err.print(f"Its keys are dead. Deleting {site_id}")
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        console=err,
        transient=True,
        disable=as_json or not err.is_terminal,
    ) as progress:
        task = progress.add_task("Deleting", total=100)
        removed = 0
        async for deletion in services.deletions.to_the_end(site_id):
            progress.update(task, completed=deletion.percent)
            removed = deletion.removed
    if as_json:
        print_json({"site_id": site_id, "removed": removed})
    else:
        out.print(f"The site is gone: {removed:,} keys and entries were removed.")


@click.group()
def key() -> None:
    """Manage a site's keys."""


@key.command()
@click.argument("wanted", metavar="SITE")
@click.argument("which", type=click.Choice(["public", "secret", "sso"]))
@click.option(
    "--grace",
    type=click.IntRange(0, 30 * 86_400),
    default=PUBLIC_KEY_GRACE_S,
    show_default=True,
    help="Seconds for which the old public key goes on working. An old secret key never does.",
)
@json_option
@store_options
@with_services
async def rotate(services: Services, wanted: str, which: str, grace: int, as_json: bool) -> None:
    """Replace a site's key by a new one; `sso` is the secret with which the site's own server signs its users in."""
    found = await find_site(services, wanted)
    if which == "sso":
        secret = await services.sites.rotate_sso_secret(found.id)
        if as_json:
            print_json({"site_id": found.id, "sso_secret": secret})
        else:
            out.print(f"sign-in secret  {secret}   (shown only this once)")
        return
    if which == "secret":
        _print_new(await services.sites.rotate_secret_key(found.id), as_json)
    else:
        _print_site(await services.sites.rotate_public_key(found.id, grace_s=grace), as_json)


_LISTS = ("allowed_origins", "screening.order", "screening.words.hold", "screening.words.refuse")
_WORDS = {"yes": True, "on": True, "no": False, "off": False}


def _pairs(texts: tuple[str, ...]) -> dict[str, Any]:
    pairs: dict[str, Any] = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator:
            raise InvalidParameter(name=text, why="must look like FIELD=VALUE")
        is_list = name in _LISTS
        parts = [part.strip() for part in value.split(",") if part.strip()]
        pairs[name] = parts if is_list else _WORDS.get(value.lower(), value)
    return pairs


def _print_new(new: NewSite, as_json: bool) -> None:
    if as_json:
        print_json({**msgspec.to_builtins(SiteView.of(new.site)), "api_key_secret": new.secret_key})
        return
    out.print(f"{new.site.name} ({new.site.domain})")
    out.print(f"  id          {new.site.id}")
    out.print(f"  public key  {new.site.api_key_public}")
    out.print(f"  secret key  {new.secret_key}   (shown only this once)")


def _print_site(found: Site, as_json: bool, *, reranking_percent: int | None = None) -> None:
    view = SiteView.of(found, reranking_percent=reranking_percent)
    if as_json:
        print_json(view)
        return
    rows = [["id", view.id], ["name", view.name], ["domain", view.domain], ["public key", view.api_key_public]]
    rows += [[name, value] for name, value in _flat(msgspec.to_builtins(view.settings))]
    if reranking_percent is not None:
        rows.append(["hot scores", f"re-ranking {reranking_percent} %"])
    print_table(["Field", "Value"], rows, empty="")


def _flat(tree: dict[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    found = []
    for name, value in tree.items():
        if isinstance(value, dict):
            found += _flat(value, f"{prefix}{name}.")
        else:
            found.append((prefix + name, _shown(value)))
    return found


def _shown(value: Any) -> str:
    match value:
        case None | []:
            return "–"
        case bool():
            return str(value).lower()
        case list():
            return ", ".join(map(str, value))
    return str(value)
