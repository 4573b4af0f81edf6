"""Who may do what: one table for every route. A route that is not in it fails the test."""

from dataclasses import dataclass

import httpx
import pytest

from tests.people import Person, create, guest
from threadkit.app import Application
from threadkit.sites.model import NewSite
from threadkit.sites.roles import Role

SOMEBODY = "01a1e1d5-9217-7000-be42-7b27b41a2a52"

# open: no key is asked for · key: any key of the site · user: a signed-in user of the site · moderator: or more ·
# admin: or more · secret: the secret key · managing: the secret key, an admin or more · owner: the secret key or an owner ·
# operator: the same, of the server's first site only
ROUTES = {
    ("GET", "/"): "open",
    ("GET", "/health"): "open",
    ("GET", "/readyz"): "open",
    ("GET", "/version"): "open",
    ("GET", "/api/config/usage"): "open",
    ("GET", "/metrics"): "open",
    ("GET", "/openapi.json"): "open",
    ("GET", "/docs"): "open",
    ("GET", "/docs/openapi.json"): "open",
    ("GET", "/docs/style.css"): "open",
    ("GET", "/docs/{path}"): "open",
    ("GET", "/embed.js"): "open",
    ("GET", "/count.js"): "open",
    ("GET", "/favicon.svg"): "open",
    ("GET", "/favicon.ico"): "open",
    ("GET", "/embed/{path}"): "open",
    ("GET", "/embed/frame"): "open",
    ("GET", "/mod"): "open",
    ("GET", "/admin"): "open",
    ("GET", "/staff/{path}"): "open",
    # These belong to no site: they go by the cookie of the pages for staff.
    ("POST", "/v1/staff/code"): "open",
    ("POST", "/v1/staff/sign-in"): "open",
    ("GET", "/v1/staff/session"): "open",
    ("POST", "/v1/staff/session"): "open",
    ("DELETE", "/v1/staff/session"): "open",
    ("POST", "/v1/staff/token"): "open",
    ("POST", "/v1/staff/confirm"): "open",
    ("GET", "/v1/staff/ways"): "open",
    ("POST", "/v1/staff/sign-in/passkey/options"): "open",
    ("POST", "/v1/staff/sign-in/passkey"): "open",
    ("GET", "/v1/staff/second-step"): "open",
    ("POST", "/v1/staff/second-step"): "open",
    ("POST", "/v1/staff/second-step/passkey/options"): "open",
    ("POST", "/v1/staff/totp"): "open",
    ("PUT", "/v1/staff/totp"): "open",
    ("DELETE", "/v1/staff/totp"): "open",
    ("POST", "/v1/staff/recovery-codes"): "open",
    ("POST", "/v1/staff/passkeys/options"): "open",
    ("POST", "/v1/staff/passkeys"): "open",
    ("PATCH", "/v1/staff/passkeys/{passkey_id}"): "open",
    ("DELETE", "/v1/staff/passkeys/{passkey_id}"): "open",
    ("GET", "/setup"): "open",
    ("POST", "/setup"): "open",
    ("GET", "/setup/done"): "open",
    ("GET", "/avatar/{name}"): "open",
    ("GET", "/auth/{provider}"): "open",
    ("GET", "/auth/{provider}/callback"): "open",
    ("GET", "/api/discord/me"): "open",
    ("POST", "/api/auth/logout"): "open",
    ("POST", "/v1/v1/users/check-username"): "open",
    ("GET", "/v1/turnstile/challenge"): "open",
    ("GET", "/v1/v1/turnstile/challenge"): "open",
    ("GET", "/v1/turnstile/config"): "key",
    ("POST", "/v1/turnstile/verify"): "key",
    ("GET", "/v1/site"): "key",
    ("GET", "/v1/auth/methods"): "key",
    ("POST", "/v1/auth/send-otp"): "key",
    ("POST", "/v1/auth/verify-otp"): "key",
    ("POST", "/v1/auth/anonymous"): "key",
    ("POST", "/v1/auth/sso"): "key",
    ("POST", "/v1/auth/refresh"): "key",
    ("POST", "/v1/auth/register"): "key",
    ("POST", "/v1/auth/login"): "key",
    ("POST", "/v1/auth/verify"): "key",
    ("POST", "/v1/auth/forgot"): "key",
    ("POST", "/v1/auth/reset"): "key",
    ("POST", "/v1/users/check-username"): "key",
    ("GET", "/v1/users/{user_id}"): "key",
    ("POST", "/v1/auth/logout"): "user",
    ("GET", "/v1/users/me"): "user",
    ("PUT", "/v1/users/me"): "user",
    ("DELETE", "/v1/users/me"): "user",
    ("PUT", "/v1/users/me/password"): "user",
    ("GET", "/v1/users/me/export"): "user",
    ("GET", "/v1/users/me/blocked"): "user",
    ("GET", "/v1/users/me/sessions"): "user",
    ("DELETE", "/v1/users/me/sessions"): "user",
    ("DELETE", "/v1/users/me/sessions/{session_id}"): "user",
    ("POST", "/v1/users/{user_id}/block"): "user",
    ("DELETE", "/v1/users/{user_id}/block"): "user",
    ("POST", "/v1/users/{user_id}/unblock"): "user",
    ("GET", "/v1/notifications"): "user",
    ("POST", "/v1/notifications/read"): "user",
    ("POST", "/v1/notifications/{notification_id}/read"): "user",
    ("DELETE", "/v1/notifications/{notification_id}"): "user",
    ("GET", "/v1/notifications/settings"): "user",
    ("PUT", "/v1/notifications/settings"): "user",
    ("GET", "/v1/comments"): "key",
    ("POST", "/v1/comments"): "key",
    ("POST", "/v1/comments/preview"): "key",
    ("GET", "/v1/counts"): "key",
    ("GET", "/v1/users/{user_id}/comments"): "key",
    ("GET", "/v1/users/me/comments"): "user",
    ("GET", "/v1/pages/my_votes"): "user",
    ("PUT", "/v1/comments/{comment_id}"): "user",
    ("PATCH", "/v1/comments/{comment_id}"): "user",
    ("DELETE", "/v1/comments/{comment_id}"): "user",
    ("POST", "/v1/comments/{comment_id}/vote"): "user",
    ("POST", "/v1/comments/{comment_id}/pin"): "moderator",
    ("GET", "/v1/comments/{comment_id}/replies"): "key",
    ("GET", "/v1/admin/sites/{site_id}/pages"): "moderator",
    ("GET", "/v1/admin/pages/{page_id}/posting"): "admin",
    ("PUT", "/v1/admin/pages/{page_id}/posting"): "admin",
    ("POST", "/v1/comments/{comment_id}/report"): "user",
    ("POST", "/v1/users/{user_id}/ban"): "moderator",
    ("GET", "/v1/moderation/queue"): "moderator",
    ("GET", "/v1/moderation/comments/{comment_id}"): "moderator",
    ("GET", "/v1/moderation/reports"): "moderator",
    ("GET", "/v1/moderation/log"): "moderator",
    ("GET", "/v1/moderation/log.csv"): "admin",
    ("GET", "/v1/moderation/log.jsonl"): "admin",
    ("GET", "/v1/moderation/appeals"): "moderator",
    ("POST", "/v1/moderation/appeals/{comment_id}"): "moderator",
    ("POST", "/v1/comments/{comment_id}/appeal"): "user",
    ("POST", "/v1/moderation/approve/{comment_id}"): "moderator",
    ("POST", "/v1/moderation/reject/{comment_id}"): "moderator",
    ("POST", "/v1/moderation/spam/{comment_id}"): "moderator",
    ("POST", "/v1/moderation/bulk"): "moderator",
    ("POST", "/v1/moderation/delete/{comment_id}"): "moderator",
    ("POST", "/v1/moderation/claim/{comment_id}"): "moderator",
    ("DELETE", "/v1/moderation/claim/{comment_id}"): "moderator",
    ("GET", "/v1/moderation/counts"): "moderator",
    ("GET", "/v1/moderation/events"): "moderator",
    ("POST", "/v1/moderation/undo"): "moderator",
    ("POST", "/v1/moderation/undo/{entry_id}"): "moderator",
    ("POST", "/v1/moderation/reports/{comment_id}/dismiss"): "moderator",
    ("POST", "/v1/moderation/ban/{user_id}"): "moderator",
    ("POST", "/v1/moderation/unban/{user_id}"): "moderator",
    ("POST", "/v1/moderation/shadowban/{user_id}"): "moderator",
    ("DELETE", "/v1/moderation/shadowban/{user_id}"): "moderator",
    ("POST", "/v1/moderation/users/{user_id}/delete-comments"): "moderator",
    ("GET", "/v1/moderation/jobs"): "moderator",
    ("GET", "/v1/moderation/jobs/{job_id}"): "moderator",
    ("DELETE", "/v1/moderation/jobs/{job_id}"): "moderator",
    ("GET", "/v1/moderation/users"): "moderator",
    ("GET", "/v1/moderation/users/{user_id}"): "moderator",
    ("GET", "/v1/moderation/users/{user_id}/notes"): "moderator",
    ("POST", "/v1/moderation/users/{user_id}/notes"): "moderator",
    ("DELETE", "/v1/moderation/users/{user_id}/notes/{note_id}"): "moderator",
    ("POST", "/v1/admin/users/{user_id}/ban"): "owner",
    ("DELETE", "/v1/admin/users/{user_id}/ban"): "owner",
    ("GET", "/v1/events"): "key",
    ("GET", "/v1/changes"): "key",
    ("GET", "/v1/render"): "key",
    ("POST", "/v1/render"): "key",
    ("GET", "/v1/feed.rss"): "key",
    ("GET", "/v1/feed.atom"): "key",
    ("POST", "/v1/admin/create-user"): "secret",
    ("GET", "/v1/deletions/{deletion_id}"): "open",
    ("POST", "/v1/admin/sites"): "owner",
    ("GET", "/v1/admin/doctor"): "owner",
    ("GET", "/v1/admin/sites/{site_id}"): "owner",
    ("PATCH", "/v1/admin/sites/{site_id}"): "owner",
    ("DELETE", "/v1/admin/sites/{site_id}"): "owner",
    ("POST", "/v1/admin/sites/{site_id}/keys/{kind}/rotate"): "owner",
    ("GET", "/v1/admin/sites/{site_id}/keys"): "owner",
    ("GET", "/v1/admin/sites/{site_id}/settings/schema"): "owner",
    ("GET", "/v1/admin/sites/{site_id}/staff"): "managing",
    ("GET", "/v1/admin/sites/{site_id}/owners"): "owner",
    ("POST", "/v1/admin/sites/{site_id}/owners"): "owner",
    ("DELETE", "/v1/admin/sites/{site_id}/owners/{user_id}"): "owner",
    ("GET", "/v1/admin/sites/{site_id}/admins"): "owner",
    ("POST", "/v1/admin/sites/{site_id}/admins"): "owner",
    ("DELETE", "/v1/admin/sites/{site_id}/admins/{user_id}"): "owner",
    ("GET", "/v1/admin/sites/{site_id}/moderators"): "managing",
    ("POST", "/v1/admin/sites/{site_id}/moderators"): "managing",
    ("DELETE", "/v1/admin/sites/{site_id}/moderators/{user_id}"): "managing",
    ("GET", "/v1/admin/sites/{site_id}/posting"): "managing",
    ("PUT", "/v1/admin/sites/{site_id}/posting"): "managing",
    ("GET", "/v1/admin/sites/{site_id}/comments"): "moderator",
    ("GET", "/v1/admin/sites/{site_id}/owner/comments"): "owner",
    ("GET", "/v1/admin/sites/{site_id}/usage"): "admin",
    ("GET", "/v1/admin/pages/{page_id}/views"): "admin",
    ("POST", "/v1/admin/server/mail/test"): "operator",
    ("GET", "/v1/admin/server/store"): "operator",
    ("GET", "/v1/admin/server/limits"): "operator",
    ("GET", "/v1/admin/server/outbox"): "operator",
    ("POST", "/v1/admin/server/outbox/retry-all"): "operator",
    ("POST", "/v1/admin/server/outbox/{letter_id}/retry"): "operator",
    ("DELETE", "/v1/admin/server/outbox/{letter_id}"): "operator",
    ("GET", "/v1/admin/server/providers"): "operator",
    ("POST", "/v1/admin/server/providers/{name}/test"): "operator",
}

