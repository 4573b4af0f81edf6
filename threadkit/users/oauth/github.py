"""GitHub: OAuth, and the person and their addresses from its API."""

from msgspec import Struct

from threadkit.http.outbound import Outbound
from threadkit.users.oauth.model import GrantedTokens, ProviderEndpoints, clean_avatar, clean_name, proved_email
from threadkit.users.oauth.provider import Ask, Client, Grant, TokenEndpoint, common_parameters, read_as, with_query
from threadkit.users.sign_in import Identity

SCOPE = "read:user user:email"


class _User(Struct):
    id: int
    login: str
    name: str | None = None
    avatar_url: str | None = None


class _Email(Struct):
    email: str
    primary: bool = False
    verified: bool = False


class GithubProvider:
    def __init__(self, client: Client, endpoints: ProviderEndpoints, outbound: Outbound) -> None:
        self._client = client
        self._authorize = endpoints.github_authorize
        self._api = endpoints.github_api
        self._outbound = outbound
        self._tokens = TokenEndpoint(endpoints.github_token, client, outbound)

    async def authorize_url(self, ask: Ask) -> str:
        return with_query(self._authorize, **common_parameters(self._client, SCOPE, ask))

    async def exchange(self, grant: Grant) -> tuple[Identity, GrantedTokens]:
        granted = await self._tokens.exchange(grant)
        user = await read_as(_User, f"{self._api}/user", granted, self._outbound)
        emails = await read_as(list[_Email], f"{self._api}/user/emails", granted, self._outbound)
        # The address on the public profile may be anybody's; this list says which one is proved.
        email = next((entry.email for entry in emails if entry.primary and entry.verified), None)
        proved = proved_email(email, is_verified=email is not None)
        identity = Identity(
            provider="github",
            provider_id=str(user.id),
            name=clean_name(user.name) or clean_name(user.login),
            email=proved,
            email_verified=proved is not None,
            avatar_url=clean_avatar(user.avatar_url),
        )
        return identity, granted

    async def refresh(self, refresh_token: str) -> GrantedTokens:
        return await self._tokens.refresh(refresh_token)

    def is_issuer(self, _issuer: str) -> bool:
        return True  # it has one place, and no name in its answers that we could count on
