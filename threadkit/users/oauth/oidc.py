"""OpenID Connect by discovery: Google, and any provider that the server's owner names."""

from typing import Any

from joserfc.jwk import KeySet
from msgspec import Struct

from threadkit.clock import Clock
from threadkit.http.outbound import Outbound, OutboundFailed
from threadkit.ids import digest
from threadkit.users.oauth.id_token import UnknownSigner, check_claims, read_claims, read_keys
from threadkit.users.oauth.model import GrantedTokens, ProviderTrouble, clean_avatar, clean_name, proved_email
from threadkit.users.oauth.provider import Ask, Client, Grant, TokenEndpoint, common_parameters, read_as, with_query
from threadkit.users.sign_in import Identity

SCOPE = "openid email profile"
CACHE_MS = 3_600_000


class Discovery(Struct, frozen=True):
    """What we need of a discovery document."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None = None
    # The default is the standard's, not ours.
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)


class _Keys(Struct):
    keys: list[dict[str, Any]]


class OidcProvider:
    def __init__(
        self,
        name: str,
        issuer: str,
        client: Client,
        outbound: Outbound,
        clock: Clock,
        *,
        extra_parameters: dict[str, str] | None = None,
    ) -> None:
        self._name = name
        self._issuer = issuer.rstrip("/")
        self._client = client
        self._outbound = outbound
        self._clock = clock
        self._extra = extra_parameters or {}
        self._found: tuple[Discovery, int] | None = None
        self._keys: tuple[KeySet, int] | None = None

    async def authorize_url(self, ask: Ask) -> str:
        place = (await self._discovery()).authorization_endpoint
        return with_query(place, **common_parameters(self._client, SCOPE, ask), nonce=ask.nonce, **self._extra)

    async def exchange(self, grant: Grant) -> tuple[Identity, GrantedTokens]:
        found = await self._discovery()
        granted = await self._tokens(found).exchange(grant)
        if not granted.id_token:
            raise ProviderTrouble("there is no ID token")
        claims = await self._claims(granted.id_token, found)
        subject = check_claims(
            claims,
            issuer=found.issuer,
            client_id=self._client.id,
            nonce=grant.nonce,
            now_s=self._clock.now_ms() // 1000,
        )
        if found.userinfo_endpoint and not ("email" in claims and "name" in claims):
            more = await read_as(dict[str, Any], found.userinfo_endpoint, granted, self._outbound)
            if more.get("sub") != subject:
                raise ProviderTrouble("the user info is about somebody else")
            # An address and its proof come from one place, or the proof of one would count for the other.
            claims = {**more, **claims} if "email" not in claims else {**_without_email(more), **claims}
        return self._identity(found, subject, claims), granted

    async def refresh(self, refresh_token: str) -> GrantedTokens:
        return await self._tokens(await self._discovery()).refresh(refresh_token)

    def is_issuer(self, issuer: str) -> bool:
        return issuer.rstrip("/") == self._issuer

    def _identity(self, found: Discovery, subject: str, claims: dict[str, Any]) -> Identity:
        email = proved_email(claims.get("email"), is_verified=claims.get("email_verified"))
        names = (claims.get(name) for name in ("name", "preferred_username", "nickname", "given_name"))
        return Identity(
            provider=self._name,
            # The same subject at another issuer is another person, should the setting ever change.
            provider_id=digest(f"{found.issuer} {subject}")[:40],
            name=next(filter(None, map(clean_name, names)), ""),
            email=email,
            email_verified=email is not None,
            avatar_url=clean_avatar(claims.get("picture")),
        )

    def _tokens(self, found: Discovery) -> TokenEndpoint:
        in_form = "client_secret_post" in found.token_endpoint_auth_methods_supported
        return TokenEndpoint(found.token_endpoint, self._client, self._outbound, basic=not in_form)

    async def _discovery(self) -> Discovery:
        now = self._clock.now_ms()
        if self._found is None or now >= self._found[1]:
            answer = await self._outbound.get(f"{self._issuer}/.well-known/openid-configuration")
            if not answer.is_success:
                raise OutboundFailed(f"the discovery document answered {answer.status}")
            found = answer.json(Discovery)
            if found.issuer.rstrip("/") != self._issuer:
                raise ProviderTrouble("the discovery document is another issuer's")
            self._found = (found, now + CACHE_MS)
        return self._found[0]

    async def _claims(self, token: str, found: Discovery) -> dict[str, Any]:
        now = self._clock.now_ms()
        if self._keys is not None and now < self._keys[1]:
            try:
                return read_claims(token, self._keys[0])
            except UnknownSigner:
                pass  # it may have changed its keys since we asked
        answer = await self._outbound.get(found.jwks_uri)
        if not answer.is_success:
            raise OutboundFailed(f"the key set answered {answer.status}")
        keys = read_keys(answer.json(_Keys).keys)
        self._keys = (keys, now + CACHE_MS)
        return read_claims(token, keys)


def _without_email(claims: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in claims.items() if name not in ("email", "email_verified")}
