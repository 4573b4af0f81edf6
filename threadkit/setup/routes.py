"""`/setup`: where the one-time link leads."""

from litestar import Router

router = Router("/", route_handlers=[])
