"""No payload we know gets anything but the allow-list through (rows T9, T10, S3-10)."""

import json
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from threadkit.ids import is_uuid
from threadkit.text import clean_source, render, sanitize

CORPORA = Path(__file__).parents[2].parent / "shared" / "data" / "hostile"

# Used beside the corpora, and alone when they are not at hand.
A_FEW = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg><style><img src=x onerror=alert(1)></style></svg>",
    "<math><mtext><table><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=1 onerror=alert(1)&gt;\">",
    "[a](javascript:alert(1)) [a](JaVaScRiPt&colon;alert(1)) [a](java\nscript:alert(1)) <javascript:alert(1)>",
    "[a](data:text/html;base64,PHN2Zz4=) ![a](data:image/svg+xml,<svg>) [a](vbscript:x)",
    '[a](https://a.example "x\\" onmouseover=alert(1)") ![x\\" onerror=y](https://a.example)',
    "[a]: javascript:alert(1)\n[b]: <https://a.example/\"onclick=x>\n\n[a] [b]",
    '<a href="https://a.example" id=x name=y style="position:fixed" class=z target=_blank>a</a>',
    "```x\" onclick=\"alert(1)\na\n```",
    "```x&quot;onclick=alert(1)\na\n```",
    "<form id=attributes><input name=parentNode>",
    "https://a.example/\"onmouseover=\"alert(1) https://a.example/<script>",
    "<https://a.example/\"><svg/onload=alert(1)>>",
    "\x00<\x00script>\x00alert(1)</script>",
    "<a href=\"&#106;avascript:alert(1)\">a</a><a href=\"\x01javascript:alert(1)\">b</a><a href=//evil.example>c</a>",
    "<code class=\"language-js evil\">a</code><code class='x'>b</code>",
    "<noscript><p title=\"</noscript><img src=x onerror=alert(1)>\">",
]  # fmt: skip

TAGS = set("a blockquote br code em h1 h2 h3 h4 h5 h6 hr li ol p pre s span strong ul".split())  # noqa: SIM905


class Inspector(HTMLParser):
    """Reads HTML with another parser than the sanitisers' and complains about anything not allowed."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS, tag
        assert len(dict(attrs)) == len(attrs)
        for name, value in attrs:
            assert self.is_allowed(tag, name, value or ""), f"<{tag} {name}={value!r}>"
        if tag == "a":
            assert dict(attrs)["rel"] == "nofollow ugc noopener"

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data!r}")

    def handle_decl(self, decl: str) -> None:
        raise AssertionError(f"a declaration: {decl!r}")

    handle_pi = unknown_decl = handle_comment

    @staticmethod
    def is_allowed(tag: str, name: str, value: str) -> bool:
        match tag, name:
            case "a", "href":
                parts = urlsplit(value)
                return parts.scheme == "mailto" or (parts.scheme in ("http", "https") and parts.netloc != "")
            case "a", "rel" | "title":
                return True
            case "code", "class":
                return value.startswith("language-") and len(value.split()) == 1
            case "ol", "start":
                return value.isdecimal()
            case "span", "data-user":
                return is_uuid(value)
        return False


def assert_harmless(html: str) -> None:
    inspector = Inspector()
    inspector.feed(html)
    inspector.close()


def payloads() -> Iterator[str]:
    yield from A_FEW
    for path in sorted(CORPORA.glob("*.json")):
        yield from json.loads(path.read_text(encoding="utf-8"))


def test_no_payload_survives_rendering_and_what_is_rendered_is_clean_already() -> None:
    for payload in payloads():
        html = render(payload).html
        assert_harmless(html)
        assert sanitize(html) == html, payload


def test_no_payload_survives_as_html_that_somebody_else_made() -> None:
    """Imports bring HTML, which goes through the sanitisers alone."""
    for payload in payloads():
        assert_harmless(sanitize(payload))


@pytest.mark.parametrize("wrap", ["[x]({})", "![{}](https://a.example)", "<{}>", '[x](https://a.example "{}")', "`{}`"])
def test_payloads_in_every_place_of_the_markup(wrap: str) -> None:
    for payload in A_FEW:
        assert_harmless(render(wrap.format(payload)).html)


def test_a_payload_as_a_name_is_no_mention() -> None:
    for payload in A_FEW:
        assert_harmless(render(f"@{payload} @bob", mentions={"bob": payload, payload: payload}).html)


def test_cleaning_payloads_twice_changes_nothing_more() -> None:
    for payload in payloads():
        assert clean_source(clean_source(payload)) == clean_source(payload)


@pytest.mark.parametrize(
    ("html", "clean"),
    [
        ("<p>a<script>b</script></p>", "<p>ab</p>"),
        ('<a href="/x">a</a>', '<a rel="nofollow ugc noopener">a</a>'),
        ('<a href="https://a.example" rel="follow">a</a>', '<a href="https://a.example" rel="nofollow ugc noopener">a</a>'),
        ('<img src="https://a.example/x.png"><p id="x" class="y" style="z">a</p>', "<p>a</p>"),
        ('<code class="language-js">a</code><code class="a">b</code>', '<code class="language-js">a</code><code>b</code>'),
        ('<ol start="3"><li>a</li></ol><ol start="x"><li>b</li></ol>', '<ol start="3"><li>a</li></ol><ol><li>b</li></ol>'),
        ("<p>\ud800\x00a", "<p>a</p>"),
    ],
)  # fmt: skip
def test_the_sanitiser_leaves_only_the_allow_list(html: str, clean: str) -> None:
    assert sanitize(html) == clean
