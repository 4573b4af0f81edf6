"""The demo's blog: two articles in files of their own, put into one frame. Everything but the comments is plain HTML."""

import functools
import importlib.resources
from html import escape
from string import Template
from urllib.parse import urlencode

from msgspec import Struct

from threadkit.errors import NotFound
from threadkit.settings import Settings
from threadkit.sites.model import Site

AUTHOR = "lena_brandt"


class DemoPageNotFound(NotFound):
    """There is no such page in the demo"""

    code = "demo_page_not_found"


class Article(Struct, frozen=True):
    name: str
    title: str
    summary: str
    date: str
    day: str
    minutes: int


ARTICLES = (
    Article(
        "a-slower-loaf",
        "A slower loaf",
        "Why the best thing I did for my bread was to leave it alone.",
        "2026-10-03",
        "3 October 2026",
        4,
    ),
    Article(
        "one-drawer",
        "One drawer at a time",
        "A small program, an untidy kitchen, and what they taught me.",
        "2026-09-12",
        "12 September 2026",
        3,
    ),
)


class Look(Struct, frozen=True):
    """One way to show the embed: what the switch says, and what the snippet says."""

    name: str
    label: str
    attributes: dict[str, str]


LOOKS = (
    Look("auto", "Auto", {}),
    Look("light", "Light", {"theme": "light"}),
    Look("dark", "Dark", {"theme": "dark"}),
    Look("own", "Own colours", {"theme": "light"}),
    Look("rtl", "Right to left", {"lang": "ar"}),
)
OWN_COLOURS = """thread-kit {
  --tk-accent: #9a3412;
  --tk-background: #fff8ee;
  --tk-font: Georgia, serif;
  --tk-radius: 2px;
}"""


def article(name: str) -> Article:
    for one in ARTICLES:
        if one.name == name:
            return one
    raise DemoPageNotFound


def look(name: str | None) -> Look:
    return next((one for one in LOOKS if one.name == name), LOOKS[0])


def address_of(settings: Settings, name: str) -> str:
    """The address of an article's thread, however one got to the article."""
    return f"{settings.base_url}/demo/{name}"


def article_page(settings: Settings, site: Site, name: str, chosen: Look) -> str:
    one, address = article(name), address_of(settings, name)
    without_scripts = urlencode({"key": site.api_key_public, "page_url": address})
    return _page(
        title=one.title,
        look=chosen.name,
        canonical=address,
        script="",
        main=_file("article.html").substitute(
            title=escape(one.title),
            date=one.date,
            day=one.day,
            minutes=one.minutes,
            text=_file(f"{name}.html").substitute(),
            looks=_switch(name, chosen),
            direction="rtl" if chosen.name == "rtl" else "ltr",
            # A relative address works under every name this server has; the one to copy is whole.
            embed=_snippet("/embed.js", site, chosen, author=AUTHOR),
            snippet=escape(_snippet(f"{settings.base_url}/embed.js", site, chosen)),
            colours=f"<p>and in your style sheet:</p><pre><code>{escape(OWN_COLOURS)}</code></pre>"
            if chosen.name == "own"
            else "",
            without_scripts=escape(f"/v1/render?{without_scripts}"),
        ),
    )


def front_page(settings: Settings, site: Site) -> str:
    cards = "".join(
        _file("card.html").substitute(
            name=one.name,
            title=escape(one.title),
            summary=escape(one.summary),
            date=one.date,
            day=one.day,
            minutes=one.minutes,
            address=escape(address_of(settings, one.name)),
        )
        for one in ARTICLES
    )
    return _page(
        title="The Slow Kitchen",
        look="auto",
        canonical=f"{settings.base_url}/demo",
        script=f'<script async src="/count.js" data-project="{escape(site.api_key_public)}"></script>',
        main=_file("front.html").substitute(
            cards=cards, snippet=escape(_snippet(f"{settings.base_url}/embed.js", site, LOOKS[0]))
        ),
    )


def style() -> bytes:
    return importlib.resources.files("threadkit.web").joinpath("demo", "style.css").read_bytes()


def _page(*, title: str, look: str, canonical: str, script: str, main: str) -> str:
    return _file("page.html").substitute(
        title=escape(title), look=look, canonical=escape(canonical), script=script, main=main
    )


def _snippet(address: str, site: Site, chosen: Look, **more: str) -> str:
    attributes = {"project": site.api_key_public, **chosen.attributes, **more}
    given = "".join(f' data-{name}="{escape(value)}"' for name, value in attributes.items())
    return f'<script async src="{escape(address)}"{given}></script>'


def _switch(name: str, chosen: Look) -> str:
    return "".join(
        f'<li><a href="/demo/{name}?look={one.name}#comments"{" aria-current=true" if one is chosen else ""}>'
        f"{escape(one.label)}</a></li>"
        for one in LOOKS
    )


@functools.cache
def _file(name: str) -> Template:
    file = importlib.resources.files("threadkit.web").joinpath("demo", name)
    return Template(file.read_text(encoding="utf-8"))
