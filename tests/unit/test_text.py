"""What a writer gets: links, images, mentions, limits and tidy source (row S3-10)."""

import ast
import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from threadkit import text
from threadkit.text import TooComplex, clean_source, find_mentions, render, sanitize

REL = 'rel="nofollow ugc noopener"'
USER = "01890a5d-ac96-774b-bcce-b302099a8057"


@pytest.mark.parametrize(
    ("source", "html"),
    [
        ("**a** _b_ ~~c~~", "<p><strong>a</strong> <em>b</em> <s>c</s></p>"),
        ("one\ntwo", "<p>one<br>two</p>"),
        ("```py extra words\nx < y\n```", '<pre><code class="language-py">x &lt; y\n</code></pre>'),
        ("3. a\n4. b", '<ol start="3"><li>a</li><li>b</li></ol>'),
        ("<b onclick=x>hi</b>", "<p>&lt;b onclick=x&gt;hi&lt;/b&gt;</p>"),
        ("AT&T says \"1 > 0\" & '2'", "<p>AT&amp;T says \"1 &gt; 0\" &amp; '2'</p>"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "<p>| a | b |<br>|---|---|<br>| 1 | 2 |</p>"),
        ("", ""),
        ("\ud800 lone", "<p>\ufffd lone</p>"),
    ],
)
def test_markdown_becomes_html_s3_10(source: str, html: str) -> None:
    assert render(source).html == html


@pytest.mark.parametrize(
    ("source", "href", "words"),
    [
        ("http://a.example/b_c_d.", "http://a.example/b_c_d", "http://a.example/b_c_d"),
        ("(https://a.example/x)", "https://a.example/x", "https://a.example/x"),
        ("**https://a.example**", "https://a.example", "https://a.example"),
        ("_https://a.example/_", "https://a.example/", "https://a.example/"),
        ("mailto:me@a.example", "mailto:me@a.example", "mailto:me@a.example"),
        ("<me@a.example>", "mailto:me@a.example", "me@a.example"),
        ("[w](HTTPS://a.example)", "HTTPS://a.example", "w"),
        ("https://müller.example/ü", "https://xn--mller-kva.example/%C3%BC", "https://müller.example/ü"),
        ("see\nhttps://a.example?x=1&y=2", "https://a.example?x=1&amp;y=2", "https://a.example?x=1&amp;y=2"),
    ],
)
def test_an_absolute_address_becomes_a_link_that_search_engines_do_not_follow(
    source: str, href: str, words: str
) -> None:
    rendered = render(source)
    assert f'<a href="{href}" {REL}>{words}</a>' in rendered.html
    assert rendered.links == 1


@pytest.mark.parametrize(
    ("source", "html"),
    [
        ("[w](/path)", "<p>w</p>"),
        ("[w](//evil.example)", "<p>w</p>"),
        ("[w](#top)", "<p>w</p>"),
        ("[w](ftp://a.example)", "<p>w</p>"),
        ("[w](data:image/png;base64,AAAA)", "<p>w</p>"),
        ("[*w*](http:evil)", "<p><em>w</em></p>"),
        ("[w](javascript:alert(1))", "<p>[w](javascript:alert(1))</p>"),
        ("<tel:123>", "<p>tel:123</p>"),
        ("example.org //example.org me@a.example ftp://a.example", None),
        ("xhttp://a.example", None),
        ("`http://a.example`", "<p><code>http://a.example</code></p>"),
    ],
)
def test_what_is_not_absolute_http_or_mail_keeps_its_words_and_loses_its_link(source: str, html: str | None) -> None:
    rendered = render(source)
    assert rendered.html == (html or f"<p>{source}</p>")
    assert rendered.links == 0


