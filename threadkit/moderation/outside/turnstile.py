"""Turnstile: Cloudflare tells people from programs. Contract 4.8 and 11.3."""

import hmac
import re
from typing import Annotated

import structlog
from msgspec import Meta, Struct, field

from threadkit.http.outbound import Outbound, OutboundFailed
from threadkit.moderation.outside.model import (
    TurnstileFailed,
    TurnstileNotConfigured,
    TurnstileRequired,
    TurnstileUnreachable,
)
from threadkit.settings import TurnstileServerSettings
from threadkit.sites.model import Site
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.users.viewer import Viewer

log = structlog.get_logger()

# More patience than with other checks: here a failure turns people away, and a token is good only once.
DEADLINE_S = 3.0
LONGEST_TOKEN = 2048
_CODE = re.compile(r"[a-z0-9-]{1,60}")
_OUR_FAULT = {"missing-input-secret", "invalid-input-secret", "bad-request", "internal-error"}


class Verification(Struct, frozen=True):
    is_success: bool
    error_codes: list[str] = []


class _Answer(Struct):
    success: bool
    error_codes: Annotated[list[Annotated[str, Meta(max_length=200)]], Meta(max_length=20)] = field(
        name="error-codes", default_factory=list
    )


class Turnstile:
    def __init__(
        self,
        *,
        settings: TurnstileServerSettings,
        url: str,
        outbound: Outbound,
        redis: Commands,
        keys: Keys,
        mark_key: bytes,
        deadline_s: float = DEADLINE_S,
    ) -> None:
        self._settings = settings
        self._url = url
        self._outbound = outbound
        self._redis = redis
        self._keys = keys
        self._mark_key = mark_key
        self._deadline_s = deadline_s

    @property
    def is_configured(self) -> bool:
        return bool(self._settings.secret)

    @property
    def site_key(self) -> str | None:
        return self._settings.site_key

    async def require_human(
        self, site: Site, viewer: Viewer | None, token: str | None, client: str, *, address: str = ""
    ) -> None:
        """Returns for those who need not show anything, or have; `client` is a hash, `address` is for Cloudflare."""
        if not _is_asked(site, viewer) or await self._is_remembered(site, viewer, client):
            return
        if not token:
            raise TurnstileRequired
        found = await self.verify(site, viewer, token, client, address=address)
        if not found.is_success:
            raise TurnstileFailed(codes=", ".join(found.error_codes) or "no reason given")

    async def verify(
        self, site: Site, viewer: Viewer | None, token: str, client: str, *, address: str = ""
    ) -> Verification:
        """What Cloudflare says of a token; who passes is remembered for as long as the site wants."""
        # Whoever did not switch it on gets nobody called, whatever this server could do.
        if not self._settings.secret or not site.settings.turnstile.enabled:
            raise TurnstileNotConfigured
        if not token or len(token) > LONGEST_TOKEN or not token.isascii() or not token.isprintable():
            return Verification(False, ["invalid-input-response"])
        found = await self._ask(site, self._settings.secret, token, address)
        seconds = site.settings.turnstile.cache_duration_seconds
        if found.is_success and seconds:
            await self._redis.set(self._mark(site, viewer, client), "1", ex=seconds)
        return found

    async def _ask(self, site: Site, secret: str, token: str, address: str) -> Verification:
        form = {"secret": secret, "response": token} | ({"remoteip": address} if address else {})
        try:
            answer = await self._outbound.post_form(self._url, form, timeout_s=self._deadline_s)
            # A refusal may come with 400; what counts is what it says.
            if answer.status >= 500 or 300 <= answer.status < 400:
                raise OutboundFailed(f"it answered {answer.status}")
            said = answer.json(_Answer)
        except OutboundFailed as failed:
            log.warning("outside_check_failed", check="Turnstile", site_id=site.id, why=failed.reason)
            raise TurnstileUnreachable from None
        codes = [code for code in said.error_codes if _CODE.fullmatch(code)]
        if not answer.is_success and said.success:
            codes, said = [f"status-{answer.status}"], _Answer(success=False)
        if _OUR_FAULT.intersection(codes):
            log.warning("turnstile_refuses_us", site_id=site.id, codes=codes)
        return Verification(said.success, [] if said.success else codes)

    async def _is_remembered(self, site: Site, viewer: Viewer | None, client: str) -> bool:
        if not site.settings.turnstile.cache_duration_seconds:
            return False
        return bool(await self._redis.exists(self._mark(site, viewer, client)))

    def _mark(self, site: Site, viewer: Viewer | None, client: str) -> str:
        """A person is known again wherever they are, a nobody only where they were."""
        who = f"user {viewer.id}" if viewer else f"client {client}"
        return self._keys.site(site.id).human(hmac.digest(self._mark_key, who.encode(), "sha256").hex()[:32])


def _is_asked(site: Site, viewer: Viewer | None) -> bool:
    settings = site.settings.turnstile
    if not settings.enabled or settings.enforce_on == "none":
        return False
    # A guest has a token for the asking; who is signed in but not verified is let through, as the original does.
    return settings.enforce_on == "all" or viewer is None or viewer.user.is_guest
