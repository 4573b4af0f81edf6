"""Our routes. The table of them is made once a process, and what a request needs comes with its scope."""

from functools import partial
from typing import Any

from litestar import Router as LitestarRouter
from litestar.connection import ASGIConnection
from litestar.enums import HttpMethod
from litestar.handlers import HTTPRouteHandler


class Route(HTTPRouteHandler):
    """A route without two things the framework does for every request and ours can do without."""

    async def authorize_connection(self, connection: ASGIConnection[Any, Any, Any, Any]) -> None:
        """Guards get the route itself. A copy for each, lest it be changed, took an eighth of the time of a vote."""
        for guard in self.resolve_guards():
            await guard(connection, self)  # type: ignore[misc]

    def create_kwargs_model(self, path_parameters: Any) -> Any:
        """One dependency after the other. None of ours waits, and a task for each took longer than all of them."""
        model = super().create_kwargs_model(path_parameters)
        model.dependency_batches = [{dependency} for batch in model.dependency_batches for dependency in batch]
        return model


class Router(LitestarRouter):
    """Stands in one table only. The framework copies a router with all that hangs on it, lest two share it."""

    def __deepcopy__(self, _: Any) -> "Router":
        return self


get = partial(Route, http_method=HttpMethod.GET)
post = partial(Route, http_method=HttpMethod.POST)
put = partial(Route, http_method=HttpMethod.PUT)
patch = partial(Route, http_method=HttpMethod.PATCH)
delete = partial(Route, http_method=HttpMethod.DELETE)