# What each kind of caller gets on each kind of route: a refusal, or None where the route itself decides.
KINDS = ("open", "key", "user", "moderator", "admin", "managing", "owner", "secret", "operator")
_TABLE: dict[str, tuple[int | None, ...]] = {
    "nobody": (None, 401, 401, 401, 401, 401, 401, 401, 401),
    "anonymous": (None, None, 401, 401, 401, 401, 403, 403, 403),
    "guest": (None, None, None, 403, 403, 403, 403, 403, 403),
    "user": (None, None, None, 403, 403, 403, 403, 403, 403),
    "other site's user": (None, None, 401, 401, 401, 401, 401, 403, 401),
    "moderator": (None, None, None, None, 403, 403, 403, 403, 403),
    "admin": (None, None, None, None, None, None, 403, 403, 403),
    "owner": (None, None, None, None, None, None, None, 403, None),
    "secret key": (None, None, 401, 401, 401, None, None, None, None),
    "foreign page": (None, 403, 403, 403, 403, 403, 403, 403, 403),
}
REFUSALS = {caller: dict(zip(KINDS, row, strict=True)) for caller, row in _TABLE.items()}


@dataclass
class Callers:
    headers: dict[str, dict[str, str]]


@pytest.fixture
async def callers(app: Application, http: httpx.AsyncClient, new_site: NewSite) -> Callers:
    site = new_site.site
    other = await app.services.sites.create("Other", "other.example")
    key = {"projectid": site.api_key_public}

    def signed_in(person: Person) -> dict[str, str]:
        return key | {"authorization": f"Bearer {person.token}"}

    moderator, admin = await create(http, new_site, "mod"), await create(http, new_site, "adm")
    await app.services.roles.grant(site.id, moderator.id, Role.MODERATOR)  # type: ignore[arg-type]
    await app.services.roles.grant(site.id, admin.id, Role.ADMIN)  # type: ignore[arg-type]
    owner = await create(http, new_site, "own")
    await app.services.roles.grant(site.id, owner.id, Role.OWNER)  # type: ignore[arg-type]
    user = await create(http, new_site, "user")
    return Callers(
        {
            "nobody": {},
            "anonymous": key,
            "guest": signed_in(await guest(http, new_site)),
            "user": signed_in(user),
            "other site's user": signed_in(await create(http, other, "stranger")),
            "moderator": signed_in(moderator),
            "admin": signed_in(admin),
            "owner": signed_in(owner),
            "secret key": {"projectid": new_site.secret_key},
            "foreign page": signed_in(user) | {"origin": "https://evil.example"},
        }
    )


