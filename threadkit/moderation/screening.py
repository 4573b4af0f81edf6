"""The screens: pure functions from facts to nothing, a reason to hold, or a reason to refuse.

Holds are gathered, so that a moderator sees all there is; a refusal ends it. Whoever moderates is not screened. What is
decided before anything is screened (posting, blocks, rate, length) stays with the comments.
"""

from collections.abc import Callable

from msgspec import Struct

from threadkit.moderation.likeness import likeness, sketch
from threadkit.moderation.model import PASS, Facts, Kind, Reason, Verdict
from threadkit.moderation.rules import ScreeningRules, ScreenName
from threadkit.moderation.words import word_list


class Objection(Struct, frozen=True):
    kind: Kind
    reason: Reason


Screen = Callable[[Facts, ScreeningRules], Objection | None]


def screen(facts: Facts, rules: ScreeningRules) -> Verdict:
    """All screens in the site's order, but for those outside."""
    if facts.attempt.is_staff:
        return PASS
    held: list[Reason] = []
    for name in rules.in_order:
        objection = SCREENS[name](facts, rules)
        if objection and objection.kind == "refuse":
            return Verdict(kind="refuse", reasons=[objection.reason])
        if objection:
            held.append(objection.reason)
    return Verdict(kind="hold", reasons=held) if held else PASS


def repeated(facts: Facts, rules: ScreeningRules) -> Objection | None:
    rule, attempt = rules.repeated, facts.attempt
    if not rule.enabled or not facts.recent:
        return None
    mine = sketch(attempt.text)
    for before in facts.recent:
        if before.comment_id == attempt.comment_id or facts.now_ms - before.at_ms >= rule.minutes * 60_000:
            continue
        if mine.is_short or before.sketch.is_short:
            is_again = before.page_id == attempt.page_id and mine.digest == before.sketch.digest
        else:
            is_again = likeness(mine, before.sketch) >= rule.likeness
        if is_again:
            minutes = max(1, round((facts.now_ms - before.at_ms) / 60_000))
            return _hold("repeated_text", f"nearly the same as what the author wrote {_ago(minutes)}")
    return None


def too_fast(facts: Facts, rules: ScreeningRules) -> Objection | None:
    rule, attempt = rules.too_fast, facts.attempt
    if not rule.enabled or attempt.is_edit or not attempt.is_guest or attempt.form_age_ms is None:
        return None
    if attempt.form_age_ms >= rule.seconds * 1000:
        return None
    return _hold("too_fast", f"a guest, and sent {max(0, attempt.form_age_ms) / 1000:.1f} s after the form was shown")


def honeypot(facts: Facts, rules: ScreeningRules) -> Objection | None:
    rule = rules.honeypot
    if not rule.enabled or not facts.attempt.honeypot.strip():
        return None
    reason = Reason(
        code="honeypot", sentence="a field that people do not see was filled in", told="it looks like a program's"
    )
    return Objection(rule.action, reason)


def first_comment(facts: Facts, rules: ScreeningRules) -> Objection | None:
    rule = rules.first_comment
    if not rule.enabled or facts.history.approved >= rule.approvals:
        return None
    # Comments that stood before the rule was switched on speak for an author as one approval does.
    if facts.is_known and rule.approvals == 1:
        return None
    return _hold("first_comment", "the author is new here")


def links(facts: Facts, rules: ScreeningRules) -> Objection | None:
    rule, number = rules.links, facts.attempt.links
    if not rule.enabled or number < (rule.others if facts.is_known else rule.newcomers):
        return None
    by_whom = "" if facts.is_known else " by an author who is new here"
    return _hold("links", f"{number} {'link' if number == 1 else 'links'}{by_whom}")


def words(facts: Facts, rules: ScreeningRules) -> Objection | None:
    rule = rules.words
    if not rule.enabled:
        return None
    places = {"text": facts.attempt.text} | ({"name": facts.attempt.author_name} if rule.names else {})
    for kind, entries in (("refuse", rule.refuse), ("hold", rule.hold)):
        listed = word_list(tuple(entries))
        for place, text in places.items():
            if entries and (found := listed.find(text)):
                reason = Reason(
                    code="word" if place == "text" else "word_in_name",
                    sentence=f"`{quoted(found.text)}` in the {place} (listed as `{quoted(found.entry)}`)",
                    told=f"there is a word in the {place} that this site does not accept",
                )
                return Objection("refuse" if kind == "refuse" else "hold", reason)
    return None


def history(facts: Facts, rules: ScreeningRules) -> Objection | None:
    rule, past = rules.history, facts.history
    if not rule.enabled or past.decided_lately < rule.least:
        return None
    if past.rejected_lately * 100 <= rule.percent * past.decided_lately:
        return None
    return _hold(
        "bad_history",
        f"{past.rejected_lately} of the author's {past.decided_lately} comments of the week were rejected",
    )


def learning(facts: Facts, rules: ScreeningRules) -> Objection | None:
    rule, judgement = rules.learning, facts.judgement
    if not rule.enabled or judgement is None or min(judgement.approved, judgement.rejected) < rule.least:
        return None
    if judgement.sureness < rule.sureness:
        return None
    why = f": {', '.join(judgement.why)}" if judgement.why else ""
    return _hold("looks_like_spam", f"like what was rejected here{why}", told="like what was rejected here")


SCREENS: dict[ScreenName, Screen] = {
    "repeated": repeated,
    "too_fast": too_fast,
    "honeypot": honeypot,
    "first_comment": first_comment,
    "links": links,
    "words": words,
    "history": history,
    "learning": learning,
}


def quoted(text: str) -> str:
    """Somebody's words as they may stand in a sentence: one line, without the marks that end the quotation."""
    return "".join(char for char in text if char.isprintable() and char != "`")[:60]


def _hold(code: str, sentence: str, *, told: str = "") -> Objection:
    return Objection("hold", Reason(code=code, sentence=sentence, told=told))


def _ago(minutes: int) -> str:
    return "a minute ago" if minutes == 1 else f"{minutes} minutes ago"
