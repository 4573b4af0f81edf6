"""Who the server thinks is asking: what proxies say, and whether just anybody can say it."""

import ipaddress

from threadkit.doctor.model import MADE_UP_ADDRESS, Check
from threadkit.doctor.surroundings import Surroundings

# Larger networks than any proxy has: whoever names one trusts everybody.
WIDEST = {4: 8, 6: 16}
SET_HEADER = "proxy_set_header X-Forwarded-For $remote_addr;"


async def proxy_headers(here: Surroundings) -> Check:
    """Does a proxy say who the visitor is, and is it believed?"""
    asked, about = here.asked, here.about("proxy")
    if asked is None:
        return about.only_from_outside()
    peer = str(asked.peer)
    if not asked.is_forwarded:
        if here.is_local or asked.peer.is_global:
            return about.ok("none")
        return about.bad("silent", peer=peer, nginx=SET_HEADER)
    if asked.is_peer_trusted:
        return about.ok("trusted", peer=peer)
    code = f"trusted_proxies = {_toml([*here.settings.trusted_proxies, peer])}"
    if asked.peer.is_global:
        return about.warning("stranger", peer=peer, code=code)
    return about.bad("not_trusted", peer=peer, code=code)


async def client_address(here: Surroundings) -> Check:
    asked, about = here.asked, here.about("client_address")
    if asked is None:
        return about.only_from_outside()
    address = str(asked.address)
    if here.is_local or asked.address.is_global or address == MADE_UP_ADDRESS:
        return about.ok("well", address=address)
    if asked.is_forwarded and asked.is_peer_trusted and not asked.address.is_loopback:
        return about.warning("inside", address=address)
    return about.bad("everybody", address=address)


async def forged_headers(here: Surroundings) -> Check:
    """Would somebody who makes up an address be believed?"""
    asked, about, trusted = here.asked, here.about("forged_header"), here.settings.trusted_proxies
    networks = [ipaddress.ip_network(proxy, strict=False) for proxy in trusted]
    wide = [str(network) for network in networks if network.prefixlen < WIDEST[network.version]]
    if wide:
        return about.bad("wide", networks=wide)
    if asked is not None and str(asked.address) == MADE_UP_ADDRESS and not here.is_local:
        return about.bad("believed", address=MADE_UP_ADDRESS, nginx=SET_HEADER)
    if asked is None or asked.forwarded_for is None or MADE_UP_ADDRESS not in asked.forwarded_for:
        return about.ok("only", trusted=trusted) if trusted else about.ok("nobody")
    return about.ok("well")


def _toml(texts: list[str]) -> str:
    return "[" + ", ".join(f'"{text}"' for text in texts) + "]"
