"""What went wrong, as a page for those who came with a browser; programs get the problem as ever."""

from typing import Any

import msgspec
from litestar import Response

from threadkit.http.request import Request
from threadkit.problems import PROBLEM_JSON, Problem, ProblemHandlers
from threadkit.render.page import problem_document
from threadkit.render.policy import page_headers
from threadkit.settings import Settings
from threadkit.sites.model import OpenedSite


class ProblemPages:
    def __init__(self, settings: Settings) -> None:
        self._problems = ProblemHandlers(settings)
        self._allow_localhost = settings.allow_localhost_origin

    def table(self) -> dict[Any, Any]:
        return {Exception: self.answer}

    def answer(self, request: Request, error: Exception) -> Response[bytes]:
        plain = self._problems.answer(request, error)
        if "text/html" not in request.headers.get("accept", "") or plain.media_type != PROBLEM_JSON:
            return plain
        problem = msgspec.json.decode(plain.content, type=Problem)
        opened: OpenedSite | None = request.scope["state"].get("opened")
        return Response(
            problem_document(problem.title, problem.detail).encode(),
            media_type="text/html",
            status_code=plain.status_code,
            headers=plain.headers
            | page_headers(opened.site if opened else None, allow_localhost=self._allow_localhost),
        )
