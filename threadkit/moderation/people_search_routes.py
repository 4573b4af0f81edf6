"""`GET /v1/moderation/users`: moderators look for somebody."""

from typing import Annotated

from litestar.di import NamedDependency
from litestar.params import QueryParameter

from threadkit.http.routing import Router, get
from threadkit.moderation.people_search import FoundPeople, Listed
from threadkit.services import Services
from threadkit.sites.model import Site
from threadkit.sites.roles import Role
from threadkit.users.access import requires_moderator
from threadkit.users.viewer import Viewer


@get("/moderation/users", guards=[requires_moderator], summary="Look for people")
async def find_people(
    site: NamedDependency[Site],
    viewer: NamedDependency[Viewer],
    services: NamedDependency[Services],
    q: Annotated[
        str | None, QueryParameter(min_length=1, max_length=320, description="A part of the name, or the whole id.")
    ] = None,
    standing: Annotated[Listed | None, QueryParameter(description="Only those on this list, in no order.")] = None,
    cursor: Annotated[str | None, QueryParameter(max_length=60, description="`next` of the answer before.")] = None,
    limit: Annotated[int, QueryParameter(ge=1, le=100)] = 50,
) -> FoundPeople:
    """Among those who wrote here, those first who wrote last; without `q` all of them. Anybody is found by id.

    A call looks through at most a thousand comments (`searched`), so it may find few or none and yet have a `next`, with
    which one goes on; who wrote much may then come again. With `standing` it goes through that list instead, and `limit`
    does not count.

    Admins and owners also find people who have written nothing here, to give them a role, but only by exactly their name
    or e-mail address. Nobody is shown an address.
    """
    if standing is not None:
        return await services.people_search.listed(site.id, standing, q, cursor=cursor)
    return await services.people_search.find(
        site.id, q, cursor=cursor, limit=limit, may_find_anybody=viewer.role >= Role.ADMIN
    )


router = Router("/", route_handlers=[find_people], tags=["Moderation"])
