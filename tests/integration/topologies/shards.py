"""Who lives on which shard of a cluster."""

import time

import httpx

from tests.conftest import NOTHING_HELD
from tests.integration.topologies.servers import Cluster, Server
from tests.people import Person, create
from threadkit.app import Application
from threadkit.ids import UserId
from threadkit.sites.model import AuthSettings, NewSite, SiteSettings


async def everybody_at(
    topology: Cluster, app: Application, http: httpx.AsyncClient, place: Server, name: str, *, count: int
) -> tuple[NewSite, list[Person]]:
    """A site and people of it who all live on one shard: both are needed to write."""
    site = await site_at(topology, app, place, name)
    return site, await people_at(topology, app, http, place, site, count=count)


async def site_at(topology: Cluster, app: Application, place: Server, name: str) -> NewSite:
    settings = SiteSettings(auth=AuthSettings(anonymous=True), screening=NOTHING_HELD)
    while True:
        site = await app.services.sites.create(name, f"{name}.example", settings=settings)
        if topology.home_of(app.services.keys.site(site.site.id).config()) is place:
            return site


async def people_at(
    topology: Cluster, app: Application, http: httpx.AsyncClient, place: Server, site: NewSite, *, count: int
) -> list[Person]:
    people: list[Person] = []
    while len(people) < count:
        person = await create(http, site, f"{site.site.name}-{time.monotonic_ns()}")
        if topology.home_of(app.services.keys.user(UserId(person.id)).profile()) is place:
            people.append(person)
    return people
