"""How people reach the server: under which name, encrypted or not, and with live updates or without."""

import importlib.util
from urllib.parse import urlsplit

from threadkit.doctor.checks.addresses import ASK_FROM_BROWSER, TELLS_NOBODY
from threadkit.doctor.model import Check
from threadkit.doctor.surroundings import About, Surroundings
from threadkit.sites.model import Site, origin_host, origin_of

_host = About("public_url", "Public address")
_https = About("https", "HTTPS")
_websocket = About("websocket", "Live updates (WebSocket)")


async def public_url(here: Surroundings) -> Check:
    """Do the browser and the settings mean the same address?"""
    asked, base_url = here.asked, here.settings.base_url
    if asked is None:
        if here.is_local:
            return _host.warning(
                f"The server's own address is {base_url}, which only this machine can reach.",
                'For a real site set public_url = "https://comments.example.org".',
            )
        return _host.ok(f"Links lead to {base_url}.")
    wanted = origin_of(base_url)
    shown = origin_of(asked.page_origin) if asked.page_origin else None
    reached = origin_host(f"http://{asked.host}") or asked.host
    if wanted is not None and shown == wanted:
        return _host.ok(f"You and the settings mean the same address: {base_url}.")
    if reached == urlsplit(base_url).hostname:
        return _host.ok(f"You reached the server under the name of the settings: {base_url}.")
    used = (
        shown if shown and origin_host(shown) == reached else f"{'https' if _is_https(here) else 'http'}://{asked.host}"
    )
    if here.is_local and _is_local_name(reached):
        return _host.ok(f"You are on the machine itself, at {used}.")
    return _host.bad(
        f"You reached the server at {used}, but its links, sign-ins and mails lead to {base_url}.",
        f'Set public_url = "{used}", or let the proxy keep the Host header: proxy_set_header Host $host;',
    )


async def https(here: Surroundings) -> Check:
    base_url, asked = here.settings.base_url, here.asked
    if here.is_local:
        return _https.ok("Not needed while only this machine can reach the server.")
    if not base_url.startswith("https://"):
        return _https.bad(
            f"public_url is {base_url}: passwords and sessions travel for everybody to read.",
            "Put Caddy or nginx with a certificate in front (docs/install.md), and begin public_url with https://.",
        )
    if asked is None:
        return _https.ok("public_url begins with https://.")
    if asked.page_origin and asked.page_origin.startswith("http://"):
        return _https.bad(
            f"This page was loaded from {asked.page_origin}, without encryption.",
            "Let the proxy send everybody from http:// to https://.",
        )
    if _is_https(here):
        return _https.ok("The request came over HTTPS.")
    if asked.forwarded_proto is None:
        return _https.warning(
            "The proxy does not say whether the visitor came over HTTPS.",
            "Let it, in nginx: proxy_set_header X-Forwarded-Proto $scheme;",
        )
    return _https.bad(
        "The request came over HTTP, without encryption.", "Let the proxy send everybody from http:// to https://."
    )


async def websocket(here: Surroundings, site: Site) -> Check:
    """Only a browser can try it; it tells with its next question whether it worked."""
    url = websocket_url(here.settings.base_url, site)
    if importlib.util.find_spec("wsproto") is None:
        return _websocket.bad("The package wsproto is missing.", "Install ThreadKit again with all its dependencies.")
    if here.asked is None:
        return _websocket.unknown(f"{TELLS_NOBODY} The server itself can.", ASK_FROM_BROWSER)
    match here.asked.websocket:
        case "open":
            return _websocket.ok("Your browser opened one.")
        case "failed":
            return _websocket.bad(
                f"Your browser could not open {url}. Pages still update, by asking again and again.",
                "Let the proxy hand on the upgrade, in nginx: proxy_http_version 1.1; "
                "proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $connection_upgrade;",
            )
        case _:
            return _websocket.unknown("The server can; your browser has not tried yet.", f"Open {url} from a page.")


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
