"""Settings in, application out."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from litestar import Litestar, Router
from litestar.di import Provide
from litestar.enums import ScopeType
from litestar.types import Guard, Receive, Scope, Send

from threadkit import logs, text
from threadkit.clock import Clock
from threadkit.comments import reading_routes as threads
from threadkit.comments import routes as comments
from threadkit.comments.fast_lane import PATH, FastLane
from threadkit.counters import routes as counters
from threadkit.docs import routes as docs
from threadkit.doctor import routes as doctor
from threadkit.health import routes as health
from threadkit.health import store_routes as store_health
from threadkit.health.service import HealthService
from threadkit.http.access_log import AccessLog
from threadkit.http.admission import Admission
from threadkit.http.handlers import OwnRouter, resolve_in_turn, share_handlers
from threadkit.http.ledger import Ledger
from threadkit.http.manners import Manners
from threadkit.http.request import Request
from threadkit.keyring import Keyring
from threadkit.live import routes as live
from threadkit.live.sockets import Sockets
from threadkit.moderation import appeal_routes as appeals
from threadkit.moderation import desk_routes as desk
from threadkit.moderation import log_routes as moderation_log
from threadkit.moderation import people_routes as people
from threadkit.moderation import people_search_routes as people_search
from threadkit.moderation import report_routes as reports
from threadkit.moderation import routes as moderation
from threadkit.moderation import turnstile_routes as turnstile
from threadkit.moderation.outside.model import OutsideEndpoints
from threadkit.notifications import routes as notifications
from threadkit.outbox import routes as outbox
from threadkit.pages import routes as pages
from threadkit.problems import ProblemHandlers
from threadkit.ratelimit import operator_routes as limits_operator
from threadkit.ratelimit import routes as limits
from threadkit.ratelimit.access import by_address, limited
from threadkit.ratelimit.lane import ReaderLimits
from threadkit.render import routes as render
from threadkit.render.access import address_guard, either
from threadkit.render.form import FormTokens, form_limit
from threadkit.render.problem_pages import ProblemPages
from threadkit.render.queries import FeedQueries
from threadkit.sending import routes as sending
from threadkit.server.protocol import Patience
from threadkit.services import build
from threadkit.settings import Settings
from threadkit.setup import routes as setup
from threadkit.sites import admin_routes as site_admin
from threadkit.sites import owner_routes as site_owners
from threadkit.sites import role_routes as site_roles
from threadkit.sites import routes as sites
from threadkit.sites.access import provide_site, site_guard
from threadkit.sites.model import PageRule
from threadkit.staff import routes as staff
from threadkit.storage.checks import check_store
from threadkit.storage.client import Store, StoreAddress
from threadkit.storage.stamp import stamp_store
from threadkit.users import auth_routes as auth
from threadkit.users import routes as users
from threadkit.users.access import provide_device, provide_maybe_viewer, provide_viewer
from threadkit.users.oauth import operator_routes as oauth_operator
from threadkit.users.oauth import routes as oauth
from threadkit.users.oauth.model import ProviderEndpoints
from threadkit.web import assets as web_assets
from threadkit.web import demo_routes as demo
from threadkit.web import routes as web
from threadkit.web import staff_routes as staff_pages


class Application:
    """The whole server as one ASGI application: manners outside, Litestar within."""

    def __init__(
        self,
        settings: Settings,
        address: StoreAddress,
        keyring: Keyring,
        *,
        clock: Clock | None = None,
        endpoints: ProviderEndpoints | None = None,
        outside_endpoints: OutsideEndpoints | None = None,
    ) -> None:
        self.services = build(
            settings,
            keyring,
            Store(address, settings.store),
            clock=clock,
            endpoints=endpoints,
            outside_endpoints=outside_endpoints,
        )
        self.metrics = self.services.metrics
        self.addresses = self.services.addresses
        self.health = HealthService(
            store=self.services.store,
            keys=self.services.keys,
            settings=settings,
            site_queries=self.services.site_queries,
            metrics=self.metrics,
            limiter_outage=self.services.limiter_outage,
        )
        self.litestar = self._litestar()
        self.access_log = AccessLog(settings, self.addresses, as_text=logs.writes_text(settings))
        manners = Manners(self.litestar, access_log=self.access_log, metrics=self.metrics)
        ledger = Ledger(PATH, tally=self.services.tally, metrics=self.metrics, access_log=self.access_log)
        self.fast_lane = FastLane(
            manners,
            threads=self.services.threads,
            snapshots=self.services.snapshots,
            site_queries=self.services.site_queries,
            clock=self.services.clock,
            ledger=ledger,
            limits=self._reader_limits(),
            pages=self._page_rule(),
        )

        self.admission = Admission(self.fast_lane, settings=settings.limits, metrics=self.metrics)
        self.services.outbox.is_server_busy = lambda: self.admission.is_overloaded
        self.patience = Patience(settings.limits.header_timeout_s, settings.limits.body_timeout_s)

        self._sockets = Sockets(
            hub=self.services.hub,
            site_queries=self.services.site_queries,
            sessions=self.services.sessions,
            addresses=self.addresses,
            tally=self.services.tally,
            clock=self.services.clock,
            meters=self.services.live_meters,
            settings=settings.live,
            pages=self._page_rule(),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == ScopeType.WEBSOCKET:
            await self._sockets(scope, receive, send)
        else:
            await self.admission(scope, receive, send)

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Everything that lives as long as a worker. Servers come here through ASGI, tests directly."""
        services = self.services
        self.health.found_at_start = await check_store(services.store, services.keys, services.settings)
        await stamp_store(services.store.redis, services.keys, services.keyring, services.clock)
        await asyncio.to_thread(text.warm_up)
        await services.start()
        try:
            yield
        finally:
            await services.stop()
            self.access_log.flush()

    def _litestar(self) -> Litestar:
        settings, services = self.services.settings, self.services
        opens_site = site_guard(
            services.site_queries,
            services.sessions.claims_of,
            pages=self._page_rule(),
            on_opened=services.tally.request,
        )
        opens_by_address = address_guard(
            opens_site,
            services.site_queries,
            base_url=settings.base_url,
            allow_localhost=settings.allow_localhost_origin,
            on_opened=services.tally.request,
        )
        opens_site, opens_by_address = (
            limited(opens, limits=services.request_limits, addresses=self.addresses, sessions=services.sessions)
            for opens in (opens_site, opens_by_address)
        )
        api = OwnRouter(
            "/v1",
            route_handlers=[
                sites.router,
                site_admin.router,
                site_roles.router,
                site_owners.router,
                doctor.router,
                auth.router,
                users.router,
                threads.router,
                comments.router,
                pages.router,
                moderation.router,
                people.router,
                people_search.router,
                reports.router,
                appeals.router,
                desk.router,
                moderation_log.router,
                counters.router,
                notifications.router,
                turnstile.router,
                users.create_user,
                sending.router,
                oauth_operator.router,
                outbox.router,
                store_health.router,
                limits_operator.router,
            ],
            guards=[either(opens_site, opens_by_address)],
            dependencies={
                "site": Provide(provide_site),
                "viewer": Provide(provide_viewer),
                "maybe_viewer": Provide(provide_maybe_viewer),
                "device": Provide(provide_device),
            },
        )
        share_handlers()
        resolve_in_turn()
        litestar = Litestar(
            route_handlers=[
                api,
                OwnRouter(
                    "/v1",
                    route_handlers=[live.router],
                    guards=[opens_by_address],
                    dependencies={
                        "site": Provide(provide_site),
                        "maybe_viewer": Provide(provide_maybe_viewer),
                    },
                ),
                self._without_scripts(opens_by_address),
                OwnRouter(
                    "/",
                    route_handlers=[
                        users.check_name_alias,
                        site_admin.deletion_progress,
                        turnstile.challenge,
                        turnstile.challenge_alias,
                        limits.usage,
                        setup.router,
                        staff.router,
                        oauth.router,
                    ],
                    guards=[by_address(limits=services.request_limits, addresses=self.addresses)],
                ),
                users.avatar,
                health.router,
                docs.router,
                self._web(),
            ],
            request_class=Request,
            exception_handlers=ProblemHandlers(settings).table(),
            dependencies={
                "services": Provide(lambda: services, sync_to_thread=False),
                "health_service": Provide(lambda: self.health, sync_to_thread=False),
                "addresses": Provide(lambda: self.addresses, sync_to_thread=False),
            },
            lifespan=[lambda _: self.lifespan()],
            request_max_body_size=settings.body_limit,
            openapi_config=docs.openapi_config(),
            logging_config=None,
            debug=False,
        )
        litestar.state.services = services  # for guards, which get no dependencies
        return litestar

    def _reader_limits(self) -> ReaderLimits | None:
        limits = self.services.request_limits
        return ReaderLimits(limits, addresses=self.addresses, clock=self.services.clock) if limits.is_on else None

    def _page_rule(self) -> PageRule:
        settings = self.services.settings
        return PageRule.of(settings.base_url, allow_localhost=settings.allow_localhost_origin)

    def _web(self) -> Router:
        """What browsers load: the embed, and pages of ours that show it."""
        settings, assets, staff_assets = self.services.settings, web_assets.packaged(), web_assets.packaged_staff()
        pages = OwnRouter(
            "/",
            route_handlers=[web.frame_router, *([demo.router] if settings.demo else [])],
            exception_handlers=ProblemPages(settings).table(),
        )
        return OwnRouter(
            "/",
            route_handlers=[web.router, staff_pages.router, pages],
            dependencies={
                "assets": Provide(lambda: assets, sync_to_thread=False),
                "staff_assets": Provide(lambda: staff_assets, sync_to_thread=False),
            },
        )

    def _without_scripts(self, opens_by_address: Guard) -> Router:
        """What is reached by an address alone: finished HTML, its form, and feeds."""
        settings, services = self.services.settings, self.services
        tokens = FormTokens(services.keyring.derive("form"), services.clock)
        queries = FeedQueries(redis=services.store.redis, keys=services.keys, comment_queries=services.comment_queries)
        return OwnRouter(
            "/v1",
            route_handlers=[render.router],
            guards=[opens_by_address],
            dependencies={
                "site": Provide(provide_site),
                "device": Provide(provide_device),
                "form_tokens": Provide(lambda: tokens, sync_to_thread=False),
                "feed_queries": Provide(lambda: queries, sync_to_thread=False),
            },
            exception_handlers=ProblemPages(settings).table(),
            request_max_body_size=form_limit(settings),
        )


def create_app(
    settings: Settings,
    address: StoreAddress,
    keyring: Keyring,
    *,
    clock: Clock | None = None,
    endpoints: ProviderEndpoints | None = None,
    outside_endpoints: OutsideEndpoints | None = None,
) -> Application:
    return Application(
        settings, address, keyring, clock=clock, endpoints=endpoints, outside_endpoints=outside_endpoints
    )
