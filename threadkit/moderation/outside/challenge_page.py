"""The page in the popup where Cloudflare's widget is shown, and that tells its opener how it went. Contract 4.8."""

import base64
import hashlib
import re

from litestar import Response

from threadkit.errors import InvalidParameter

HOST = "https://challenges.cloudflare.com"
_SITE_KEY = re.compile(r"[A-Za-z0-9_-]{1,100}")

# The opener listens to the first message only, so no more than one is sent.
_SCRIPT = """
const widget = document.getElementById("widget");
const status = document.getElementById("status");
let told = false;
const tell = (message, sentence) => {
  if (told) return;
  told = true;
  status.textContent = sentence;
  try {
    if (window.opener) window.opener.postMessage(message, "*");
  } catch {}
};
const failed = (error) => {
  tell({ type: "threadkit:turnstile:error", error: String(error) }, "The check did not work. Please try again.");
  return true;
};
const script = document.createElement("script");
script.src = "https://challenges.cloudflare.com/turnstile/v0/api.js?render=explicit";
script.addEventListener("error", () => failed("script-not-loaded"));
script.addEventListener("load", () => {
  try {
    window.turnstile.render(widget, {
      sitekey: widget.dataset.sitekey,
      callback: (token) => {
        tell({ type: "threadkit:turnstile:success", token }, "Thank you. You can close this window.");
        if (window.opener) setTimeout(() => window.close(), 500);
      },
      "error-callback": failed,
      "timeout-callback": () => failed("timeout"),
      "unsupported-callback": () => failed("unsupported-browser"),
    });
  } catch (error) {
    failed(error && error.message ? error.message : "not-rendered");
  }
});
document.head.append(script);
window.addEventListener("pagehide", () => tell({ type: "threadkit:turnstile:cancelled" }, ""));
"""

_HASH = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()

_HEADERS = {
    "Content-Security-Policy": (
        f"default-src 'none'; script-src 'sha256-{_HASH}' {HOST}; frame-src {HOST}; style-src 'self'; "
        "form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
    ),
    # The widget asks on which host it is; of the address it needs no more.
    "Referrer-Policy": "strict-origin",
    # Anything stricter would cut the page off from the one that opened it.
    "Cross-Origin-Opener-Policy": "unsafe-none",
}


def challenge_page(site_key: str) -> Response[str]:
    if not _SITE_KEY.fullmatch(site_key):
        why = "is missing" if not site_key else "must be 1 to 100 letters, digits, - or _"
        raise InvalidParameter(name="site_key", why=why, field="site_key")
    html = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<title>Are you human? · ThreadKit</title>"
        '<link rel="stylesheet" href="/docs/style.css"></head>'
        "<body><main><h1>One moment, please</h1>"
        '<p role="status" id="status">Checking that you are human.</p>'
        # It can hold nothing that would need to be escaped.
        f'<div id="widget" data-sitekey="{site_key}"></div>'
        "<noscript><p>This check needs JavaScript.</p></noscript></main>"
        f"<script>{_SCRIPT}</script></body></html>"
    )
    return Response(html, media_type="text/html", status_code=200, headers=_HEADERS)
