"""Signing in at a provider: out with a one-time state, back with a code, and a session only for the same browser."""

import hmac
from collections.abc import Mapping

import structlog

from threadkit.errors import ThreadKitError
from threadkit.http.outbound import OutboundFailed
from threadkit.ids import SessionId, UserId, digest, new_uuid
from threadkit.ratelimit.windows import Window, Windows
from threadkit.settings import Settings
from threadkit.sites.model import KeyType, PageRule, Site
from threadkit.sites.queries import SiteQueries
from threadkit.users.model import AuthResponse
from threadkit.users.oauth.model import (
    CodeMissing,
    Departure,
    Outcome,
    PendingSignIn,
    ProviderOff,
    ProviderReply,
    ProviderTrouble,
    UnknownProject,
    cookie_name,
    page_origin,
)
from threadkit.users.oauth.pending import PendingSignIns
from threadkit.users.oauth.pkce import challenge_of, new_secret
from threadkit.users.oauth.provider import Ask, Grant, Provider
from threadkit.users.oauth.provider_sessions import ProviderSessions
from threadkit.users.oauth.testing import callback_address
from threadkit.users.sessions import Device
from threadkit.users.sign_in import SignIn

log = structlog.get_logger()

# Every start leaves a record for ten minutes; nobody signs in this often.
STARTS_PER_CLIENT = Window("oauth-start", 60, 600)

_NO_ANSWER = "The provider cannot be reached right now. Please try again in a moment."
_ANOTHER_BROWSER = "This sign-in was started in another browser. Please start it again here."
_OVER = "This sign-in has expired or was already used. Please start it again."


class OAuthService:
    def __init__(
        self,
        *,
        settings: Settings,
        providers: Mapping[str, Provider],
        pending: PendingSignIns,
        provider_sessions: ProviderSessions,
        sites: SiteQueries,
        sign_in: SignIn,
        windows: Windows,
    ) -> None:
        self._base_url = settings.base_url
        self._is_https = settings.is_https
        self._page_rule = PageRule.of(settings.base_url, allow_localhost=settings.allow_localhost_origin)
        self._providers = providers
        self._pending = pending
        self._provider_sessions = provider_sessions
        self._sites = sites
        self._sign_in = sign_in
        self._windows = windows

    async def start(self, name: str, project_id: str, pages: list[str], device: Device) -> Departure:
        """Where to go, and what to remember. `pages` are the addresses the browser says it comes from."""
        site = await self._site_of(project_id)
        provider = self._provider(name, site)
        await self._windows.spend(STARTS_PER_CLIENT, device.client)
        state, verifier, nonce, claim = new_secret(), new_secret(), new_secret(), new_secret()
        try:
            url = await provider.authorize_url(
                Ask(state=state, challenge=challenge_of(verifier), nonce=nonce, redirect_uri=self._redirect_uri(name))
            )
        except (ProviderTrouble, OutboundFailed) as trouble:
            log.warning("oauth_failed", provider=name, reason=trouble.reason)
            raise ProviderTrouble(trouble.reason, _NO_ANSWER) from None
        origins = (page_origin(page, site, self._page_rule) for page in pages)
        pending = PendingSignIn(
            verifier=verifier,
            nonce=nonce,
            site_id=site.id,
            origin=next(filter(None, origins), None),
            claim_digest=digest(claim),
        )
        await self._pending.save(name, state, pending)
        return Departure(url, cookie_name(state, is_https=self._is_https), claim)

    async def finish(self, name: str, reply: ProviderReply, device: Device) -> Outcome:
        provider = self._provider(name)
        pending = await self._pending.consume(name, reply.state)
        if not reply.code and not reply.error:
            raise CodeMissing
        target = None
        try:
            if pending is None:
                raise ProviderTrouble("the state is unknown", _OVER)
            site = await self._sites.by_id(pending.site_id)
            if site is None:
                raise ProviderTrouble("the site is gone", _OVER)
            target = pending.origin or f"https://{site.domain}"
            self._check(reply, pending, provider)
            self._provider(name, site)
            auth = await self._signed_in(name, provider, reply.code, pending, site, device)
        except ProviderTrouble as trouble:
            return _failed(name, trouble.reason, trouble.sentence, target)
        except OutboundFailed as trouble:
            return _failed(name, trouble.reason, _NO_ANSWER, target)
        except ThreadKitError as error:  # banned, switched off meanwhile, and the like
            return _failed(name, error.code, error.message, target)
        return Outcome(auth=auth, target=target)

    async def fresh_access_token(self, user_id: UserId, session_id: SessionId, provider: str) -> str | None:
        """The provider's access token of a session, refreshed when it is about to expire; None when it is over."""
        if provider not in self._providers:
            return None
        return await self._provider_sessions.fresh_access_token(
            user_id, session_id, provider, self._providers[provider]
        )

    async def _signed_in(
        self, name: str, provider: Provider, code: str, pending: PendingSignIn, site: Site, device: Device
    ) -> AuthResponse:
        grant = Grant(code=code, verifier=pending.verifier, nonce=pending.nonce, redirect_uri=self._redirect_uri(name))
        identity, granted = await provider.exchange(grant)
        return await self._sign_in.by_provider(
            site,
            identity,
            device,
            session_id=new_uuid(),
            provider_session=self._provider_sessions.new(identity, granted),
        )

    def _check(self, reply: ProviderReply, pending: PendingSignIn, provider: Provider) -> None:
        claim = reply.cookies.get(cookie_name(reply.state, is_https=self._is_https), "")
        if not hmac.compare_digest(digest(claim), pending.claim_digest):
            raise ProviderTrouble("another browser came back", _ANOTHER_BROWSER)
        if reply.error:
            is_no = reply.error == "access_denied"
            sentence = "The sign-in was cancelled." if is_no else "The provider refused the sign-in. Please try again."
            raise ProviderTrouble("cancelled" if is_no else "the provider refused", sentence)
        if reply.issuer and not provider.is_issuer(reply.issuer):
            raise ProviderTrouble("the answer is another issuer's")

    async def _site_of(self, project_id: str) -> Site:
        opened = await self._sites.opened_by(project_id)
        # A secret key has no business in an address.
        if opened is None or opened.key_type is not KeyType.PUBLIC:
            raise UnknownProject
        return opened.site

    def _provider(self, name: str, site: Site | None = None) -> Provider:
        if name not in self._providers or (site is not None and not getattr(site.settings.auth, name)):
            raise ProviderOff
        return self._providers[name]

    def _redirect_uri(self, name: str) -> str:
        return callback_address(self._base_url, name)


def _failed(provider: str, reason: str, sentence: str, target: str | None) -> Outcome:
    log.warning("oauth_failed", provider=provider, reason=reason)
    return Outcome(error=sentence, target=target)
