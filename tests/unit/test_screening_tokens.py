"""What the filter reads in a text, and how it judges by counts."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadkit.moderation.bayes import Counts, Totals, judge
from threadkit.moderation.tokens import LONGEST_TOKEN, MOST_TOKENS, Reading, read, shown

TOTALS = Totals(
    rejected=60, approved=60, rejected_texts=60, approved_texts=60, rejected_tokens=900, approved_tokens=900, vocabulary=500
)  # fmt: skip


def test_words_stems_pairs_and_hosts_are_tokens() -> None:
    reading = read("Winning CASINOS at https://www.lucky.example/x?y=1 now")
    assert set(reading.tokens) == {
        "winning", "winni~", "casinos", "casin~", "at", "now", "winning casinos", "casinos at", "at now",
        "host:lucky.example",
    }  # fmt: skip
    assert reading.features == {"#links:1": "1 link"}
    assert shown("casin~") == "`casin…`"
    assert shown("host:lucky.example") == "`lucky.example`"


@pytest.mark.parametrize(
    ("text", "feature", "words"),
    [
        ("plain", "#links:0", "no links"),
        ("a https://a.example b http://b.example www.c.example", "#links:2", "3 links"),
        ("come to luckyplace . com", "#links:1", "1 link"),
        ('<a href="https://a.example">https://a.example</a>', "#links:1", "1 link"),
        ("THIS IS VERY LOUD", "#capitals", "mostly capitals"),
        ("wow!!!", "#shouting", "many exclamation marks"),
        ("write to a.b+c@mail.example.org", "#email", "an e-mail address"),
        ("call +44 (0)79 3545 4150", "#phone", "a phone number"),
        ("b\u0443 ch\u0435ap stuff h\u0435re", "#mixed", "mixed alphabets"),
    ],
)
def test_features_say_what_they_are(text: str, feature: str, words: str) -> None:
    assert read(text).features[feature] == words


def test_addresses_and_long_numbers_of_people_are_never_tokens() -> None:
    tokens = " ".join(read("mail ada@mail.example.org or 0793545415012 in 2014").tokens)
    assert "ada" not in tokens
    assert "0793" not in tokens
    assert "2014" in tokens


def test_scripts_without_spaces_are_read_in_pairs_of_letters() -> None:
    assert {"欢迎", "迎来", "来到"} <= set(read("欢迎来到").tokens)


def test_whether_the_author_is_new_is_a_feature_when_it_is_known() -> None:
    assert "#new" in read("a", is_new=True).features
    assert "#known" in read("a", is_new=False).features
    assert not {"#new", "#known"} & read("a").features.keys()


@given(st.text(max_size=500))
def test_any_text_can_be_read(text: str) -> None:
    reading = read(text)
    assert len(reading.tokens) == len(set(reading.tokens)) <= MOST_TOKENS
    assert all(token and len(token) <= 2 * LONGEST_TOKEN + 1 for token in reading.tokens)
    assert not any(token.startswith("#") for token in reading.tokens)


def test_no_text_takes_long() -> None:
    shapes = ["<", "<a ", "a-", "a.", "1 ", "1((", "a@", "a@b.", "www.", "https://a ", "&#97;", "a . ", "ａ", "欢", "!"]
    for shape in shapes:
        started = time.thread_time()
        read(shape * (10_000 // len(shape)))
        assert time.thread_time() - started < 0.25, shape


def test_without_counts_nothing_is_suspicious() -> None:
    for text in ("casino", "", "THE BEST!!! https://a.example"):
        assert judge(read(text), {}, Totals()).sureness == 0.5
        assert judge(read(text), {}, Totals()).why == []


def test_what_was_rejected_speaks_for_spam_with_the_strongest_reasons() -> None:
    reading = read("best casino here https://a.example", is_new=True)
    counts = {
        "casino": Counts(20, 0), "casin~": Counts(20, 0), "best casino": Counts(15, 0), "here": Counts(10, 10),
        "#new": Counts(50, 10), "#links:1": Counts(40, 2),
    }  # fmt: skip
    judgement = judge(reading, counts, TOTALS)
    assert judgement.sureness > 0.9
    assert judgement.why == ["1 link", "new author", "`casino`"]
    assert judge(reading, {name: Counts(c.approved, c.rejected) for name, c in counts.items()}, TOTALS).sureness < 0.1


def test_a_common_word_that_leans_a_little_says_nothing() -> None:
    assert judge(Reading(["and"], {}), {"and": Counts(22, 14)}, TOTALS).sureness == 0.5


@given(st.integers(0, 50), st.integers(0, 50))
def test_one_more_rejected_text_with_a_word_never_makes_it_look_better(rejected: int, approved: int) -> None:
    def sureness(extra: int) -> float:
        return judge(Reading(["word"], {}), {"word": Counts(rejected + extra, approved)}, TOTALS).sureness

    assert sureness(0) <= sureness(1) <= 1.0