@pytest.mark.parametrize(
    "source",
    ["http://{}.example/x", "<http://{}.example>", "[http://{}](http://{}.example)", "mailto:me@{}.example", "<me@{}>"],
)
@pytest.mark.parametrize("length", [240, 251, 257, 300, 3000])
def test_a_host_of_any_length_keeps_its_text(source: str, length: int) -> None:
    host = ".".join(["a" * 60] * (length // 61 + 1))[:length]
    assert host in render(source.format(host, host)).text
    assert host in render(source.format(host, host)).html


@pytest.mark.parametrize(
    ("source", "address"),
    [
        ("https://example.com/路径。谢谢", "https://example.com/路径"),
        ("见https://example.com/a，然后", "https://example.com/a"),
        ("「https://example.com/a」です", "https://example.com/a"),
        ("（https://example.com/a）", "https://example.com/a"),
        ("https://zh.example.org/wiki/苹果（公司） 好", "https://zh.example.org/wiki/苹果（公司）"),
        ("https://example.com/a（见", "https://example.com/a"),
    ],
)
def test_an_address_ends_where_the_sentence_goes_on_without_a_space(source: str, address: str) -> None:
    found = re.search("<a [^>]*>([^<]*)</a>", render(source).html)
    assert found is not None
    assert found[1] == address


def test_an_image_becomes_a_link_because_showing_it_would_call_outside() -> None:
    assert render('![a cat](https://a.example/c.png "t")').html == (
        f'<p><a href="https://a.example/c.png" title="t" {REL}>a cat</a></p>'
    )
    assert f"{REL}>https://a.example/c.png</a>" in render("![](https://a.example/c.png)").html
    assert render("![cat](/c.png) ![](/d.png)").html == "<p>cat /d.png</p>"


def test_an_image_in_a_link_leaves_one_link() -> None:
    rendered = render("[![cat](https://a.example/c.png)](https://b.example)")
    assert rendered.html == f'<p><a href="https://b.example" {REL}>cat</a></p>'
    assert rendered.links == 1


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("@Bob and @bob, @carol-x.", ["bob", "carol-x"]),
        ("**@a** _@b_ (@c) > @d\n@e", ["a", "b", "c", "d", "e"]),
        ("@a_b_c @1-2", ["a_b_c", "1-2"]),
        ("@bob- @bob_ @bob's", ["bob"]),
        ("me@a.example me.@a a@b +@c /@d https://a.example/@e", []),
        ("`@a` [@b](https://a.example) \\@c &#64;d", []),
        ("```\n@a\n```\n\n    @b", []),
        ("@a--b @-a @_a @ @é @aé @a@b.example", []),
        ("谢谢@bob，@carol也是 ありがとう@dan 고마워@eve ขอบคุณ@fay", ["bob", "carol", "dan", "eve", "fay"]),
        ("café@bob привет@bob", []),
        ("@" + "a" * 24, ["a" * 24]),
        ("@" + "a" * 25, []),
        (" ".join(f"@user{number}" for number in range(20)), [f"user{number}" for number in range(10)]),
    ],
)
def test_mentions_are_found_where_a_person_is_meant(source: str, names: list[str]) -> None:
    assert find_mentions(source) == names
    assert render(source).mentioned == names


def test_a_resolved_mention_carries_the_users_id_and_others_stay_text() -> None:
    rendered = render("@Bob, @carol, @bob", mentions={"bob": USER})
    bob = '<span data-user="{}">@{}</span>'
    assert rendered.html == f"<p>{bob.format(USER, 'Bob')}, @carol, {bob.format(USER, 'bob')}</p>"
    assert sanitize(rendered.html) == rendered.html


def test_only_a_uuid_can_be_a_users_id() -> None:
    assert render("@bob", mentions={"bob": '"><script>'}).html == "<p>@bob</p>"
    assert sanitize('<span data-user="x">a</span><span id="y">b</span>') == "<span>a</span><span>b</span>"


def test_an_eleventh_person_is_not_mentioned_even_if_known() -> None:
    names = [f"user{number}" for number in range(11)]
    html = render(" ".join(f"@{name}" for name in names), mentions=dict.fromkeys(names, USER)).html
    assert html.count("data-user") == 10
    assert html.endswith("@user10</p>")


def test_the_plain_text_is_what_a_reader_sees() -> None:
    source = "# T\n\n**a** [b](https://x.example) `c` ![d](/e) @f &lt;\n\n- g\n- h\n\n    i"
    assert render(source).text == "T\na b c d @f <\ng\nh\ni"
    assert render("---\n\n> \n\n[](https://a.example) &nbsp;").text == ""


def test_fifty_links_are_enough() -> None:
    for source in ("https://a.example ", "![a](https://a.example) ", "[a](https://a.example) "):
        assert render(source * 50).html.count("<a ") == 50
        more = render(source * 51)
        assert (more.html.count("<a "), more.links) == (50, 50)
        assert more.text.count("a") == 51 * render(source).text.count("a")


def test_text_that_is_nested_too_deeply_is_not_dropped() -> None:
    assert "deep" in render("> " * 19 + "deep").html
    deeper = render("> " * 30 + "deep").html
    assert deeper.count("<blockquote>") == 20
    assert "&gt; deep</p>" in deeper