def routes_of(app: Application) -> set[tuple[str, str]]:
    return {
        (method, route.path_format)
        for route in app.litestar.routes
        for method in getattr(route, "methods", ())
        if method not in ("OPTIONS", "HEAD")
    }


async def test_the_table_has_every_route(app: Application) -> None:
    assert routes_of(app) == set(ROUTES)


@pytest.mark.parametrize("caller", REFUSALS)
async def test_everybody_gets_in_where_they_may_and_nowhere_else(
    app: Application, http: httpx.AsyncClient, callers: Callers, caller: str
) -> None:
    leaving = {("DELETE", "/v1/users/me"), ("DELETE", "/v1/users/me/sessions"), ("POST", "/v1/auth/logout")}
    leaving |= {("POST", "/api/auth/logout")}
    wrong, asked = [], 0
    for method, template in sorted(ROUTES, key=lambda route: route in leaving):
        kind = ROUTES[method, template]
        path = template.replace("{path}", "x").replace("{name}", "x.svg").replace("{provider}", "google")
        for parameter in ("{user_id}", "{session_id}", "{site_id}", "{comment_id}", "{page_id}", "{notification_id}"):
            path = path.replace(parameter, SOMEBODY)
        headers = callers.headers[caller]
        if (method, template) in leaving and caller in ("guest", "user", "moderator", "admin", "owner"):
            continue  # what these do is tested where it belongs; here they would end the caller
        refusal = REFUSALS[caller][kind]
        if template == "/v1/moderation/events" and refusal is None:
            continue  # an answer that does not end; who gets it is tested where it belongs
        answer = await http.request(
            method, path, json={} if method in ("POST", "PUT", "PATCH") else None, headers=headers
        )
        asked += 1
        if answer.status_code >= 500 or (refusal is not None and answer.status_code != refusal):
            wrong.append(f"{caller}: {method} {path} answered {answer.status_code}, expected {refusal}")
        if refusal is None and kind != "open" and answer.status_code in (401, 403):
            code = answer.json()["code"]
            if code not in ("method_off", "site_mismatch", "invalid_refresh_token", "sites_are_made_on_the_server"):
                wrong.append(f"{caller}: {method} {path} was refused: {code}")
    assert wrong == []
    print(f"\nG8: {caller}: {asked} routes as the table says")
