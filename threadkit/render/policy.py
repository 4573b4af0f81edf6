"""What a browser may do with our pages: no scripts, our own style, and frames only on the site's own pages."""

import re

from threadkit.render.page import STYLE_HASH
from threadkit.sites.model import Site, normal_domain

_HOST = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]{0,251}[a-z0-9_])?\Z")
_ADDRESS = re.compile(r"[0-9.]+\Z")


def page_headers(site: Site | None, *, allow_localhost: bool) -> dict[str, str]:
    frames = " ".join(frame_ancestors(site, allow_localhost=allow_localhost)) if site else "'none'"
    return {
        "Content-Security-Policy": (
            f"default-src 'none'; style-src 'sha256-{STYLE_HASH}'; form-action 'self'; base-uri 'none'; "
            f"frame-ancestors {frames}"
        ),
        # With `no-referrer` a browser would hide the origin of our own form from ourselves.
        "Referrer-Policy": "same-origin",
    }


def frame_ancestors(site: Site, *, allow_localhost: bool) -> list[str]:
    """The pages that may show ours: those whose origin is allowed. `http` stands for https too, `:*` for any port."""
    sources = ["'self'", *_sources(site.domain, with_names_below=True)]
    for entry in site.settings.allowed_origins:
        is_wild = entry.startswith("*.")
        sources += _sources(normal_domain(entry.removeprefix("*.")) or "", with_names_below=is_wild)
    if allow_localhost:
        sources += [*_sources("localhost", with_names_below=True), *_sources("127.0.0.1", with_names_below=False)]
    return list(dict.fromkeys(sources))


def _sources(host: str, *, with_names_below: bool) -> list[str]:
    # A policy is a line of words: what is not plainly a host name must not get into it.
    if not _HOST.match(host):
        return []
    sources = [f"http://{host}:*"]
    if with_names_below and not _ADDRESS.match(host):
        sources.append(f"http://*.{host}:*")
    return sources
