"""All that can go wrong, as facts.

    ThreadKitError
    ├── Invalid 400          what was sent cannot be meant
    ├── Unauthenticated 401  we do not know who asks
    ├── Forbidden 403        we know, and the answer is no
    ├── NotFound 404         there is no such thing (for this caller)
    ├── Conflict 409         it clashes with what is there
    ├── TooLarge 413         more bytes than allowed
    ├── NotJson 415          a body without its content type
    ├── WrongShape 422       good JSON, wrong fields
    ├── TooMany 429          later, please
    └── Unavailable 503      our fault, try again
    CannotStart              a command or server that ends with one sentence

A docstring is the sentence that people read; `{facts}` in it are filled in. A `code` is a promise to clients.
"""

from typing import Any, ClassVar


class ThreadKitError(Exception):
    """Something went wrong."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal_error"

    def __init__(self, message: str | None = None, *, headers: dict[str, str] | None = None, **facts: Any) -> None:
        self.message = message or (type(self).__doc__ or "").strip().splitlines()[0].format(**facts)
        self.headers = headers or {}
        self.facts = facts
        super().__init__(self.message)


class Invalid(ThreadKitError):
    """The request is not valid."""

    status = 400
    code = "invalid"


class InvalidJson(Invalid):
    """The body is not valid JSON: {why}"""

    code = "invalid_json"


class InvalidParameter(Invalid):
    """{name}: {why}"""

    code = "invalid_parameter"


class Unauthenticated(ThreadKitError):
    """Authentication is required"""

    status = 401
    code = "unauthenticated"


class MissingApiKey(Unauthenticated):
    """Missing projectid header"""

    code = "missing_api_key"


class UnknownApiKey(Unauthenticated):
    """Invalid API key"""

    code = "invalid_api_key"


class Forbidden(ThreadKitError):
    """You may not do this."""

    status = 403
    code = "forbidden"


class SecretKeyRequired(Forbidden):
    """Secret API key required"""

    code = "secret_key_required"


class OriginNotAllowed(Forbidden):
    """Origin '{host}' is not allowed for this API key"""

    code = "origin_not_allowed"


class NotFound(ThreadKitError):
    """There is nothing here."""

    status = 404
    code = "not_found"


class SiteNotFound(NotFound):
    """There is no site '{site}'."""

    code = "site_not_found"


class MethodNotAllowed(ThreadKitError):
    """This method is not allowed here."""

    status = 405
    code = "method_not_allowed"


class Conflict(ThreadKitError):
    """This clashes with what is already there."""

    status = 409
    code = "conflict"


class ApiKeyTaken(Conflict):
    """The key {key} belongs to another site."""

    code = "api_key_taken"


class SiteTaken(Conflict):
    """There is a site with the id {site_id} already."""

    code = "site_taken"


class SiteChanged(Conflict):
    """The site was changed by somebody else meanwhile. Look again and repeat."""

    code = "site_changed"


class TooLarge(ThreadKitError):
    """The body is larger than {limit} bytes."""

    status = 413
    code = "body_too_large"


class NotJson(ThreadKitError):
    """The body must be JSON and say so: Content-Type: application/json"""

    status = 415
    code = "not_json"


class WrongShape(ThreadKitError):
    """{field}: {why}"""

    status = 422
    code = "wrong_shape"


class TooMany(ThreadKitError):
    """Rate limit exceeded"""

    status = 429
    code = "rate_limited"


class Unavailable(ThreadKitError):
    """ThreadKit cannot answer right now. Please try again."""

    status = 503
    code = "unavailable"


class StoreUnavailable(Unavailable):
    """The store is not reachable right now. Please try again."""

    code = "store_unavailable"


class StoreFull(Unavailable):
    """The store is full. Please try again later."""

    code = "store_full"


class CannotStart(Exception):
    """A command or server that cannot go on; the text says why and what to do."""
