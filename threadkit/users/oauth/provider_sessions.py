"""The provider's side of a session: its tokens, sealed, and how they stay fresh without two of us refreshing at once."""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator

import msgspec
import structlog

from threadkit.clock import Clock
from threadkit.http.outbound import OutboundFailed
from threadkit.ids import SessionId, UserId
from threadkit.keyring import Keyring
from threadkit.storage.claims import Release
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.users.oauth.model import GrantedTokens, ProviderSession, ProviderTrouble, RefreshRefused
from threadkit.users.oauth.provider import Provider
from threadkit.users.oauth.scripts import SettleProviderSession
from threadkit.users.sign_in import Identity

log = structlog.get_logger()

SEAL = "provider-token"
DUE_BEFORE_MS = 30_000
LOCK_S = 5
WAIT_S = 1.5
LOOK_EVERY_S = 0.05


class ProviderSessions:
    def __init__(self, *, redis: Commands, keys: Keys, clock: Clock, keyring: Keyring) -> None:
        self._redis = redis
        self._keys = keys
        self._clock = clock
        self._keyring = keyring
        self._release = Release(redis)
        self._settle = SettleProviderSession(redis)

    def new(self, identity: Identity, granted: GrantedTokens) -> bytes:
        now = self._clock.now_ms()
        session = ProviderSession(
            uid=identity.provider_id,
            name=identity.name,
            avatar=identity.avatar_url,
            access_token=self._seal(granted.access_token),
            refresh_token=self._seal(granted.refresh_token) if granted.refresh_token else None,
            scope=granted.scope or "",
            token_type=granted.token_type,
            access_expires_at=self._expires_at(granted),
            created_at=now,
            last_seen_at=now,
        )
        return msgspec.json.encode(session)

    async def read(self, user_id: UserId, session_id: SessionId) -> ProviderSession | None:
        text = await self._redis.get(self._keys.user(user_id).provider_session(session_id))
        try:
            return msgspec.json.decode(text, type=ProviderSession) if text else None
        except msgspec.DecodeError:  # written by another version of ThreadKit
            return None

    async def fresh_access_token(
        self, user_id: UserId, session_id: SessionId, name: str, provider: Provider
    ) -> str | None:
        """An access token that will do for a while; None when there is none to be had."""
        session = await self.read(user_id, session_id)
        if session is None or not self._is_due(session):
            return self._access_token(session)
        async with self._lock(user_id, session_id) as is_ours:
            if not is_ours:
                return self._access_token(await self._wait_for_newer(user_id, session_id, session.ver))
            # Whoever held the lock before us may have done it already.
            session = await self.read(user_id, session_id)
            if session is not None and self._is_due(session):
                session = await self._refreshed(user_id, session_id, session, name, provider)
        return self._access_token(session)

    @contextlib.asynccontextmanager
    async def _lock(self, user_id: UserId, session_id: SessionId) -> AsyncIterator[bool]:
        entry, token = self._keys.user(user_id).session_lock(session_id), secrets.token_urlsafe(16)
        is_ours = bool(await self._redis.set(entry, token, nx=True, ex=LOCK_S))
        try:
            yield is_ours
        finally:
            if is_ours:
                await self._release(entry, token)

    async def _refreshed(
        self, user_id: UserId, session_id: SessionId, session: ProviderSession, name: str, provider: Provider
    ) -> ProviderSession | None:
        entry = self._keys.user(user_id).provider_session(session_id)
        refresh_token = self._keyring.unseal(SEAL, session.refresh_token or "")
        try:
            if not refresh_token:
                raise RefreshRefused("there is no refresh token")
            granted = await provider.refresh(refresh_token)
        except RefreshRefused as trouble:
            log.info("provider_session_ended", provider=name, reason=trouble.reason)
            await self._settle(entry, session.ver, None)
        except (ProviderTrouble, OutboundFailed) as trouble:
            log.warning("provider_refresh_failed", provider=name, reason=trouble.reason)
        else:
            changes: dict[str, str | int | None] = {
                "access_token": self._seal(granted.access_token),
                "token_type": granted.token_type,
                "access_expires_at": self._expires_at(granted),
            }
            if granted.refresh_token:
                changes["refresh_token"] = self._seal(granted.refresh_token)
            if granted.scope is not None:
                changes["scope"] = granted.scope
            await self._settle(entry, session.ver, changes)
        return await self.read(user_id, session_id)

    async def _wait_for_newer(self, user_id: UserId, session_id: SessionId, ver: int) -> ProviderSession | None:
        """What is there when somebody else has refreshed, or when we have waited long enough."""
        deadline = asyncio.get_running_loop().time() + WAIT_S
        while True:
            session = await self.read(user_id, session_id)
            if session is None or session.ver != ver or asyncio.get_running_loop().time() >= deadline:
                return session
            await asyncio.sleep(LOOK_EVERY_S)

    def _is_due(self, session: ProviderSession) -> bool:
        expires_at = session.access_expires_at
        return expires_at is not None and expires_at - self._clock.now_ms() <= DUE_BEFORE_MS

    def _access_token(self, session: ProviderSession | None) -> str | None:
        return self._keyring.unseal(SEAL, session.access_token) or None if session else None

    def _expires_at(self, granted: GrantedTokens) -> int | None:
        return None if granted.expires_in is None else self._clock.now_ms() + granted.expires_in * 1000

    def _seal(self, token: str) -> str:
        return self._keyring.seal(SEAL, token)
