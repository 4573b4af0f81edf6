"""Who the server thinks is asking: what proxies say, and whether just anybody can say it."""

import ipaddress

from threadkit.doctor.model import MADE_UP_ADDRESS, Check
from threadkit.doctor.surroundings import About, Surroundings

ASK_FROM_BROWSER = "Open the doctor on the owner page, or ask GET /v1/admin/doctor through the public address."
TELLS_NOBODY = "Only a request that comes from outside can tell."
# Larger networks than any proxy has: whoever names one trusts everybody.
WIDEST = {4: 8, 6: 16}

_proxy = About("proxy", "Proxy headers")
_client = About("client_address", "Visitors' addresses")
_forged = About("forged_header", "Forged headers")


async def proxy_headers(here: Surroundings) -> Check:
    """Does a proxy say who the visitor is, and is it believed?"""
    asked = here.asked
    if asked is None:
        return _proxy.unknown(TELLS_NOBODY, ASK_FROM_BROWSER)
    if not asked.is_forwarded:
        if here.is_local or asked.peer.is_global:
            return _proxy.ok("There is no proxy between us.")
        return _proxy.bad(
            f"The request came from {asked.peer} without X-Forwarded-For: a proxy does not say who the visitor is.",
            "Let the proxy set it, in nginx: proxy_set_header X-Forwarded-For $remote_addr; (Caddy does it by itself)",
        )
    if asked.is_peer_trusted:
        return _proxy.ok(f"The proxy {asked.peer} says who the visitor is, and is trusted.")
    believe = [*here.settings.trusted_proxies, str(asked.peer)]
    fix = f"If {asked.peer} is a proxy of your own, set trusted_proxies = {_toml(believe)}"
    found = f"X-Forwarded-For arrives from {asked.peer}, which is not one of trusted_proxies, so it is not believed."
    if asked.peer.is_global:
        return _proxy.warning(found, f"{fix}. Otherwise all is well: somebody made the header up.")
    return _proxy.bad(f"{found} All visitors look like one.", fix)


async def client_address(here: Surroundings) -> Check:
    asked = here.asked
    if asked is None:
        return _client.unknown(TELLS_NOBODY, ASK_FROM_BROWSER)
    if here.is_local or asked.address.is_global or str(asked.address) == MADE_UP_ADDRESS:
        return _client.ok(f"You are seen as {asked.address}.")
    found = f"You are seen as {asked.address}, an address that nobody has on the internet."
    fix = "Let the proxy send X-Forwarded-For, and name it in trusted_proxies."
    if asked.is_forwarded and asked.is_peer_trusted and not asked.address.is_loopback:
        return _client.warning(
            found,
            "That is right if you sit in the same network. Otherwise a second proxy hides you: add it to trusted_proxies.",
        )
    return _client.bad(f"{found} Limits and bans would hit everybody at once.", fix)


async def forged_headers(here: Surroundings) -> Check:
    """Would somebody who makes up an address be believed?"""
    networks = [ipaddress.ip_network(proxy, strict=False) for proxy in here.settings.trusted_proxies]
    wide = [str(network) for network in networks if network.prefixlen < WIDEST[network.version]]
    if wide:
        return _forged.bad(
            f"trusted_proxies contains {', '.join(wide)}: anybody there can pretend to be any visitor.",
            "Name only the addresses of your own proxies in trusted_proxies.",
        )
    asked = here.asked
    if asked is not None and str(asked.address) == MADE_UP_ADDRESS and not here.is_local:
        return _forged.bad(
            f"The made-up address {MADE_UP_ADDRESS} was believed: the proxy hands on what visitors claim.",
            "Let the proxy replace the header, in nginx: proxy_set_header X-Forwarded-For $remote_addr;",
        )
    if asked is None or asked.forwarded_for is None or MADE_UP_ADDRESS not in asked.forwarded_for:
        trusted = ", ".join(here.settings.trusted_proxies) or "nobody"
        return _forged.ok(f"Only {trusted} is believed.")
    return _forged.ok("A made-up address was sent along, and was not believed.")


def _toml(texts: list[str]) -> str:
    return "[" + ", ".join(f'"{text}"' for text in texts) + "]"
