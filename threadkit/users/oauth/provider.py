"""What every provider can do, and the token endpoint they share."""

import base64
import re
from typing import Protocol, TypeVar
from urllib.parse import quote_plus, urlencode, urlsplit, urlunsplit

from msgspec import Struct

from threadkit.http.outbound import Outbound, OutboundFailed
from threadkit.users.oauth.model import GrantedTokens, ProviderTrouble, RefreshRefused
from threadkit.users.sign_in import Identity

# Shorter than the lock that is held meanwhile, so that nobody begins a second refresh beside a slow first one.
REFRESH_TIMEOUT_S = 4.0
T = TypeVar("T")
_WORD = re.compile(r"^[a-z_]{1,40}$")
_REFUSALS = {"invalid_grant", "bad_refresh_token", "unauthorized_client", "unsupported_grant_type", "access_denied"}


class Grant(Struct, frozen=True, kw_only=True):
    """A code that came back, and what it was bound to when it was asked for."""

    code: str
    verifier: str
    nonce: str
    redirect_uri: str


class Ask(Struct, frozen=True, kw_only=True):
    """What the provider is asked for on behalf of a browser."""

    state: str
    challenge: str
    nonce: str
    redirect_uri: str


class Provider(Protocol):
    async def authorize_url(self, ask: Ask) -> str:
        """Where the browser goes."""

    async def exchange(self, grant: Grant) -> tuple[Identity, GrantedTokens]:
        """Who it is, as far as the provider has proved it; raises `ProviderTrouble`."""

    async def refresh(self, refresh_token: str) -> GrantedTokens:
        """New tokens; raises `RefreshRefused` when there will be none again."""

    def is_issuer(self, issuer: str) -> bool:
        """Whether an answer that names its issuer (RFC 9207) comes from here."""


class Client(Struct, frozen=True):
    """Our own account at a provider."""

    id: str
    secret: str


class _Refusal(Struct):
    error: str


class TokenEndpoint:
    def __init__(self, url: str, client: Client, outbound: Outbound, *, basic: bool = False) -> None:
        self._url = url
        self._client = client
        self._outbound = outbound
        self._basic = basic

    async def exchange(self, grant: Grant) -> GrantedTokens:
        return await self._ask(
            {
                "grant_type": "authorization_code",
                "code": grant.code,
                "redirect_uri": grant.redirect_uri,
                "code_verifier": grant.verifier,
            }
        )

    async def refresh(self, refresh_token: str) -> GrantedTokens:
        form = {"grant_type": "refresh_token", "refresh_token": refresh_token}
        return await self._ask(form, timeout_s=REFRESH_TIMEOUT_S)

    async def _ask(self, form: dict[str, str], timeout_s: float | None = None) -> GrantedTokens:
        headers = {}
        if self._basic:
            pair = f"{quote_plus(self._client.id)}:{quote_plus(self._client.secret)}"
            headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
        else:
            form |= {"client_id": self._client.id, "client_secret": self._client.secret}
        answer = await self._outbound.post_form(self._url, form, headers=headers, timeout_s=timeout_s)
        if answer.status >= 500:
            raise OutboundFailed(f"the token endpoint answered {answer.status}")
        # GitHub says 200 to everything, so the words count and not the number.
        try:
            error = answer.json(_Refusal).error
        except OutboundFailed:
            if not answer.is_success:
                raise OutboundFailed(f"the token endpoint answered {answer.status}") from None
            return answer.json(GrantedTokens, strict=False)
        kind = RefreshRefused if error in _REFUSALS else ProviderTrouble
        reason = error if _WORD.match(error) else "in its own words"
        raise kind(f"the token endpoint refused: {reason}", "The provider refused the sign-in. Please try again.")


async def read_as(kind: type[T], url: str, granted: GrantedTokens, outbound: Outbound) -> T:
    """What the provider's API tells the holder of the new token."""
    answer = await outbound.get(url, bearer=granted.access_token)
    if not answer.is_success:
        raise OutboundFailed(f"the provider's API answered {answer.status}")
    return answer.json(kind)


def with_query(url: str, **parameters: str) -> str:
    """An address with more parameters than it had."""
    parts = urlsplit(url)
    query = "&".join(filter(None, [parts.query, urlencode(parameters)]))
    return urlunsplit((parts.scheme, parts.netloc, parts.path, query, ""))


def common_parameters(client: Client, scope: str, ask: Ask) -> dict[str, str]:
    return {
        "response_type": "code",
        "client_id": client.id,
        "redirect_uri": ask.redirect_uri,
        "scope": scope,
        "state": ask.state,
        "code_challenge": ask.challenge,
        "code_challenge_method": "S256",
    }
