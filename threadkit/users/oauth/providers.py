"""Which providers this server has, by its settings."""

from urllib.parse import urlsplit

import msgspec

from threadkit.clock import Clock
from threadkit.http.outbound import Outbound, is_loopback
from threadkit.settings import OidcSettings, ProviderSettings, Settings
from threadkit.users.oauth.discord import DiscordProvider
from threadkit.users.oauth.github import GithubProvider
from threadkit.users.oauth.model import ProviderEndpoints
from threadkit.users.oauth.oidc import OidcProvider
from threadkit.users.oauth.provider import Client, Provider

# Google gives a refresh token only to those who ask for both.
_GOOGLE_EXTRA = {"prompt": "consent", "access_type": "offline"}


def build_outbound(settings: Settings, endpoints: ProviderEndpoints) -> Outbound:
    """Loopback is called only when a provider was put there on purpose, as in development."""
    named = settings.oidc.issuer or ""
    places = [named, *msgspec.structs.astuple(endpoints)]
    host = urlsplit(named).hostname
    return Outbound(
        allow_insecure_loopback=any(map(is_loopback, places)),
        trusted_hosts=[host] if host else [],
    )


def build_providers(
    settings: Settings, endpoints: ProviderEndpoints, outbound: Outbound, clock: Clock
) -> dict[str, Provider]:
    providers: dict[str, Provider] = {}
    if client := _client(settings.google):
        providers["google"] = OidcProvider(
            "google", endpoints.google_issuer, client, outbound, clock, extra_parameters=_GOOGLE_EXTRA
        )
    if client := _client(settings.github):
        providers["github"] = GithubProvider(client, endpoints, outbound)
    if client := _client(settings.discord):
        providers["discord"] = DiscordProvider(client, endpoints, outbound)
    if settings.oidc.issuer and (client := _client(settings.oidc)):
        providers["oidc"] = OidcProvider("oidc", settings.oidc.issuer, client, outbound, clock)
    return providers


def _client(settings: ProviderSettings | OidcSettings) -> Client | None:
    if settings.client_id and settings.client_secret:
        return Client(settings.client_id, settings.client_secret)
    return None
