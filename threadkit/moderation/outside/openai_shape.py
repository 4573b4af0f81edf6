"""A service that judges texts, in the shape of OpenAI's moderation endpoint. Contract 11.1."""

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from threadkit.http.outbound import Outbound, OutboundFailed
from threadkit.moderation.model import Attempt, Kind, Reason
from threadkit.moderation.outside.model import Finding, Visitor
from threadkit.settings import ModerationServiceSettings
from threadkit.sites.model import ContentModerationSettings, Site

Score = Annotated[float, Meta(ge=0, le=1)]

# Our categories, in the order in which they are looked at, and what the service calls them. It knows nothing of spam.
CATEGORIES = {
    "hate_speech": ("hate", "hate/threatening"),
    "harassment": ("harassment", "harassment/threatening"),
    "sexual_content": ("sexual", "sexual/minors"),
    "violence": ("violence", "violence/graphic"),
    "self_harm": ("self-harm", "self-harm/intent", "self-harm/instructions"),
    "illegal_activity": ("illicit", "illicit/violent"),
}
_KINDS: dict[str, Kind] = {"reject": "refuse", "queue": "hold", "flag": "pass"}


class _Result(Struct):
    flagged: bool
    categories: dict[str, bool | None]
    category_scores: dict[str, Score | None]

    def score(self, names: tuple[str, ...]) -> float:
        return max(self._score(name) for name in names)

    def _score(self, name: str) -> float:
        score = self.category_scores.get(name)
        if score is None:  # some services say yes or no, and nothing in between
            return 1.0 if self.categories.get(name) else 0.0
        return score


class _Judgement(Struct):
    results: Annotated[list[_Result], Meta(min_length=1, max_length=100)]


class ModerationService:
    name = "the moderation service"

    def __init__(self, settings: ModerationServiceSettings, outbound: Outbound) -> None:
        self._settings = settings
        self._url = f"{(settings.url or '').rstrip('/')}/moderations"
        self._outbound = outbound

    def is_on(self, site: Site) -> bool:
        return self._settings.enabled and site.settings.content_moderation.enabled

    async def judge(self, attempt: Attempt, _visitor: Visitor) -> Finding | None:
        body = msgspec.json.encode({"input": attempt.text, "model": self._settings.model})
        headers = {"Authorization": f"Bearer {self._settings.key}"}
        answer = await self._outbound.post_json(self._url, body, headers=headers)
        if not answer.is_success:
            raise OutboundFailed(f"it answered {answer.status}")
        return _finding(answer.json(_Judgement).results[0], attempt.site.settings.content_moderation)


def _finding(result: _Result, settings: ContentModerationSettings) -> Finding | None:
    for category, names in CATEGORIES.items():
        score = result.score(names)
        if getattr(settings.blocked_categories, category) and score >= settings.confidence_threshold:
            what = category.replace("_", " ")
            sentence = f"the moderation service sees {what} ({score:.2f})"
            return Finding(_KINDS[settings.action], Reason(code="content_moderation", sentence=sentence, told=what))
    return None
