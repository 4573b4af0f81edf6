"""What the framework does for every request and at every start, and we can do without."""

from typing import Any

from litestar import Router
from litestar.handlers import base


def share_handlers() -> None:
    """Litestar gives each guard a copy of its route handler, lest it change it. Ours never do, and the copies took an
    eighth of the time of a vote. A test notices when the library uses the function for anything else."""
    base.copy = _itself  # type: ignore[assignment,attr-defined]


def _itself(handler: Any) -> Any:
    return handler


class OwnRouter(Router):
    """Made for one application only. Litestar copies a router, with all that hangs on it, lest two share it."""

    def __deepcopy__(self, _: Any) -> "OwnRouter":
        return self
