"""The screens, one by one and together: facts in, a verdict out."""

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from threadkit.ids import CommentId, PageId, SessionId, SiteId, UserId
from threadkit.moderation.likeness import sketch
from threadkit.moderation.model import Attempt, Facts, History, Judgement, Remembered, Verdict
from threadkit.moderation.rules import DEFAULT_ORDER, ScreeningRules
from threadkit.moderation.screening import SCREENS, screen
from threadkit.sites.model import Site, SiteSettings, changed_settings
from threadkit.sites.roles import Role
from threadkit.users.model import Session, User
from threadkit.users.viewer import Viewer

SITE = Site(id=SiteId("s"), name="Blog", domain="d", api_key_public="p", api_key_secret="x", created_at="t")
NOW = 1_765_000_000_000
LONG = "A text that is long enough to be compared with others, about a garden in the north."


def viewer(role: Role = Role.USER, provider: str = "email") -> Viewer:
    user = User(id=UserId("u"), name="ada", provider=provider, created_at="2025-01-01T00:00:00.000Z")
    session = Session(
        id=SessionId("i"), user_id=user.id, site_id=SITE.id, created_at="", last_used="", user_agent="", ip="",
        provider=provider, refresh_id="",
    )  # fmt: skip
    return Viewer(user=user, session=session, site_id=SITE.id, role=role, is_shadowed=False)


ADA = viewer()


def facts(
    text: str = "Hello.", *, author: Viewer | None = ADA, attempt: dict[str, Any] | None = None, **more: Any
) -> Facts:
    tried = Attempt(site=SITE, author=author, author_name=author.user.name if author else "Guest", text=text)
    return Facts(attempt=replace(tried, **attempt or {}), now_ms=NOW, **more)


def rules(**changes: Any) -> ScreeningRules:
    wanted = {f"screening.{name.replace('__', '.')}": value for name, value in changes.items()}
    return changed_settings(SiteSettings(), wanted).screening


def codes(verdict: Verdict) -> tuple[str, list[str]]:
    return verdict.kind, [reason.code for reason in verdict.reasons]


def test_an_ordinary_comment_passes_from_anybody() -> None:
    for author in (None, ADA, viewer(provider="anonymous"), viewer(Role.OWNER)):
        for is_known in (True, False):
            assert screen(facts(author=author, is_known=is_known), ScreeningRules()) == Verdict()


def test_whoever_moderates_is_not_screened() -> None:
    bad = facts(
        "casino", author=viewer(Role.MODERATOR), attempt={"links": 30, "honeypot": "x"},
        history=History(decided_lately=9, rejected_lately=9),
    )  # fmt: skip
    strict = rules(words__refuse=["casino"], first_comment__enabled=True)
    assert screen(bad, strict).kind == "pass"
    assert screen(replace(bad, attempt=replace(bad.attempt, author=ADA)), strict).kind == "refuse"


@pytest.mark.parametrize(
    ("links", "is_known", "kind"), [(0, False, "pass"), (1, False, "hold"), (3, True, "pass"), (4, True, "hold")]
)
def test_newcomers_are_held_from_one_link_on_and_others_from_four(links: int, is_known: bool, kind: str) -> None:
    assert screen(facts(is_known=is_known, attempt={"links": links}), ScreeningRules()).kind == kind


def test_a_guest_who_is_too_fast_is_held_and_nobody_else() -> None:
    fast = {"form_age_ms": 1999}
    verdict = screen(facts(author=None, attempt=fast), ScreeningRules())
    assert codes(verdict) == ("hold", ["too_fast"])
    assert "2.0 s" in verdict.reasons[0].sentence
    for author, changes in ((ADA, fast), (None, {"form_age_ms": 2000}), (None, fast | {"is_edit": True}), (None, {})):
        assert screen(facts(author=author, attempt=changes), ScreeningRules()).kind == "pass"
    assert screen(facts(author=None, attempt={"form_age_ms": -5}), ScreeningRules()).kind == "hold"


