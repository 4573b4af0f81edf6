"""`/health`, `/readyz`, `/version`, `/metrics`: outside `/v1`, without a key."""

import hmac
import os
from typing import Literal

from litestar import Response
from litestar.di import NamedDependency
from msgspec import UNSET, Struct, UnsetType
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest, multiprocess

from threadkit import __version__
from threadkit.errors import Unauthenticated
from threadkit.health.service import Checks
from threadkit.http.client_address import ClientAddresses
from threadkit.http.metrics import Metrics
from threadkit.http.request import Request
from threadkit.http.routing import Router, get
from threadkit.services import Services


class Health(Struct):
    status: Literal["healthy", "degraded"]
    redis: Literal["connected", "disconnected"]


class Readiness(Struct):
    status: Literal["ready", "not_ready"]
    checks: Checks | UnsetType = UNSET


class Version(Struct):
    version: str
    git_commit: str
    build_date: str


@get("/health", summary="Does it run?")
async def health(services: NamedDependency[Services]) -> Response[Health]:
    """200 while the store answers, 503 while it does not."""
    if await services.health.store_answers():
        return Response(Health("healthy", "connected"))
    return Response(Health("degraded", "disconnected"), status_code=503)


@get("/healthz", summary="Is the program alive?")
async def healthz(services: NamedDependency[Services]) -> Health:
    """200 at once, whatever the store does: for programs that start this one again when it does not answer. A restart would
    forget the pages that are shown while the store is away. The body says what was last heard of the store."""
    if services.listener.is_listening and not services.store.is_quiet:
        return Health("healthy", "connected")
    return Health("degraded", "disconnected")


@get("/readyz", summary="May traffic be sent here?")
async def readyz(
    request: Request,
    services: NamedDependency[Services],
) -> Response[Readiness]:
    """200 when everything a visitor needs works, else 503. The details are for holders of a secret key, or of the
    metrics' token, which works without the store too."""
    checks = await services.health.checks(live_updates=services.listener.hears_all)
    is_ready = checks.redis_reachable and checks.redis_writable and checks.rate_limiter_ok
    readiness = Readiness("ready" if is_ready else "not_ready")
    api_key = request.headers.get("projectid") or request.headers.get("x-api-key")
    if api_key and is_ready:
        opened = await services.site_queries.opened_by(api_key)
        if opened and opened.is_owner:
            readiness.checks = checks
    if (token := services.settings.metrics_token) and _is_bearer(request, token):
        readiness.checks = checks
    return Response(readiness, status_code=200 if is_ready else 503)


@get("/version", summary="What is it?")
async def version() -> Version:
    return Version(
        __version__,
        os.environ.get("THREADKIT_GIT_COMMIT", "unknown"),
        os.environ.get("THREADKIT_BUILD_DATE", "unknown"),
    )


@get("/metrics", summary="How does it fare?", include_in_schema=False)
async def metrics(
    request: Request,
    services: NamedDependency[Services],
    addresses: NamedDependency[ClientAddresses],
) -> Response[bytes]:
    """For Prometheus: with the token of the settings, or without one from this machine only."""
    _may_read_metrics(request, services.settings.metrics_token, addresses)
    await services.health.measure()
    return Response(_all_workers(services.health.metrics), headers={"Content-Type": CONTENT_TYPE_LATEST})


def _may_read_metrics(request: Request, token: str | None, addresses: ClientAddresses) -> None:
    if token is None:
        if not addresses.is_local(request.scope):
            raise Unauthenticated("Set metrics_token to read the metrics from another machine.")
    elif not _is_bearer(request, token):
        raise Unauthenticated("The metrics need the token of the setting metrics_token.")


def _is_bearer(request: Request, token: str) -> bool:
    return hmac.compare_digest(request.headers.get("authorization", "").encode(), f"Bearer {token}".encode())


def _all_workers(meters: Metrics) -> bytes:
    meters.settle()
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return generate_latest(meters.registry)
    everybody = CollectorRegistry()
    multiprocess.MultiProcessCollector(everybody)  # type: ignore[no-untyped-call]
    return generate_latest(everybody)


router = Router("/", route_handlers=[health, healthz, readyz, version, metrics], tags=["Server"])
