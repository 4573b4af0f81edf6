"""What stands in the popup's page cannot get out of its place."""

import json

import pytest

from threadkit.users.oauth.model import Outcome, clean_name
from threadkit.users.oauth.page import outcome_page, safe_json
from threadkit.users.oauth.pkce import challenge_of, new_secret


@pytest.mark.parametrize("text", ["</script>", "<!--<script>", "]]>", "&lt;", "a\u2028b\u2029c", '"\\', "\x00\x1f"])
def test_json_in_a_page_says_the_same_without_a_dangerous_character(text: str) -> None:
    written = safe_json({"text": text})
    assert json.loads(written) == {"text": text}
    assert not set(written) & set("<>&\u2028\u2029")


def test_a_hostile_sentence_is_only_text() -> None:
    page = outcome_page(Outcome(error="</p><script>alert(1)</script>", target="https://blog.example.org"))
    assert "<script>alert" not in page.content
    assert page.content.count("</script>") == 2


@pytest.mark.parametrize(
    ("name", "clean"), [("  Jane\t\nDoe ", "Jane Doe"), ("x" * 5000, "x" * 100), (7, ""), (None, ""), ("\u202ea", "a")]
)
def test_a_name_from_elsewhere_is_one_short_line(name: object, clean: str) -> None:
    assert clean_name(name) == clean


def test_the_challenge_is_that_of_the_standard() -> None:
    """S2-07: the example of RFC 7636, appendix B."""
    assert challenge_of("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk") == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    assert len(new_secret()) == 43
