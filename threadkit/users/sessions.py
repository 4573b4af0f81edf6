"""Signing in and out: sessions, and the two tokens that stand for one."""

from typing import Literal

import structlog
from msgspec import Struct

from threadkit.clock import Clock, from_iso, iso
from threadkit.errors import Forbidden, Unauthenticated
from threadkit.ids import SessionId, SiteId, UserId, new_uuid, random_text
from threadkit.settings import Accounts
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.users.model import AuthResponse, Session, User, UserResponse
from threadkit.users.news import AccountNews
from threadkit.users.queries import Company, UserQueries
from threadkit.users.scripts import EndSessions, NoteProof, RotateRefresh, SaveSession, TouchSession
from threadkit.users.tokens import Claims, Tokens
from threadkit.users.viewer import Viewer

log = structlog.get_logger()

TOUCH_EVERY_MS = 60_000
REFRESH_GRACE_MS = 30_000
PROOF_MS = 15 * 60_000


class InvalidToken(Unauthenticated):
    """Invalid token"""

    code = "invalid_token"


class SessionEnded(Unauthenticated):
    """Session expired"""

    code = "session_ended"


class InvalidRefreshToken(Unauthenticated):
    """Invalid refresh token"""

    code = "invalid_refresh_token"


class UserGone(Unauthenticated):
    """User not found"""

    code = "user_gone"


class AccountBanned(Forbidden):
    """Account banned"""

    code = "account_banned"


class Device(Struct, frozen=True):
    """What is noted of a device: its user agent, and its address as a keyed hash."""

    user_agent: str
    client: str


