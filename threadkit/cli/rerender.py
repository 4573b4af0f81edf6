"""`threadkit rerender`."""

import click

from threadkit.cli.common import (
    find_site,
    json_option,
    out,
    print_json,
    progress_bar,
    store_options,
    with_services,
)
from threadkit.services import Services


@click.command()
@click.option("--site", "wanted", metavar="SITE", help="Only this site: its id, public key, domain or name.")
@click.option("--all", "everything", is_flag=True, help="Also what this version has rendered.")
@json_option
@store_options
@with_services
async def rerender(services: Services, wanted: str | None, everything: bool, as_json: bool) -> None:
    """Make the HTML of comments again from what people wrote, where an older version has made it.

    Can run beside the server at any time, and be stopped and begun again. Exit code 1 when a text could not be rendered;
    it keeps the HTML it has.
    """
    sites = [await find_site(services, wanted)] if wanted else list(await services.site_queries.all())
    with progress_bar(is_silent=as_json) as progress:
        task = progress.add_task("Rendering", total=None)

        def show(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)

        report = await services.rerendering.run(sites, everything=everything, on_progress=show)
    if as_json:
        print_json(report)
    else:
        out.print(f"{report.rendered:,} of {report.comments:,} comments rendered, {report.changed:,} changed.")
        for comment_id in report.too_complex:
            out.print(f"Comment {comment_id} would be too long as HTML and keeps the HTML it has.")
    if report.too_complex:
        click.get_current_context().exit(1)
