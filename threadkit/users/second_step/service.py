"""One-time codes and recovery codes: setting them up, passing the second step with them, taking them away."""

from threadkit.clock import Clock, iso
from threadkit.ids import UserId
from threadkit.keyring import Keyring
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys, UserKeys, entry
from threadkit.users.model import User
from threadkit.users.news import AccountNews
from threadkit.users.second_step import recovery, totp
from threadkit.users.second_step.model import (
    NoSecondStep,
    NoTotp,
    TotpDraft,
    TotpDraftGone,
    WrongSecondStep,
)
from threadkit.users.second_step.queries import FactorQueries
from threadkit.users.second_step.scripts import (
    DropFactor,
    KeepTotp,
    PassSecondStep,
    RenewRecoveryCodes,
    UseTotpStep,
)
from threadkit.users.second_step.tries import Tries
from threadkit.users.sessions import SessionEnded, SessionService
from threadkit.users.viewer import Viewer


class SecondStep:
    def __init__(
        self,
        *,
        redis: Commands,
        keys: Keys,
        clock: Clock,
        keyring: Keyring,
        queries: FactorQueries,
        sessions: SessionService,
        tries: Tries,
        news: AccountNews,
        server_name: str,
    ) -> None:
        self._redis = redis
        self._keys = keys
        self._clock = clock
        self._keyring = keyring
        self._queries = queries
        self._sessions = sessions
        self._tries = tries
        self._news = news
        self._server_name = server_name
        self._recovery_key = keyring.derive("recovery-codes")
        self._keep_totp = KeepTotp(redis, keys)
        self._use_step = UseTotpStep(redis, keys)
        self._renew = RenewRecoveryCodes(redis, keys)
        self._drop = DropFactor(redis, keys)
        self._pass = PassSecondStep(redis, keys)

    # Setting up and taking away

    async def draft_totp(self, user: User) -> TotpDraft:
        """A fresh secret, which counts for nothing until its first code has come."""
        secret = totp.new_secret()
        sealed = self._keyring.seal(_purpose(user.id), secret)
        await self._redis.set(self._keys.user(user.id).totp_draft(), sealed, ex=entry(UserKeys, "totp_draft").ttl_s)
        url = totp.otpauth_url(secret, issuer=self._server_name, account=user.email or user.name)
        return TotpDraft(secret=secret, url=url, qr_svg=totp.qr_svg(url))

    async def keep_totp(self, viewer: Viewer, code: str) -> list[str] | None:
        """The first code is there: from now on staff powers need one. Gives recovery codes to whoever had none."""
        sealed = await self._queries.totp_draft(viewer.id)
        if sealed is None:
            raise TotpDraftGone
        async with self._tries.one(viewer.id, viewer.session.ip):
            step = self._matching_step(viewer.id, sealed, code)
        codes, now_ms = recovery.new_codes(), self._clock.now_ms()
        has_new = await self._keep_totp(
            viewer.id,
            viewer.session.id,
            sealed,
            step,
            now=iso(now_ms),
            now_ms=now_ms,
            recovery=self.digests_of(viewer.id, codes),
        )
        await self._changed(viewer)
        await self._news.second_step_changed(viewer.user, "totp_added")
        return codes if has_new else None

    async def remove_totp(self, viewer: Viewer) -> None:
        if not await self._drop(viewer.id, "totp"):
            raise NoTotp
        await self._changed(viewer)
        await self._news.second_step_changed(viewer.user, "totp_removed")

    async def renew_recovery_codes(self, viewer: Viewer) -> list[str]:
        codes = recovery.new_codes()
        if not await self._renew(viewer.id, self.digests_of(viewer.id, codes)):
            raise NoSecondStep
        await self._news.second_step_changed(viewer.user, "recovery_codes_renewed")
        return codes

    async def reset(self, user: User) -> bool:
        """For somebody who has lost everything, by whoever runs the server: the password alone is enough again, and
        whoever is signed in has to use it. Says whether there was anything to take away."""
        had_any = await self._drop(user.id, "all")
        if had_any:
            await self._sessions.end_all(user.id)
            await self._news.second_step_changed(user, "second_step_reset")
        return had_any

    async def drop_sealed(self, user_id: UserId) -> None:
        """All that a lost server secret made useless; passkeys go on working."""
        keys = self._keys.user(user_id)
        await self._drop(user_id, "totp")
        await self._redis.delete(keys.recovery_codes(), keys.totp_draft())

    # Passing

    async def check_totp(self, user_id: UserId, code: str, *, client: str) -> None:
        """Use a one-time code up, or raise."""
        async with self._tries.one(user_id, client):
            stored = await self._queries.totp(user_id)
            if stored is None:
                raise WrongSecondStep
            await self._use_step(user_id, stored.secret, self._matching_step(user_id, stored.secret, code))

    async def check_recovery_code(self, user: User, code: str, *, client: str) -> None:
        """Use a recovery code up, or raise."""
        async with self._tries.one(user.id, client):
            digest = recovery.digest_of(code, user_id=user.id, key=self._recovery_key)
            if not await self._redis.srem(self._keys.user(user.id).recovery_codes(), digest):
                raise WrongSecondStep
        await self._news.second_step_changed(user, "recovery_code_used")

    async def let_pass(self, viewer: Viewer) -> None:
        """Whoever uses this session has shown something of theirs for the second step."""
        if not await self._pass(viewer.id, viewer.session.id, now_ms=self._clock.now_ms()):
            raise SessionEnded

    # What passkeys share

    def digests_of(self, user_id: UserId, codes: list[str]) -> list[str]:
        return recovery.digests_of(codes, user_id=user_id, key=self._recovery_key)

    async def _changed(self, viewer: Viewer) -> None:
        """Whoever else is signed in comes in by the new rules."""
        await self._sessions.end_all(viewer.id, keep=viewer.session.id)

    def _matching_step(self, user_id: UserId, sealed: str, code: str) -> int:
        secret = self._keyring.unseal(_purpose(user_id), sealed)
        typed = "".join(code.split())
        step = totp.matching_step(secret, typed, now_ms=self._clock.now_ms()) if secret else None
        if step is None:
            raise WrongSecondStep
        return step


def _purpose(user_id: UserId) -> str:
    """One for each person, so that nobody's secret is any good in another's place."""
    return f"totp:{user_id}"
