"""The operator looks at the providers that people can sign in with, and tries them out."""

from litestar.di import NamedDependency, Provide
from litestar.params import FromPath
from msgspec import Struct

from threadkit.http.routing import Router, get, post
from threadkit.ids import UserId
from threadkit.services import Services
from threadkit.sites.admin_access import provide_actor, requires_operator
from threadkit.users.oauth.testing import ProviderTest, ProviderView


class Providers(Struct):
    providers: list[ProviderView]


@get("/providers", guards=[requires_operator], summary="Which providers are set up")
async def list_providers(services: NamedDependency[Services]) -> Providers:
    """All that this server could have, with the address to enter at each. Which of them a site offers is a setting of the
    site (`auth`)."""
    return Providers(services.provider_tester.all())


@post("/providers/{name:str}/test", status_code=200, guards=[requires_operator], summary="Try out a provider")
async def test_provider(
    name: FromPath[str], actor: NamedDependency[UserId | None], services: NamedDependency[Services]
) -> ProviderTest:
    """Asks it as a browser would that somebody sends there to sign in, and says in a sentence what it answered."""
    return await services.provider_tester.try_out(name, by=actor or "secret-key")


router = Router(
    "/admin/server",
    route_handlers=[list_providers, test_provider],
    dependencies={"actor": Provide(provide_actor)},
    tags=["Server"],
)
