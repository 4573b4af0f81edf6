"""Trying out the providers: are they set up, do they answer, and which address has to be entered there."""

from collections.abc import Callable, Mapping
from typing import Literal, get_args

from msgspec import Struct

from threadkit.errors import NotFound
from threadkit.http.outbound import Outbound, OutboundFailed
from threadkit.ratelimit.windows import Window, Windows
from threadkit.users.oauth.model import ProviderTrouble
from threadkit.users.oauth.pkce import challenge_of, new_secret
from threadkit.users.oauth.provider import Ask, Provider

ProviderName = Literal["google", "github", "discord", "oidc"]
NAMES: tuple[ProviderName, ...] = get_args(ProviderName)
TESTS = Window("provider-test", 60, 3600)


class NoSuchProvider(NotFound):
    """There is no such provider: google, github, discord or oidc"""

    code = "no_such_provider"


class ProviderView(Struct):
    """`redirect_uri` is what has to be entered at the provider."""

    name: ProviderName
    is_configured: bool
    redirect_uri: str


class ProviderTest(ProviderView):
    """`refused` is a provider that answers, and does not know us as we are set up."""

    outcome: Literal["answers", "refused", "unreachable", "not_configured"]
    sentence: str


class ProviderTester:
    def __init__(
        self, *, build: Callable[[], Mapping[str, Provider]], outbound: Outbound, windows: Windows, base_url: str
    ) -> None:
        """`build` makes providers that remember nothing, so that they have to ask."""
        self._build = build
        self._outbound = outbound
        self._windows = windows
        self._base_url = base_url

    def all(self) -> list[ProviderView]:
        configured = self._build()
        return [ProviderView(name, name in configured, self._redirect_uri(name)) for name in NAMES]

    async def try_out(self, wanted: str, *, by: str) -> ProviderTest:
        """`by` is whose tries are counted."""
        name = next((one for one in NAMES if one == wanted), None)
        if name is None:
            raise NoSuchProvider
        provider, redirect_uri = self._build().get(name), self._redirect_uri(name)
        if provider is None:
            needs = f"{name}.client_id and {name}.client_secret" + (" and oidc.issuer" if name == "oidc" else "")
            sentence = f"It is not set up: the server's settings need {needs}."
            return ProviderTest(name, False, redirect_uri, "not_configured", sentence)
        await self._windows.spend(TESTS, by)
        try:
            status = await self._knock(provider, redirect_uri)
        except (OutboundFailed, ProviderTrouble) as trouble:
            return ProviderTest(name, True, redirect_uri, "unreachable", f"It cannot be used: {trouble.reason}.")
        if status >= 500:
            return ProviderTest(
                name, True, redirect_uri, "unreachable", f"It is in trouble itself: it answered {status}."
            )
        if status >= 400:
            sentence = f"It answered {status}: is the client id right, and is the redirect address entered there?"
            return ProviderTest(name, True, redirect_uri, "refused", sentence)
        # Some refuse what they do not know with a page that looks like success.
        sentence = "It answers. Sign in once to see that the client id, its secret and the redirect address are right."
        return ProviderTest(name, True, redirect_uri, "answers", sentence)

    async def _knock(self, provider: Provider, redirect_uri: str) -> int:
        """As a browser would that somebody sends there; nobody comes back."""
        challenge = challenge_of(new_secret())
        ask = Ask(state=new_secret(), challenge=challenge, nonce=new_secret(), redirect_uri=redirect_uri)
        return (await self._outbound.get(await provider.authorize_url(ask))).status

    def _redirect_uri(self, name: str) -> str:
        return callback_address(self._base_url, name)


def callback_address(base_url: str, name: str) -> str:
    return f"{base_url}/auth/{name}/callback"
