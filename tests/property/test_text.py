"""Laws of text that hold whatever people type."""

from hypothesis import given
from hypothesis import strategies as st

from tests.unit.test_text_hostile import assert_harmless
from threadkit.text import clean_source, find_mentions, render, sanitize

MARKUP = [
    *("*", "**", "_", "~~", "`", "```\n", "[", "]", "(", ")", "](", "![", "<", ">", "\n", "\n\n", "> ", "- ", "1. ", "# "),
    *("    ", "a", "b c", "\\", "&", "&lt;", "&#x301;", "@", "@bob", "https://a.example", "mailto:a@b.example", "://"),
    *("javascript:", "[a]: /b\n", '"', "'", "\u0301", "\u200d", "\u202e", "\u00a0", "\ud800", "\x00", "<a href=", "é", "👩"),
]  # fmt: skip
any_text = st.text(st.characters(), max_size=200)
markup = st.lists(st.sampled_from(MARKUP), max_size=60).map("".join)
marks = st.text(st.sampled_from("a \n\t\r\x00\u0301\u0302\u200d\u200c\ufe0f\u202e\ufeff\u2028\ud800\x85"), max_size=40)
USER = "01890a5d-ac96-774b-bcce-b302099a8057"


@given(st.one_of(any_text, marks, markup))
def test_cleaning_twice_changes_nothing_more(text: str) -> None:
    once = clean_source(text)
    assert clean_source(once) == once
    assert not set(once) & set("\r\x00\u202e\ufeff")
    once.encode()


@given(st.one_of(any_text, markup))
def test_whatever_is_typed_the_html_is_harmless_stable_and_not_too_long(source: str) -> None:
    rendered = render(source, mentions={"bob": USER})
    assert_harmless(rendered.html)
    assert sanitize(rendered.html) == rendered.html
    assert len(rendered.html.encode()) <= 4 * len(source.encode(errors="replace")) + 2048
    assert find_mentions(source) == rendered.mentioned


@given(any_text)
def test_sanitised_html_of_any_kind_is_harmless(html: str) -> None:
    assert_harmless(sanitize(html))


@given(st.text(st.characters(categories=["L", "N", "So"]), min_size=1, max_size=50))
def test_words_without_markup_come_out_as_they_went_in(words: str) -> None:
    assert render(words).text == clean_source(words)
