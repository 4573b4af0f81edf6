"""What concerns the whole server is for whoever owns its first site, and for nobody of the others."""

import httpx
import pytest

from tests.integration.authorisation.routes import ROUTES
from tests.integration.moderation.test_people import abroad
from tests.people import create
from threadkit.app import Application
from threadkit.ids import UserId
from threadkit.sites.model import NewSite
from threadkit.sites.roles import Role

OPERATORS = sorted(route for route, kind in ROUTES.items() if kind == "operator")


@pytest.mark.parametrize(("method", "path"), OPERATORS)
async def test_owners_of_later_sites_are_not_operators(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, method: str, path: str
) -> None:
    later = await app.services.sites.create("Later", "later.example")
    ada = await create(http, new_site, "ada")
    for site in (new_site, later):
        await app.services.roles.grant(site.site.id, UserId(ada.id), Role.OWNER)
    far = await abroad(app, http, ada, later)
    place = path.replace("{name}", "google").replace("{letter_id}", "1-0")
    body: dict[str, str] | None = {} if method in ("POST", "PUT", "PATCH") else None
    for answer in (
        await far.call(method, place, body),
        await http.request(method, place, json=body, headers={"projectid": later.secret_key}),
        await http.request(method, place, json=body, headers={"projectid": new_site.site.api_key_public}),
    ):
        assert (answer.status_code, answer.json()["code"]) == (403, "operator_required")
    assert (await ada.call(method, place, body)).status_code != 403


async def test_a_banned_owner_is_no_operator(app: Application, http: httpx.AsyncClient, new_site: NewSite) -> None:
    ada = await create(http, new_site, "ada")
    await app.services.roles.grant(new_site.site.id, UserId(ada.id), Role.OWNER)
    user = await app.services.user_queries.by_id(UserId(ada.id))
    assert user is not None
    await app.services.everywhere.ban(user, is_on=True, by=None, reason=None)
    assert (await ada.call("GET", "/v1/admin/server/providers")).json()["code"] == "user_blocked"
