"""Every route, called by everybody. A route that is not in the table fails the test."""

from dataclasses import dataclass

import httpx
import pytest

from tests.integration.authorisation.routes import REFUSALS, ROUTES, SOMEBODY
from tests.people import Person, create, guest
from threadkit.app import Application
from threadkit.ids import UserId
from threadkit.routes import route_table
from threadkit.sites.model import NewSite
from threadkit.sites.roles import Role

SIGNED_IN = ("guest", "user", "banned", "shadowed", "moderator", "admin", "owner")


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
    user, banned, shadowed = [await create(http, new_site, name) for name in ("user", "banned", "shadowed")]
    await app.services.people.ban(site, UserId(banned.id), by=None, hours=None, reason=None)
    await app.services.people.shadowban(site, UserId(shadowed.id), by=None, is_on=True)
    return Callers(
        {
            "nobody": {},
            "anonymous": key,
            "guest": signed_in(await guest(http, new_site)),
            "user": signed_in(user),
            "banned": signed_in(banned),
            "shadowed": signed_in(shadowed),
            "other site's user": signed_in(await create(http, other, "stranger")),
            "moderator": signed_in(moderator),
            "admin": signed_in(admin),
            "owner": signed_in(owner),
            "secret key": {"projectid": new_site.secret_key},
            "foreign page": signed_in(user) | {"origin": "https://evil.example"},
        }
    )


def routes_of() -> set[tuple[str, str]]:
    return {
        (method, route.path_format)
        for route in route_table().routes
        for method in getattr(route, "methods", ())
        if method not in ("OPTIONS", "HEAD")
    }


def test_the_table_has_every_route() -> None:
    assert routes_of() == set(ROUTES)


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
        if (method, template) in leaving and caller in SIGNED_IN:
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
