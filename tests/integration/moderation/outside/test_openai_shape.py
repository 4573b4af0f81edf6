"""The moderation service: OpenAI's shape, our categories, and what a site does about them (contract 11.1)."""

from typing import Any

import pytest

from tests.integration.moderation.outside.attempts import attempt, checked
from tests.integration.moderation.outside.conftest import SERVICE_KEY, Change
from tests.integration.moderation.outside.others import MODERATIONS, Others
from threadkit.app import Application


def judged(**scores: float) -> dict[str, Any]:
    named = {name.replace("__", "/").replace("_", "-"): score for name, score in scores.items()}
    categories = {name: score > 0.5 for name, score in named.items()}
    return {"results": [{"flagged": True, "categories": categories, "category_scores": named}]}


async def test_the_text_is_sent_with_the_model_and_the_key(app: Application, change: Change, others: Others) -> None:
    site = await change(content_moderation__enabled=True)
    assert await checked(app.services.outside.checks, attempt(site, text="Hello ünïcode")) is None
    (call,) = others.calls
    assert call.path == MODERATIONS
    assert call.json == {"input": "Hello ünïcode", "model": "omni-moderation-latest"}
    assert call.headers["authorization"] == f"Bearer {SERVICE_KEY}"
    assert call.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    ("scores", "reason"),
    [
        ({"hate": 0.9}, "hate speech"),
        ({"hate__threatening": 0.9}, "hate speech"),
        ({"harassment": 0.7}, "harassment"),
        ({"harassment__threatening": 0.9}, "harassment"),
        ({"sexual": 0.9}, "sexual content"),
        ({"sexual__minors": 0.9}, "sexual content"),
        ({"violence": 0.9}, "violence"),
        ({"violence__graphic": 1}, "violence"),
        ({"self_harm": 0.9}, "self harm"),
        ({"self_harm__intent": 0.9}, "self harm"),
        ({"self_harm__instructions": 0.9}, "self harm"),
        ({"illicit": 0.9}, "illegal activity"),
        ({"illicit__violent": 0.9}, "illegal activity"),
        ({"illicit": 0.99, "hate": 0.8}, "hate speech"),
    ],
    ids=str,
)
async def test_each_category_is_mapped_and_the_first_that_blocks_is_named(
    scores: dict[str, float], reason: str, app: Application, change: Change, others: Others
) -> None:
    others.answers[MODERATIONS] = judged(**scores)
    site = await change(content_moderation__enabled=True)
    verdict = await checked(app.services.outside.checks, attempt(site))
    assert verdict
    assert verdict.kind == "refuse"
    assert (verdict.error().status, verdict.error().message) == (403, f"Content rejected: {reason}")


async def test_below_the_threshold_nothing_is_said(app: Application, change: Change, others: Others) -> None:
    others.answers[MODERATIONS] = judged(hate=0.69)
    site = await change(content_moderation__enabled=True)
    assert await checked(app.services.outside.checks, attempt(site)) is None
    site = await change(content_moderation__confidence_threshold=0.69)
    assert await checked(app.services.outside.checks, attempt(site)) is not None


async def test_a_category_that_the_owner_allows_does_not_block(
    app: Application, change: Change, others: Others
) -> None:
    others.answers[MODERATIONS] = judged(violence=0.99)
    site = await change(content_moderation__enabled=True, content_moderation__blocked_categories__violence=False)
    assert await checked(app.services.outside.checks, attempt(site)) is None


@pytest.mark.parametrize(("action", "kind"), [("queue", "hold"), ("flag", "pass")])
async def test_a_site_may_hold_or_only_note_it(
    action: str, kind: str, app: Application, change: Change, others: Others
) -> None:
    others.answers[MODERATIONS] = judged(hate=0.91)
    site = await change(content_moderation__enabled=True, content_moderation__action=action)
    verdict = await checked(app.services.outside.checks, attempt(site))
    assert verdict
    assert verdict.kind == kind
    assert verdict.reasons[0].sentence == "the moderation service sees hate speech (0.91)"


async def test_a_service_that_says_only_yes_or_no_is_understood(
    app: Application, change: Change, others: Others
) -> None:
    others.answers[MODERATIONS] = {
        "results": [{"flagged": True, "categories": {"hate": True, "illicit": None}, "category_scores": {}}]
    }
    site = await change(content_moderation__enabled=True)
    verdict = await checked(app.services.outside.checks, attempt(site))
    assert verdict
    assert verdict.kind == "refuse"


@pytest.mark.parametrize(
    "answer",
    [
        {},
        [],
        None,
        {"results": []},
        {"results": [{"flagged": "yes", "categories": {}, "category_scores": {}}]},
        {"results": [{"flagged": False, "categories": {}}]},
        {"results": [{"flagged": False, "categories": {}, "category_scores": {"hate": "0.1"}}]},
        {"results": [{"flagged": False, "categories": {}, "category_scores": {"hate": 17}}]},
        {"results": [{"flagged": False, "categories": {}, "category_scores": {"hate": -1}}]},
    ],
    ids=str,
)
async def test_an_answer_of_the_wrong_shape_is_no_answer(
    answer: Any, app: Application, change: Change, others: Others
) -> None:
    others.answers[MODERATIONS] = answer
    site = await change(content_moderation__enabled=True)
    verdict = await checked(app.services.outside.checks, attempt(site))
    assert verdict
    assert (verdict.kind, verdict.reasons[0].code) == ("hold", "outside_check_failed")
