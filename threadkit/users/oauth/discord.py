"""Discord: OAuth, and the person from its API."""

import re

from msgspec import Struct

from threadkit.http.outbound import Outbound
from threadkit.users.oauth.model import (
    GrantedTokens,
    ProviderEndpoints,
    ProviderTrouble,
    clean_avatar,
    clean_name,
    proved_email,
)
from threadkit.users.oauth.provider import Ask, Client, Grant, TokenEndpoint, common_parameters, read_as, with_query
from threadkit.users.sign_in import Identity

SCOPE = "identify email"
_SNOWFLAKE = re.compile(r"^[0-9]{1,25}$")
_PICTURE = re.compile(r"^[A-Za-z0-9_]{1,80}$")


class _User(Struct):
    id: str
    username: str
    global_name: str | None = None
    avatar: str | None = None
    email: str | None = None
    verified: bool = False


class DiscordProvider:
    def __init__(self, client: Client, endpoints: ProviderEndpoints, outbound: Outbound) -> None:
        self._client = client
        self._authorize = endpoints.discord_authorize
        self._api = endpoints.discord_api
        self._outbound = outbound
        self._tokens = TokenEndpoint(endpoints.discord_token, client, outbound)

    async def authorize_url(self, ask: Ask) -> str:
        return with_query(self._authorize, **common_parameters(self._client, SCOPE, ask))

    async def exchange(self, grant: Grant) -> tuple[Identity, GrantedTokens]:
        granted = await self._tokens.exchange(grant)
        user = await read_as(_User, f"{self._api}/users/@me", granted, self._outbound)
        if not _SNOWFLAKE.match(user.id):
            raise ProviderTrouble("the id is not one of Discord's")
        email = proved_email(user.email, is_verified=user.verified)
        identity = Identity(
            provider="discord",
            provider_id=user.id,
            name=clean_name(user.global_name) or clean_name(user.username),
            email=email,
            email_verified=email is not None,
            avatar_url=_avatar(user),
        )
        return identity, granted

    async def refresh(self, refresh_token: str) -> GrantedTokens:
        return await self._tokens.refresh(refresh_token)

    def is_issuer(self, _issuer: str) -> bool:
        return True  # it has one place, and no name in its answers that we could count on


def _avatar(user: _User) -> str | None:
    if not user.avatar or not _PICTURE.match(user.avatar):
        return None
    return clean_avatar(f"https://cdn.discordapp.com/avatars/{user.id}/{user.avatar}.png")
