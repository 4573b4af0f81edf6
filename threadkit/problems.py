"""Errors become `application/problem+json`, or the bare sentence for those who ask for it."""

from typing import Any

import msgspec
import structlog
from litestar import Request, Response
from litestar.exceptions import (
    HTTPException,
    MethodNotAllowedException,
    NotFoundException,
    ValidationException,
)
from redis.exceptions import (
    AuthenticationError,
    BusyLoadingError,
    ClusterError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    TryAgainError,
)
from redis.exceptions import ConnectionError as StoreConnectionError
from redis.exceptions import TimeoutError as StoreTimeoutError

from threadkit.errors import (
    Invalid,
    InvalidParameter,
    MethodNotAllowed,
    NotFound,
    StoreFull,
    StoreUnavailable,
    ThreadKitError,
    WrongShape,
)
from threadkit.services import services_of
from threadkit.sites.model import OpenedSite

log = structlog.get_logger()

PROBLEM_JSON = "application/problem+json"
RETRY_AFTER_S = 2


class Problem(msgspec.Struct, omit_defaults=True):
    """RFC 9457, plus `error` (the same sentence) for the stock clients and `code` for programs."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    error: str
    request_id: str = ""
    retry_after: int | None = None
    field: str | None = None
    until: str | None = None
    claimed_by: Any = None
    layer: str | None = None
    limit_type: str | None = None


_TITLES = {
    400: "Bad request",
    401: "Not signed in",
    403: "Forbidden",
    404: "Not found",
    405: "Method not allowed",
    409: "Conflict",
    410: "Gone",
    413: "Too large",
    415: "Unsupported media type",
    422: "Wrong shape",
    429: "Too many requests",
    500: "Our fault",
    503: "Unavailable",
}


def answer(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    """The exception handler of all routes."""
    known = as_known(error)
    if known is None:
        log.exception("unhandled", exc_info=error, path=request.scope["path"])
        known = ThreadKitError("Something went wrong on our side. The log tells more under this request id.")
    return response(known, request_id=request.scope["state"].get("request_id", ""), as_text=_wants_text(request))


def _wants_text(request: Request[Any, Any, Any]) -> bool:
    accept = request.headers.get("accept", "")
    if accept.startswith("text/plain"):
        return True
    opened: OpenedSite | None = request.scope["state"].get("opened")
    of_site = opened.site.settings.errors if opened else None
    return (of_site or services_of(request.scope).settings.errors) == "text"


def response(error: ThreadKitError, *, request_id: str = "", as_text: bool = False) -> Response[bytes]:
    headers = {"Cache-Control": "no-store", **error.headers}
    if (retry_after := _retry_after(error)) is not None:
        headers["Retry-After"] = str(retry_after)
    if as_text:
        return Response(error.message.encode(), status_code=error.status, media_type="text/plain", headers=headers)
    problem = problem_of(error, request_id=request_id)
    return Response(msgspec.json.encode(problem), status_code=error.status, media_type=PROBLEM_JSON, headers=headers)


def problem_of(error: ThreadKitError, *, request_id: str = "") -> Problem:
    return Problem(
        type=f"urn:threadkit:problem:{error.code}",
        title=_TITLES.get(error.status, "Error"),
        status=error.status,
        detail=error.message,
        code=error.code,
        error=error.message,
        request_id=request_id,
        retry_after=_retry_after(error),
        field=error.facts.get("field"),
        until=error.facts.get("until"),
        claimed_by=error.facts.get("claimed_by"),
        layer=error.facts.get("layer"),
        limit_type=error.facts.get("limit_type"),
    )


def _retry_after(error: ThreadKitError) -> int | None:
    retry_after: int | None = error.facts.get("retry_after_s")
    return RETRY_AFTER_S if retry_after is None and error.status == 503 else retry_after


def as_known(error: Exception) -> ThreadKitError | None:
    """Any error as one of ours; None for what nobody foresaw."""
    match error:
        case ThreadKitError():
            return error
        case OutOfMemoryError():
            return StoreFull()
        case AuthenticationError() | BusyLoadingError() | StoreConnectionError() | StoreTimeoutError():
            return StoreUnavailable()
        case ReadOnlyError() | ClusterError() | TryAgainError():
            return StoreUnavailable()
        case RedisError() if any(word in str(error) for word in ("MISCONF", "NOREPLICAS", "BUSY ")):
            return StoreUnavailable()
        case ValidationException():
            return _validation(error)
        case NotFoundException():
            return NotFound()
        case MethodNotAllowedException():
            return MethodNotAllowed(headers=dict(error.headers or {}))
        case HTTPException() if 400 <= error.status_code < 500:
            return Invalid(error.detail)
    return None


def _validation(error: ValidationException) -> ThreadKitError:
    """A wrong body is 422, a wrong parameter 400; both name the field."""
    first: dict[str, Any] = {}
    if isinstance(error.extra, list) and error.extra and isinstance(error.extra[0], dict):
        first = error.extra[0]
    if not first:
        return InvalidParameter(error.detail)
    field, why, source = str(first.get("key", "")), str(first.get("message", "is not valid")), first.get("source")
    if source == "body" or field == "data" or source is None:
        return WrongShape(field=field if field != "data" else "body", why=why)
    return InvalidParameter(name=field, why=why, field=field)
