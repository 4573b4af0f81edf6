"""The table of all routes, made once a process; which application is asked comes with the request."""

import functools

from litestar import Litestar
from litestar.di import Provide

from threadkit import problems
from threadkit.comments import reading_routes as threads
from threadkit.comments import routes as comments
from threadkit.counters import routes as counters
from threadkit.docs import routes as docs
from threadkit.doctor import routes as doctor
from threadkit.health import routes as health
from threadkit.health import store_routes as store_health
from threadkit.http.request import Request
from threadkit.http.routing import Router
from threadkit.live import routes as live
from threadkit.moderation import appeal_routes as appeals
from threadkit.moderation import desk_routes as desk
from threadkit.moderation import log_routes as moderation_log
from threadkit.moderation import people_routes as people
from threadkit.moderation import people_search_routes as people_search
from threadkit.moderation import report_routes as reports
from threadkit.moderation import routes as moderation
from threadkit.moderation import turnstile_routes as turnstile
from threadkit.notifications import routes as notifications
from threadkit.outbox import routes as outbox
from threadkit.pages import routes as pages
from threadkit.ratelimit import operator_routes as limits_operator
from threadkit.ratelimit import routes as limits
from threadkit.ratelimit.access import by_address, limited
from threadkit.render import problem_pages
from threadkit.render import routes as render
from threadkit.render.access import open_site_by_address, open_site_by_either
from threadkit.sending import routes as sending
from threadkit.services import provide_addresses, provide_services
from threadkit.setup import routes as setup
from threadkit.sites import admin_routes as site_admin
from threadkit.sites import owner_routes as site_owners
from threadkit.sites import role_routes as site_roles
from threadkit.sites import routes as sites
from threadkit.sites.access import provide_site
from threadkit.staff import routes as staff
from threadkit.users import auth_routes as auth
from threadkit.users import routes as users
from threadkit.users.access import provide_device, provide_maybe_viewer, provide_viewer
from threadkit.users.oauth import operator_routes as oauth_operator
from threadkit.users.oauth import routes as oauth
from threadkit.web import demo_routes as demo
from threadkit.web import routes as web
from threadkit.web import staff_routes as staff_pages

_OF_A_REQUEST = {
    "services": Provide(provide_services),
    "addresses": Provide(provide_addresses),
    "site": Provide(provide_site),
    "viewer": Provide(provide_viewer),
    "maybe_viewer": Provide(provide_maybe_viewer),
    "device": Provide(provide_device),
}


@functools.cache
def route_table() -> Litestar:
    return Litestar(
        route_handlers=[
            _api(),
            _by_address_too(),
            _of_no_site(),
            users.avatar,
            health.router,
            docs.router,
            web.router,
            staff_pages.router,
            _pages(),
        ],
        request_class=Request,
        exception_handlers={Exception: problems.answer},
        dependencies=_OF_A_REQUEST,
        request_max_body_size=None,  # our request counts, by the settings of the application that is asked
        openapi_config=docs.openapi_config(),
        logging_config=None,
        debug=False,
    )


def _api() -> Router:
    return Router(
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
        guards=[limited(open_site_by_either)],
    )


def _by_address_too() -> Router:
    """What links, frames, feed readers and event sources reach, which cannot send a header."""
    return Router(
        "/v1",
        route_handlers=[
            live.router,
            Router("/", route_handlers=[render.router], exception_handlers={Exception: problem_pages.answer}),
        ],
        guards=[limited(open_site_by_address)],
    )


def _of_no_site() -> Router:
    return Router(
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
        guards=[by_address],
    )


def _pages() -> Router:
    """Pages of ours that show the embed."""
    return Router(
        "/", route_handlers=[web.frame_router, demo.router], exception_handlers={Exception: problem_pages.answer}
    )
