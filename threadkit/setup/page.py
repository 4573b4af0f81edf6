"""The set-up page as HTML: one form, and what comes after it. It works in any browser; only the preview needs scripts."""

from collections.abc import Mapping
from html import escape

from msgspec import Struct

from threadkit.sites.model import Site
from threadkit.words import Words

MODES = ("none", "pre", "post")


class Way(Struct, frozen=True):
    """One way in that visitors can be offered."""

    label: str
    hint: str = ""


def form_page(
    words: Words, given: Mapping[str, str], *, ways: Mapping[str, Way], local: bool, alert: str, style: str
) -> str:
    """`given` is what was typed before; `local` where pages on this machine may show the comments too."""
    account = _fieldset(
        words("account"),
        _text(words, given, "name", 'required maxlength="24" autocomplete="username"', hint=True),
        _text(words, given, "email", 'type="email" required maxlength="320" autocomplete="email"'),
        _text(
            words,
            {},
            "password",
            'type="password" required minlength="8" maxlength="256" autocomplete="new-password"',
            hint=True,
        ),
    )
    site = _fieldset(
        words("site"),
        _text(words, given, "site_name", 'required maxlength="100"'),
        _text(words, given, "domain", 'required maxlength="260" autocapitalize="none" spellcheck="false"', hint=True),
        f'<p class="hint">{escape(words("domain_hint_local"))}</p>' if local else "",
    )
    moderation = _fieldset(
        words("moderation"),
        *(
            _choice("radio", "moderation", mode, words(f"moderation_{mode}"), words(f"moderation_{mode}_hint"), given)
            for mode in MODES
        ),
    )
    chosen = _fieldset(
        words("ways"),
        *(_choice("checkbox", f"way_{name}", "on", way.label, way.hint, given) for name, way in ways.items()),
    )
    return document(
        words,
        words("title"),
        f"<p>{escape(words('intro'))}</p>"
        + (f'<p class="error" role="alert">{escape(alert)}</p>' if alert else "")
        + '<form method="post" action="/setup">'
        + f'<input type="hidden" name="token" value="{escape(given.get("token", ""))}">'
        + account
        + site
        + moderation
        + chosen
        + f'<div class="row"><button class="primary">{escape(words("go"))}</button>'
        + f'<span class="muted">{escape(words("later"))}</span></div></form>',
        style=style,
    )


def done_page(words: Words, site: Site, *, name: str, base_url: str, style: str) -> str:
    key = escape(site.api_key_public)
    snippet = f'<script async src="{base_url}/embed.js" data-project="{site.api_key_public}"></script>'
    # The preview's thread has an address of its own, whatever name the server was reached by.
    preview = (
        f'<script async src="/embed.js" data-project="{key}" data-lang="{words.lang}" '
        f'data-url="{escape(base_url)}/setup/done"></script>'
    )
    return document(
        words,
        words("done_title", name=name),
        f"<p>{escape(words('done_intro', site=site.name))}</p><ol class='steps'>"
        + _step(
            words("step_snippet"),
            f"<p>{escape(words('step_snippet_text', domain=site.domain))}</p>"
            f'<pre class="snippet" tabindex="0"><code>{escape(snippet)}</code></pre>',
        )
        + _step(words("step_try"), f"<p>{escape(words('step_try_text'))}</p>{preview}")
        + _step(
            words("step_mod"),
            f"<p>{escape(words('step_mod_text'))}</p>"
            f'<p class="row"><a class="button primary" href="/mod">{escape(words("open_mod"))}</a>'
            f'<a class="button" href="/admin">{escape(words("open_admin"))}</a></p>',
        )
        + "</ol>",
        style=style,
    )


def document(words: Words, title: str, body: str, *, style: str) -> str:
    return (
        f'<!doctype html><html lang="{words.lang}" dir="{words.dir}"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex">'
        f'<title>{escape(title)} · ThreadKit</title><link rel="icon" href="/favicon.svg">'
        f'<link rel="stylesheet" href="{style}"></head>'
        f'<body><main class="view setup"><h1>{escape(title)}</h1>{body}</main></body></html>'
    )


def _fieldset(legend: str, *parts: str) -> str:
    return f'<fieldset class="card"><legend>{escape(legend)}</legend>{"".join(parts)}</fieldset>'


def _text(words: Words, given: Mapping[str, str], name: str, attributes: str, *, hint: bool = False) -> str:
    value = f' value="{escape(given[name])}"' if given.get(name) else ""
    described = f' aria-describedby="{name}-hint"' if hint else ""
    below = f'<p class="hint" id="{name}-hint">{escape(words(f"{name}_hint"))}</p>' if hint else ""
    return (
        f'<div class="field"><label><span class="label">{escape(words(name))}</span>'
        f'<input name="{name}" {attributes}{value}{described}></label>{below}</div>'
    )


def _choice(kind: str, name: str, value: str, label: str, hint: str, given: Mapping[str, str]) -> str:
    checked = " checked" if given.get(name) == value else ""
    below = f'<span class="hint">{escape(hint)}</span>' if hint else ""
    return (
        f'<label class="choice"><input type="{kind}" name="{name}" value="{value}"{checked}>'
        f"<span><span>{escape(label)}</span>{below}</span></label>"
    )


def _step(title: str, body: str) -> str:
    return f'<li class="card"><h2>{escape(title)}</h2>{body}</li>'
