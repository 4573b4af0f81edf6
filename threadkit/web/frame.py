"""The page for `mode="iframe"`: one element, two scripts, and a policy that allows nothing else."""

import re
from collections.abc import Mapping
from html import escape
from urllib.parse import urlsplit

from threadkit.render.policy import frame_ancestors
from threadkit.settings import Settings
from threadkit.sites.model import Site
from threadkit.web.assets import Assets

_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8}){0,3}")


def frame_document(assets: Assets, attributes: Mapping[str, str | None]) -> str:
    given = "".join(f' {name}="{escape(value)}"' for name, value in attributes.items() if value is not None)
    language, theme = attributes.get("lang") or "", attributes.get("theme")
    # The canvas behind the thread follows it, so that dark text never stands on a dark page or light text on white.
    scheme = theme if theme in ("light", "dark") else "light dark"
    return (
        f'<!doctype html><html lang="{language if _LANGUAGE.fullmatch(language) else "en"}"><head>'
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="robots" content="noindex"><meta name="color-scheme" content="{scheme}"><title>Comments</title>'
        f'<link rel="stylesheet" href="{assets["frame.css"].path}">'
        f'<script async src="/embed.js"></script><script defer src="{assets["frame.js"].path}"></script>'
        f"</head><body><thread-kit{given}></thread-kit></body></html>"
    )


def frame_headers(site: Site, settings: Settings) -> dict[str, str]:
    ancestors = frame_ancestors(site, allow_localhost=settings.allow_localhost_origin)
    return {
        "Content-Security-Policy": f"{embed_policy(settings)}; frame-ancestors {' '.join(ancestors)}",
        "Cache-Control": "no-cache",
        # Popups in which people sign in must see that our own page opened them.
        "Referrer-Policy": "same-origin",
    }


def embed_policy(settings: Settings) -> str:
    """What a page of ours needs that shows the embed; nothing inline."""
    here = urlsplit(settings.base_url)
    socket = f"{'wss' if here.scheme == 'https' else 'ws'}://{here.netloc}"
    return (
        f"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self' {socket}; "
        "img-src 'self' https: data:; base-uri 'none'; form-action 'none'"
    )
