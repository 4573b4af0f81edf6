"""How people reach the server: under which name, encrypted or not, and with live updates or without."""

import importlib.util
from urllib.parse import urlsplit

from threadkit.doctor.model import Check
from threadkit.doctor.surroundings import Surroundings
from threadkit.sites.model import Site, origin_host, origin_of

KEEP_HOST = "proxy_set_header Host $host;"
TELL_SCHEME = "proxy_set_header X-Forwarded-Proto $scheme;"
HAND_ON_UPGRADE = (
    "proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $connection_upgrade;"
)


async def public_url(here: Surroundings) -> Check:
    """Do the browser and the settings mean the same address?"""
    asked, url, about = here.asked, here.settings.base_url, here.about("public_url")
    if asked is None:
        if here.is_local:
            return about.warning("only_here", url=url, code='public_url = "https://comments.example.org"')
        return about.ok("links", url=url)
    wanted = origin_of(url)
    shown = origin_of(asked.page_origin) if asked.page_origin else None
    reached = origin_host(f"http://{asked.host}") or asked.host
    if wanted is not None and shown == wanted:
        return about.ok("same", url=url)
    if reached == urlsplit(url).hostname:
        return about.ok("named", url=url)
    used = (
        shown if shown and origin_host(shown) == reached else f"{'https' if _is_https(here) else 'http'}://{asked.host}"
    )
    if here.is_local and _is_local_name(reached):
        return about.ok("machine", used=used)
    return about.bad("another", used=used, url=url, code=f'public_url = "{used}"', nginx=KEEP_HOST)


async def https(here: Surroundings) -> Check:
    url, asked, about = here.settings.base_url, here.asked, here.about("https")
    if here.is_local:
        return about.ok("local")
    if not url.startswith("https://"):
        return about.bad("plain", url=url)
    if asked is None:
        return about.ok("begins")
    if asked.page_origin and asked.page_origin.startswith("http://"):
        return about.bad("page", origin=asked.page_origin)
    if _is_https(here):
        return about.ok("well")
    if asked.forwarded_proto is None:
        return about.warning("untold", nginx=TELL_SCHEME)
    return about.bad("request")


async def websocket(here: Surroundings, site: Site) -> Check:
    """Only a browser can try it; it tells with its next question whether it worked."""
    url, about = websocket_url(here.settings.base_url, site), here.about("websocket")
    if importlib.util.find_spec("wsproto") is None:
        return about.bad("missing")
    if here.asked is None:
        return about.only_from_outside()
    match here.asked.websocket:
        case "open":
            return about.ok("well")
        case "failed":
            return about.bad("failed", url=url, nginx=HAND_ON_UPGRADE)
        case _:
            return about.unknown("untried", url=url)


def websocket_url(base_url: str, site: Site) -> str:
    return f"ws{base_url.removeprefix('http')}/v1/ws?project_id={site.api_key_public}"


def _is_https(here: Surroundings) -> bool:
    asked = here.asked
    if asked is None:
        return False
    if asked.is_peer_trusted and asked.forwarded_proto is not None:
        return asked.forwarded_proto.strip().lower() == "https"
    return asked.scheme == "https"


def _is_local_name(host: str) -> bool:
    return host in ("localhost", "127.0.0.1", "::1") or host.endswith(".localhost")
