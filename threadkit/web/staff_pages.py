"""The pages for staff: one empty document each, which its modules fill. What they show comes from the public API."""

from html import escape

import msgspec

from threadkit.settings import Settings
from threadkit.web.assets import Assets
from threadkit.web.frame import embed_policy

PAGES = {"mod": "Moderation", "admin": "Administration"}


def staff_document(assets: Assets, page: str) -> str:
    """`page` names its module, its words, its title, and its styles if it has some of its own."""
    words = {name: path for name, path in assets.paths.items() if name.startswith("locales/")}
    title = PAGES[page]
    sheets = [name for name in ("style.css", f"{page}.css") if name in assets]
    styles = "".join(f'<link rel="stylesheet" href="{assets[name].path}">' for name in sheets)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">'
        '<meta name="robots" content="noindex"><meta name="color-scheme" content="light dark">'
        f'<title>{escape(title)} · ThreadKit</title><link rel="icon" href="/favicon.svg">'
        f"{styles}"
        f'<script type="module" src="{assets[f"{page}.js"].path}"></script></head>'
        f'<body data-page="{page}" data-words="{escape(msgspec.json.encode(words).decode())}">'
        "<noscript>This page needs JavaScript. Everything it does can also be done with the command line: "
        "<code>threadkit --help</code>.</noscript></body></html>"
    )


def staff_headers(settings: Settings) -> dict[str, str]:
    return {
        "Content-Security-Policy": (
            f"{embed_policy(settings)}; frame-src 'self'; frame-ancestors 'none'; "
            "require-trusted-types-for 'script'; trusted-types threadkit"
        ),
        "Cache-Control": "no-cache",
        # Popups in which people sign in must see that our own page opened them.
        "Referrer-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin-allow-popups",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Permissions-Policy": "geolocation=(), microphone=(), camera=(), publickey-credentials-get=(self)",
    }
