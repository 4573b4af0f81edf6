"""Which pages may show a site's comments."""

import ipaddress

from threadkit.doctor.model import Check
from threadkit.doctor.surroundings import About, Surroundings
from threadkit.sites.model import Site, is_origin_pattern, origin_host

_origins = About("origins", "Allowed origins")
_localhost = About("localhost_origin", "Pages on localhost")


async def site_origins(here: Surroundings, site: Site) -> Check:
    useless, wide, inside = [], [], []
    for entry in site.settings.allowed_origins:
        host = _host_of(entry)
        if not is_origin_pattern(entry):
            useless.append(entry)
        elif entry.startswith("*.") and "." not in host:
            wide.append(entry)
        elif _is_inside(host):
            inside.append(entry)
    if not here.is_local and _is_inside(site.domain):
        return _origins.bad(
            f"The site's domain is {site.domain}, so pages on the internet are refused.",
            f"threadkit site set {site.id} domain=blog.example.org (where the pages with the comments are)",
        )
    if wide:
        return _origins.bad(
            f"{', '.join(wide)} allows everybody's pages.", "Name your own domains in allowed_origins instead."
        )
    if useless:
        return _origins.bad(
            f"{', '.join(useless)} can never fit: an origin is a host such as www.example.org or *.example.org.",
            "Change allowed_origins: without a path, and without a star elsewhere than in front.",
        )
    if inside and not here.is_local:
        return _origins.warning(
            f"{', '.join(inside)} is an address of somebody's own network.",
            "Take it out of allowed_origins when you no longer try things there.",
        )
    return _origins.ok("Pages of " + ", ".join([site.domain, *site.settings.allowed_origins]) + " may show comments.")


async def localhost_origin(here: Surroundings) -> Check:
    if here.is_local or not here.settings.allow_localhost_origin:
        return _localhost.ok("As it should be here." if here.is_local else "Refused.")
    return _localhost.warning(
        "Pages on anybody's own machine may speak for your sites.",
        "Set allow_localhost_origin = false once you no longer develop against this server.",
    )


def _host_of(entry: str) -> str:
    bare = entry.removeprefix("*.")
    return origin_host(bare if "://" in bare else f"http://{bare}") or bare


def _is_inside(host: str) -> bool:
    if host == "localhost" or host.endswith((".localhost", ".local", ".internal", ".test")):
        return True
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return False
