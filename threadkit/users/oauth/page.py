"""The page in the popup: tells the page that opened it how the sign-in ended, and closes. Contract 4.2."""

import secrets
from html import escape
from typing import Any

import msgspec
from litestar import Response

from threadkit.users.oauth.model import Outcome

_SCRIPT = """
const { message, target, close_after_ms: pause } = JSON.parse(document.getElementById("outcome").textContent);
try {
  const channel = new BroadcastChannel("threadkit-auth");
  channel.postMessage(message);
  channel.close();
} catch {}
try {
  if (window.opener && target) window.opener.postMessage(message, target);
} catch {}
if (pause) setTimeout(() => window.close(), pause);
else window.close();
"""

# In JSON these can only stand inside strings, where the escaped form means the same.
_ESCAPES = str.maketrans({c: f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"})


def outcome_page(outcome: Outcome) -> Response[str]:
    if outcome.auth:
        message: dict[str, Any] = {"type": "threadkit:oauth:success", **msgspec.to_builtins(outcome.auth)}
        return _page("You are signed in", "You can close this window.", message, outcome.target, close_after_ms=0)
    message = {"type": "threadkit:oauth:error", "error": outcome.error}
    return _page("Signing in did not work", outcome.error, message, outcome.target, close_after_ms=100)


def _page(
    title: str, sentence: str, message: dict[str, Any], target: str | None, *, close_after_ms: int
) -> Response[str]:
    nonce = secrets.token_urlsafe(16)
    data = {"message": message, "target": target, "close_after_ms": close_after_ms}
    html = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)} · ThreadKit</title>"
        '<link rel="stylesheet" href="/docs/style.css"></head>'
        f'<body><main><h1>{escape(title)}</h1><p role="status">{escape(sentence)}</p></main>'
        f'<script type="application/json" id="outcome">{safe_json(data)}</script>'
        f'<script nonce="{nonce}">{_SCRIPT}</script></body></html>'
    )
    headers = {
        "Content-Security-Policy": (
            f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'self'; "
            "form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
        ),
        "Cache-Control": "no-store",
        "Referrer-Policy": "no-referrer",
        # Anything stricter would cut the page off from the one that opened it.
        "Cross-Origin-Opener-Policy": "unsafe-none",
    }
    return Response(html, media_type="text/html", status_code=200, headers=headers)


def safe_json(data: Any) -> str:
    """JSON that can stand in a page: nothing in it ends a script or begins a tag."""
    return msgspec.json.encode(data).decode().translate(_ESCAPES)