def test_a_filled_honeypot_holds_or_refuses_as_the_owner_wants() -> None:
    trapped = facts(attempt={"honeypot": "http://x"})
    assert codes(screen(trapped, ScreeningRules())) == ("hold", ["honeypot"])
    verdict = screen(trapped, rules(honeypot__action="refuse"))
    assert verdict.kind == "refuse"
    error = verdict.error()
    assert (error.status, error.code) == (403, "content_rejected")
    assert str(error) == "Content rejected: it looks like a program's"
    assert screen(facts(attempt={"honeypot": "  "}), ScreeningRules()).kind == "pass"


def test_the_first_comment_is_held_only_where_the_owner_wants_it() -> None:
    strict = rules(first_comment__enabled=True)
    assert screen(facts(), ScreeningRules()).kind == "pass"
    assert codes(screen(facts(), strict)) == ("hold", ["first_comment"])
    assert screen(facts(is_known=True, history=History(approved=1)), strict).kind == "pass"
    assert screen(facts(is_known=True), strict).kind == "pass", "something of theirs has stood here"
    stricter = rules(first_comment__enabled=True, first_comment__approvals=2)
    assert screen(facts(is_known=True, history=History(approved=1)), stricter).kind == "hold"
    assert screen(facts(is_known=True, history=History(approved=2)), stricter).kind == "pass"


@pytest.mark.parametrize(
    ("decided", "rejected", "kind"),
    [(2, 2, "pass"), (3, 1, "hold"), (10, 3, "pass"), (10, 4, "hold"), (100, 30, "pass")],
)
def test_more_than_thirty_percent_rejected_in_a_week_is_a_bad_history(decided: int, rejected: int, kind: str) -> None:
    past = History(decided_lately=decided, rejected_lately=rejected)
    assert screen(facts(history=past, is_known=True), ScreeningRules()).kind == kind


def remembered(text: str, *, minutes: float = 5, page: str = "p1", comment: str = "c1") -> Remembered:
    at_ms = NOW - round(minutes * 60_000)
    return Remembered(comment_id=CommentId(comment), page_id=page, at_ms=at_ms, sketch=sketch(text))


def test_the_same_again_within_ten_minutes_is_held() -> None:
    again = {"page_id": PageId("p2")}
    for text in (LONG, LONG + " Yes", LONG.upper()):
        verdict = screen(facts(text, attempt=again, recent=[remembered(LONG)]), ScreeningRules())
        assert codes(verdict) == ("hold", ["repeated_text"])
        assert "5 minutes ago" in verdict.reasons[0].sentence
    for before in (remembered(LONG, minutes=10), remembered("Something else that has nothing at all to do with it")):
        assert screen(facts(LONG, attempt=again, recent=[before]), ScreeningRules()).kind == "pass"
    off = rules(repeated__enabled=False)
    assert screen(facts(LONG, attempt=again, recent=[remembered(LONG)]), off).kind == "pass"


def test_a_few_words_may_be_said_again_on_another_page() -> None:
    for page, kind in (("p1", "hold"), ("p2", "pass")):
        thanks = facts("Thanks!", attempt={"page_id": PageId(page)}, recent=[remembered("thanks")])
        assert screen(thanks, ScreeningRules()).kind == kind


def test_an_edit_is_no_repetition_of_itself_but_is_screened_like_a_post() -> None:
    edit = {"is_edit": True, "comment_id": CommentId("c1"), "page_id": PageId("p1")}
    assert screen(facts(LONG, attempt=edit, recent=[remembered(LONG)]), ScreeningRules()).kind == "pass"
    other = facts(LONG, attempt=edit, recent=[remembered(LONG, comment="c2")])
    assert codes(screen(other, ScreeningRules())) == ("hold", ["repeated_text"])
    assert screen(facts(attempt=edit | {"links": 1}), ScreeningRules()).kind == "hold"
    assert screen(facts("a casino", attempt=edit), rules(words__refuse=["casino"])).kind == "refuse"


