"""What went wrong, as a page for those who came with a browser; programs get the problem as ever."""

from typing import Any

import msgspec
from litestar import Request, Response

from threadkit import problems
from threadkit.problems import PROBLEM_JSON, Problem
from threadkit.render.page import problem_document
from threadkit.render.policy import page_headers
from threadkit.services import services_of
from threadkit.sites.model import OpenedSite


def answer(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    """The exception handler of routes that browsers open."""
    plain = problems.answer(request, error)
    if "text/html" not in request.headers.get("accept", "") or plain.media_type != PROBLEM_JSON:
        return plain
    problem = msgspec.json.decode(plain.content, type=Problem)
    opened: OpenedSite | None = request.scope["state"].get("opened")
    allow_localhost = services_of(request.scope).settings.allow_localhost_origin
    return Response(
        problem_document(problem.title, problem.detail).encode(),
        media_type="text/html",
        status_code=plain.status_code,
        headers=plain.headers | page_headers(opened.site if opened else None, allow_localhost=allow_localhost),
    )
