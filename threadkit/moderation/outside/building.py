"""The outside checks of a server, by its settings."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from threadkit.clock import Clock
from threadkit.comments.queries import CommentQueries
from threadkit.http.outbound import Outbound, is_loopback
from threadkit.keyring import Keyring
from threadkit.moderation.outside.akismet import Akismet, AkismetReports
from threadkit.moderation.outside.checks import OutsideChecks
from threadkit.moderation.outside.model import OutsideEndpoints
from threadkit.moderation.outside.openai_shape import ModerationService
from threadkit.moderation.outside.turnstile import DEADLINE_S, Turnstile
from threadkit.moderation.outside.webhook import Webhook
from threadkit.outbox.handlers import Handlers
from threadkit.pages.queries import PageQueries
from threadkit.settings import Settings
from threadkit.sites.queries import SiteQueries
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys

MOST_BYTES = 100_000


@dataclass(frozen=True)
class Outside:
    checks: OutsideChecks
    turnstile: Turnstile
    webhook: Webhook
    outbounds: tuple[Outbound, ...]

    async def close(self) -> None:
        for outbound in self.outbounds:
            await outbound.close()


def build_outside(
    settings: Settings,
    endpoints: OutsideEndpoints,
    *,
    redis: Commands,
    keys: Keys,
    clock: Clock,
    keyring: Keyring,
    handlers: Handlers,
    site_queries: SiteQueries,
    comment_queries: CommentQueries,
    page_queries: PageQueries,
) -> Outside:
    # The server's owner may name a service in the own network; the owner of one site among many may not.
    service = settings.moderation_service.url or ""
    host = urlsplit(service).hostname
    for_server = Outbound(
        allow_insecure_loopback=any(map(is_loopback, (service, endpoints.turnstile, endpoints.akismet))),
        trusted_hosts=[host] if host else [],
        timeout_s=DEADLINE_S,
        most_bytes=MOST_BYTES,
    )
    for_sites = Outbound(
        allow_insecure_loopback=is_loopback(endpoints.webhook), timeout_s=DEADLINE_S, most_bytes=MOST_BYTES
    )
    webhook = Webhook(keyring=keyring, clock=clock, outbound=for_sites, instead=endpoints.webhook)
    AkismetReports(
        endpoints.akismet,
        for_server,
        redis=redis,
        keys=keys,
        site_queries=site_queries,
        comment_queries=comment_queries,
        page_queries=page_queries,
    ).register(handlers)
    return Outside(
        checks=OutsideChecks(
            [
                ModerationService(settings.moderation_service, for_server),
                Akismet(endpoints.akismet, for_server, redis=redis, keys=keys),
                webhook,
            ]
        ),
        turnstile=Turnstile(
            settings=settings.turnstile,
            url=endpoints.turnstile,
            outbound=for_server,
            redis=redis,
            keys=keys,
            mark_key=keyring.derive("human"),
        ),
        webhook=webhook,
        outbounds=(for_server, for_sites),
    )
