"""What the framework does for every request and at every start, and we can do without."""

from typing import Any

from litestar import Router
from litestar._kwargs import kwargs_model
from litestar._kwargs.dependencies import DependencyContainer, create_dependency_batches
from litestar.handlers import base


def share_handlers() -> None:
    """Litestar gives each guard a copy of its route handler, lest it change it. Ours never do, and the copies took an
    eighth of the time of a vote. A test notices when the library uses the function for anything else."""
    base.copy = _itself  # type: ignore[assignment,attr-defined]


def resolve_in_turn() -> None:
    """What a handler depends on and does not depend on each other Litestar resolves in tasks side by side. None of ours
    waits for anything, and the tasks take longer than all of them together."""
    kwargs_model.create_dependency_batches = _one_by_one  # type: ignore[assignment,attr-defined]


def _one_by_one(wanted: set[DependencyContainer]) -> list[set[DependencyContainer]]:
    return [{one} for together in create_dependency_batches(wanted) for one in together]


def _itself(handler: Any) -> Any:
    return handler


class OwnRouter(Router):
    """Made for one application only. Litestar copies a router, with all that hangs on it, lest two share it."""

    def __deepcopy__(self, _: Any) -> "OwnRouter":
        return self
