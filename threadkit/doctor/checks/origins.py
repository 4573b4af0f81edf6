"""Which pages may show a site's comments."""

import ipaddress

from threadkit.doctor.model import Check
from threadkit.doctor.surroundings import Surroundings
from threadkit.sites.model import Site, is_origin_pattern, origin_host


async def site_origins(here: Surroundings, site: Site) -> Check:
    about = here.about("origins")
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
        code = f"threadkit site set {site.id} domain=blog.example.org"
        return about.bad("domain", domain=site.domain, code=code)
    if wide:
        return about.bad("everybody", entries=wide)
    if useless:
        return about.bad("useless", entries=useless, examples=["www.example.org", "*.example.org"])
    if inside and not here.is_local:
        return about.warning("inside", entries=inside)
    return about.ok("well", hosts=[site.domain, *site.settings.allowed_origins])


async def localhost_origin(here: Surroundings) -> Check:
    about = here.about("localhost_origin")
    if here.is_local:
        return about.ok("local")
    return about.warning("allowed") if here.settings.allow_localhost_origin else about.ok("refused")


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
