"""Every construct we allow renders as the CommonMark specification says.

By design we differ in four ways. Three are undone before comparing: a line end is a line break, an image is a link,
and a link that is not absolute http, https or mailto is only its words. The fourth is counted in DIFFERENT.
"""

import json
from html.parser import HTMLParser
from pathlib import Path

from threadkit.text import render
from threadkit.text.sanitiser import is_outside_link

SPECIFICATION = Path(__file__).parents[2].parent / "shared" / "data" / "commonmark.json"

# Used when the specification is not at hand.
A_FEW = [
    ("*foo bar*\n", "<p><em>foo bar</em></p>\n"),
    ("foo***bar***baz\n", "<p>foo<em><strong>bar</strong></em>baz</p>\n"),
    ("- foo\n  - bar\n    - baz\n", "<ul><li>foo<ul><li>bar<ul><li>baz</li></ul></li></ul></li></ul>\n"),
    ("> # Foo\n> bar\n> baz\n", "<blockquote><h1>Foo</h1><p>bar\nbaz</p></blockquote>\n"),
    ("```ruby\ndef foo(x)\n  return 3\nend\n```\n", '<pre><code class="language-ruby">def foo(x)\n  return 3\nend\n</code></pre>'),
    ("[foo]: https://a.example 'title'\n\n[Foo]\n", '<p><a href="https://a.example" title="title">Foo</a></p>'),
    ("![foo](/url \"t\")\n", '<p><img src="/url" alt="foo" title="t" /></p>\n'),
    ("``foo ` bar``\n", "<p><code>foo ` bar</code></p>\n"),
    ("&nbsp; &amp; &copy; &#35;\n", "<p>\u00a0 &amp; © #</p>\n"),
    ("Foo\n---\n\n***\n", "<h2>Foo</h2>\n<hr />\n"),
]  # fmt: skip

# Raw HTML is shown as it was typed, and a bare address is a link.
DIFFERENT = {
    "Autolinks": [602, 608, 611],
    "Backslash escapes": [21],
    "Code spans": [344],
    "Emphasis and strong emphasis": [475, 476, 477],
    "Entity and numeric character references": [31],
    "HTML blocks": list(range(148, 192)),
    "Hard line breaks": [642, 643],
    "Link reference definitions": [201],
    "Links": [491, 494, 524, 536],
    "Lists": [308, 309],
    "Raw HTML": [613, 614, 615, 616, 617, 623, 625, 626, 627, 628, 629, 630, 631],
}


class Shape(HTMLParser):
    """HTML as a list of tags and texts, with our three differences undone."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self._raw: list[tuple[str, ...]] = []
        self._is_link: list[bool] = []
        self.feed(html)
        self.close()

    @property
    def parts(self) -> list[tuple[str, ...]]:
        parts: list[tuple[str, ...]] = []
        in_code = False
        for kind, *rest in self._raw:
            in_code = kind == "pre" or (in_code and kind != "/pre")
            if kind != "text":
                parts.append((kind, *rest))
            elif words := rest[0] if in_code else " ".join(rest[0].split()):
                parts.append(("text", words))
        return parts

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        kept = {name: value or "" for name, value in attrs if name != "rel"}
        if tag == "img":
            self._open_link({"href": kept["src"]} | ({"title": kept["title"]} if "title" in kept else {}))
            self.handle_data(kept.get("alt") or kept["src"])
            self.handle_endtag("a")
        elif tag == "a":
            self._open_link(kept)
        elif tag == "br":
            self.handle_data("\n")
        else:
            self._raw.append((tag, str(sorted(kept.items()))))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if tag == "a":
            if self._is_link and self._is_link.pop():
                self._raw.append(("/a",))
        else:
            self._raw.append((f"/{tag}",))

    def handle_data(self, data: str) -> None:
        if self._raw and self._raw[-1][0] == "text":
            self._raw[-1] = ("text", self._raw[-1][1] + data)
        else:
            self._raw.append(("text", data))

    def _open_link(self, attrs: dict[str, str]) -> None:
        # A link around an image is one link in our HTML, and a link in a link cannot be.
        is_link = is_outside_link(attrs.get("href", "")) and not any(self._is_link)
        self._is_link.append(is_link)
        if is_link:
            self._raw.append(("a", str(sorted(attrs.items()))))


def test_a_few_constructs_render_as_the_specification_says() -> None:
    for source, html in A_FEW:
        assert Shape(render(source).html).parts == Shape(html).parts, source


def test_the_whole_specification_but_for_what_we_do_differently() -> None:
    """The file is shared between checkouts and not in this one; without it the few above stand for it."""
    if not SPECIFICATION.exists():
        return
    different: dict[str, list[int]] = {}
    examples = json.loads(SPECIFICATION.read_text(encoding="utf-8"))
    for example in examples:
        if Shape(render(example["markdown"]).html).parts != Shape(example["html"]).parts:
            different.setdefault(example["section"], []).append(example["example"])
    assert different == DIFFERENT
    assert (len(examples), sum(map(len, different.values()))) == (652, 75)


def test_raw_html_is_shown_as_it_was_typed() -> None:
    if not SPECIFICATION.exists():
        return
    for example in json.loads(SPECIFICATION.read_text(encoding="utf-8")):
        if example["section"] == "Raw HTML":
            tags = {kind for kind, *_ in Shape(render(example["markdown"]).html).parts}
            assert tags <= {"p", "/p", "a", "/a", "em", "/em", "text"}, example["markdown"]