class SessionService:
    def __init__(
        self,
        *,
        redis: Commands,
        keys: Keys,
        clock: Clock,
        queries: UserQueries,
        tokens: Tokens,
        news: AccountNews,
        accounts: Accounts,
    ) -> None:
        self._redis = redis
        self._keys = keys
        self._clock = clock
        self._queries = queries
        self._tokens = tokens
        self._news = news
        self._life_s = accounts.session_days * 86_400
        self._longest_ms = accounts.session_longest_days * 86_400_000
        self._most = accounts.sessions_per_user
        self._save = SaveSession(redis, keys)
        self._end = EndSessions(redis, keys)
        self._touch = TouchSession(redis, keys)
        self._rotate = RotateRefresh(redis, keys)
        self._note_proof = NoteProof(redis, keys)

    async def open(
        self,
        user: User,
        site_id: SiteId,
        device: Device,
        *,
        session_id: str | None = None,
        provider_session: bytes = b"",
        passed_second_step: bool = False,
        is_staff: bool = False,
    ) -> AuthResponse:
        """Sign somebody in who has proved who they are."""
        if user.global_banned:
            raise AccountBanned
        now = iso(self._clock.now_ms())
        session = Session(
            id=SessionId(session_id or new_uuid()),
            user_id=user.id,
            site_id=site_id,
            created_at=now,
            last_used=now,
            user_agent=_printable(device.user_agent),
            ip=device.client,
            provider=user.provider,
            refresh_id=random_text(24),
            passed_second_step=passed_second_step or None,
            is_staff=is_staff or None,
        )
        saved = await self._save(
            session,
            life_s=self._life_s,
            most=self._most,
            epoch=user.auth_epoch,
            now_ms=self._clock.now_ms(),
            has_contact=bool(user.email or user.phone),
            provider_session=provider_session,
        )
        if saved == "NO_USER":
            raise UserGone
        if saved == "NEW_NETWORK":
            await self._news.came_from_new_network(user)
        log.info("signed_in", user_id=user.id, site_id=site_id, provider=user.provider, client=device.client)
        return self._response(user, session.site_id, session.id, session.refresh_id)

    async def refresh(self, refresh_token: str, site_id: SiteId) -> AuthResponse:
        claims = self._tokens.read(refresh_token, "refresh")
        if claims is None or claims.site_id != site_id:
            raise InvalidRefreshToken
        refresh_id = await self._rotate(
            claims.user_id,
            claims.session_id,
            claims.refresh_id,
            random_text(24),
            now_ms=self._clock.now_ms(),
            grace_ms=REFRESH_GRACE_MS,
            life_s=self._life_s,
        )
        if refresh_id == "GONE":
            raise SessionEnded
        if refresh_id == "REUSED":
            raise InvalidRefreshToken
        viewer = await self._queries.viewer(claims.user_id, claims.session_id, site_id)
        if viewer is None:
            raise UserGone
        await self._end_when_old(viewer)
        return self._response(viewer.user, site_id, claims.session_id, refresh_id)

    def claims_of(self, access_token: str) -> Claims | None:
        return self._tokens.read(access_token, "access")

    def issue(self, claims: Claims, kind: Literal["access", "staff"]) -> str:
        """Another token for a session that is there."""
        return self._tokens.issue(claims, kind)

    def staff_claims_of(self, token: str) -> Claims | None:
        return self._tokens.read(token, "staff")

    async def viewer(self, access_token: str, site_id: SiteId) -> Viewer:
        """Who holds this token. It is good for its own site only, and only while its session is there."""
        if self._tokens.has_expired(access_token, "access"):
            raise SessionEnded
        return await self.viewer_of(self.claims_of(access_token), site_id)

    async def viewer_of(self, claims: Claims | None, site_id: SiteId, *, company: Company | None = None) -> Viewer:
        if claims is None or claims.site_id != site_id:
            raise InvalidToken
        viewer = await self._queries.viewer(claims.user_id, claims.session_id, site_id, company=company)
        if viewer is None:
            raise SessionEnded
        await self._end_when_old(viewer)
        await self._note_use(viewer)
        return viewer

    async def confirm(self, viewer: Viewer) -> int:
        """Whoever sits there has shown again who they are; says until when that counts, ms."""
        now_ms = self._clock.now_ms()
        await self._note_proof(viewer.id, viewer.session.id, now_ms=now_ms)
        return now_ms + PROOF_MS

    def proved_until_ms(self, session: Session) -> int:
        return max(from_iso(session.created_at), session.proved_ms) + PROOF_MS

    def is_proved(self, session: Session) -> bool:
        """Whether it was shown lately who sits there: what does harm in wrong hands asks for it."""
        return self._clock.now_ms() < self.proved_until_ms(session)

    async def end(self, user_id: UserId, session_id: SessionId) -> bool:
        """End one session; says whether it was there."""
        return bool(await self._end(user_id, only=session_id))

    async def end_staff(self, user_id: UserId) -> int:
        """End what was opened on the pages for staff."""
        return await self._end(user_id, staff_alone=True)

    async def end_all(self, user_id: UserId, *, keep: SessionId | str = "") -> int:
        return await self._end(user_id, keep=keep)

    async def _end_when_old(self, viewer: Viewer) -> None:
        """Guests stay: they have no way to come back as themselves."""
        if viewer.user.is_guest or self._clock.now_ms() - from_iso(viewer.session.created_at) <= self._longest_ms:
            return
        await self.end(viewer.id, viewer.session.id)
        raise SessionEnded

    async def _note_use(self, viewer: Viewer) -> None:
        now_ms = self._clock.now_ms()
        if now_ms - from_iso(viewer.session.last_used) >= TOUCH_EVERY_MS:
            await self._touch(viewer.id, viewer.session.id, now=iso(now_ms), now_ms=now_ms, life_s=self._life_s)

    def _response(self, user: User, site_id: SiteId, session_id: SessionId, refresh_id: str) -> AuthResponse:
        claims = Claims(user.id, site_id, session_id, refresh_id)
        return AuthResponse(
            token=self._tokens.issue(claims, "access"),
            refresh_token=self._tokens.issue(claims, "refresh"),
            user=UserResponse.of(user),
        )


def _printable(text: str) -> str:
    return "".join(character for character in text if character.isprintable())[:300]