LONG = {
    "a numbered list": "".join(f"{number}. what we did in step {number}\n" for number in range(1, 1000)),
    "pretty JSON": json.dumps(
        [{"name": "Ada", "value": number, "tags": ["a", "b"]} for number in range(500)], indent=2
    ),
    "a dialogue": "**Bob:** hello there\n**Eve:** hi, you\n" * 300,
    "a dialogue in paragraphs": "**Bob:** hello there\n\n**Eve:** hi, you\n\n" * 300,
    "lines of a log": "2026-11-01T10:00:00Z [INFO] worker <3> started & ready: 5 ms\n" * 200,
    "an HTML page": "<div class='a'><p>text &amp; more</p></div>\n" * 300,
    "quoted mail": "> > > said this\n> > and that\n> so\n" * 400,
    "many links": "- [what I read](https://example.com/page?a=1&b=2) and _why_\n" * 300,
    "stars": "*a" * 6000,
}


@pytest.mark.parametrize("name", LONG)
def test_what_a_person_pastes_is_shown_to_its_last_word(name: str) -> None:
    source = LONG[name][:9_990] + "\nlast word"
    rendered = render(source)
    assert rendered.text.endswith("last word")
    assert sanitize(rendered.html) == rendered.html
    assert rendered.html.count("<p>") == rendered.html.count("</p>")
    words = re.sub("<[^>]*>", " ", rendered.html)
    assert {"last", "word"} < set(words.split())


def test_formatting_goes_on_as_far_as_it_can_and_lines_stay_whole() -> None:
    html = render("**Bob:** hello there\n**Eve:** hi, you\n" * 300).html
    assert html.count("<strong>") > 200
    formatted, _, rest = html.partition("</p><p>")
    assert formatted.endswith(("hello there", "hi, you"))
    assert rest.startswith("**")
    in_list = render("".join(f"{number}. **step** {number}\n" for number in range(1, 1000))[:10_000]).html
    assert in_list.count("<li>") == in_list.count("</li>") > 100
    assert "</ol><p>" in in_list


def test_a_row_of_stars_around_a_word_does_not_nest_without_end() -> None:
    html = render("*" * 200 + "wow" + "*" * 200).html
    assert html.count("<strong>") == 20
    assert "wow" in html


def test_a_short_text_cannot_become_long_html() -> None:
    reference = "[a]: https://a.example/" + "x" * 2000 + "\n\n"
    assert render(reference + "[a]" * 40).html == f"<p>[a]: https://a.example/{'x' * 2000}</p><p>{'[a]' * 40}</p>"
    with pytest.raises(TooComplex):
        render("&" * 10_000)


def test_marks_hidden_in_entities_are_limited_too() -> None:
    assert render("a" + "&#x301;" * 50).html == "<p>a" + "\u0301" * 4 + "</p>"
    assert render("a&#x202E;b").html == "<p>ab</p>"


@pytest.mark.parametrize(
    ("dirty", "clean"),
    [
        ("a\r\nb\rc\u2028d\x85e", "a\nb\nc\nd\ne"),
        ("a\x00b\x07c\x1b[0md\x7f", "abc[0md"),
        ("tab\there", "tab\there"),
        ("  a  \nb \t\n\n", "  a\nb"),
        ("\n\n    code", "    code"),
        ("user\u202egnp.exe", "usergnp.exe"),
        ("\ufeffa\uffffb\ud800", "ab"),
        ("a" + "\u0301" * 40 + "b", "a" + "\u0301" * 4 + "b"),
        ("a" + "\u0301\u200d" * 6, "a" + "\u0301\u200d" * 4 + "\u200d" * 2),
        (" \t\n\u00a0\u200b\u3164\u2800\ufe0f", ""),
        ("\u0301\u200d", ""),
        ("", ""),
    ],
)
def test_source_is_tidied(dirty: str, clean: str) -> None:
    assert clean_source(dirty) == clean


@pytest.mark.parametrize(
    "good",
    [
        "👩🏽‍❤️‍💋‍👨🏿 1️⃣ 🏴󠁧󠁢󠁳󠁣󠁴󠁿 🇺🇳",
        "مَرْحَبًا بِكُمْ",
        "می‌خواهم",
        "क्ष क्‍ष क्‌ष",
        "שָׁלוֹם עֲלֵיכֶם",
        "Việt Nam, Ångström, Ǘ ǘ́",
        "กินข้าวหรือยัง ที่นี่",
        "\u2066isolated\u2069 \u200fmark",
        "$ \U0001fae9 newer than this Python",
    ],
)
def test_what_languages_and_emoji_need_stays(good: str) -> None:
    assert clean_source(good) == good
    assert render(good).html == f"<p>{good}</p>"


def test_many_threads_may_render_at_once() -> None:
    sources = [f"**{number}** <https://a.example/{number}> @user{number}\n\n- x" for number in range(200)]
    expected = [render(source) for source in sources]
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(render, sources)) == expected


def test_the_room_is_pure() -> None:
    folder = Path(text.__file__).parent
    for path in folder.glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        imported = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert not any(name.startswith(("litestar", "redis", "threadkit.storage")) for name in imported)