def test_words_hold_or_refuse_in_the_text_and_in_names() -> None:
    lists = rules(words__hold=["casino*"], words__refuse=["pills"])
    assert codes(screen(facts("Casinos!"), lists)) == ("hold", ["word"])
    assert codes(screen(facts("pills and casinos"), lists)) == ("refuse", ["word"])
    verdict = screen(facts(author=None, attempt={"author_name": "Cheap Pills"}), lists)
    assert codes(verdict) == ("refuse", ["word_in_name"])
    assert "`pills` in the name (listed as `pills`)" in verdict.reasons[0].sentence
    assert "pills" not in str(verdict.error()), "whoever wrote it is not told how to get around it"
    only_texts = rules(words__hold=["casino*"], words__refuse=["pills"], words__names=False)
    assert screen(facts(author=None, attempt={"author_name": "Cheap Pills"}), only_texts).kind == "pass"


def test_the_filter_is_silent_until_it_has_seen_enough_and_then_says_why() -> None:
    sure = Judgement(sureness=0.8, why=["new author", "3 links", "`casino`"], approved=50, rejected=50)
    verdict = screen(facts(judgement=sure), ScreeningRules())
    assert codes(verdict) == ("hold", ["looks_like_spam"])
    assert verdict.reasons[0].sentence == "like what was rejected here: new author, 3 links, `casino`"
    for less in ({"sureness": 0.79}, {"approved": 49}, {"rejected": 49}):
        assert screen(facts(judgement=replace(sure, **less)), ScreeningRules()).kind == "pass"
    assert screen(facts(judgement=sure), rules(learning__enabled=False)).kind == "pass"
    assert screen(facts(judgement=sure), rules(learning__sureness=0.9)).kind == "pass"


def test_holds_are_gathered_in_the_sites_order_and_a_refusal_ends_it() -> None:
    bad = facts("casino", author=None, attempt={"links": 2, "honeypot": "x", "form_age_ms": 1})
    assert codes(screen(bad, rules(words__hold=["casino"]))) == ("hold", ["too_fast", "honeypot", "links", "word"])
    turned = rules(words__hold=["casino"], order=["words", "links"])
    assert codes(screen(bad, turned)) == ("hold", ["word", "links", "too_fast", "honeypot"])
    assert codes(screen(bad, rules(words__refuse=["casino"]))) == ("refuse", ["word"])


def test_every_screen_has_a_switch_and_a_place_in_the_order() -> None:
    assert (
        set(SCREENS)
        == set(DEFAULT_ORDER)
        == {"repeated", "too_fast", "honeypot", "first_comment", "links", "words", "history", "learning"}
    )
    off = rules(**{f"{name}__enabled": False for name in DEFAULT_ORDER}, words__refuse=["casino"])
    worst = facts(
        "casino", author=None, attempt={"links": 9, "honeypot": "x", "form_age_ms": 1},
        history=History(decided_lately=9, rejected_lately=9), recent=[remembered("casino")],
        judgement=Judgement(sureness=1.0, approved=99, rejected=99),
    )  # fmt: skip
    assert screen(worst, off).kind == "pass"
    assert rules(order=["links"]).in_order[0] == "links"
    assert set(rules(order=["links"]).in_order) == set(DEFAULT_ORDER)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("order", ["links", "links"]), ("order", ["nothing"]), ("links__newcomers", 0), ("too_fast__seconds", 0),
        ("learning__sureness", 0.2), ("repeated__minutes", 61), ("history__percent", 0), ("honeypot__action", "smile"),
        ("words__hold", ["(a+)+$"]), ("words__hold", ["a" * 101]), ("words__refuse", ["w"] * 1001), ("words__hold", "x"),
    ],
)  # fmt: skip
def test_settings_that_cannot_be_meant_are_refused(name: str, value: object) -> None:
    with pytest.raises(msgspec.ValidationError):
        rules(**{name: value})


def test_settings_of_an_older_server_get_the_defaults() -> None:
    tree = msgspec.to_builtins(SiteSettings())
    del tree["screening"]
    assert msgspec.convert(tree, SiteSettings).screening == ScreeningRules()
