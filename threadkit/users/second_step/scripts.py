"""Atomic writes of what somebody has for the second step."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from threadkit.ids import SessionId, UserId
from threadkit.storage.lua import KeyedScript
from threadkit.users.second_step.model import (
    MOST_PASSKEYS,
    Passkey,
    PasskeyKnown,
    PasskeyNotFound,
    PasskeyRefused,
    SecondStepUsed,
    TooManyPasskeys,
    TotpDraftGone,
    WrongSecondStep,
)


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


class KeepTotp(KeyedScript):
    file = "keep_totp.lua"

    async def __call__(
        self,
        user_id: UserId,
        session_id: SessionId,
        sealed: str,
        step: int,
        *,
        now: str,
        now_ms: int,
        recovery: Sequence[str],
    ) -> bool:
        """Whether the recovery codes were taken too."""
        keys = self._keys.user(user_id)
        reply = await self._run(
            keys=[keys.profile(), keys.session(session_id), keys.totp_draft(), keys.totp(), keys.recovery_codes()],
            args=[sealed, step, now, now_ms, _json(recovery)],
        )
        if reply == "GONE":
            raise TotpDraftGone
        return bool(reply == "WITH_CODES")


class AddPasskey(KeyedScript):
    file = "add_passkey.lua"

    async def __call__(
        self,
        user_id: UserId,
        session_id: SessionId,
        passkey_id: str,
        passkey: Passkey,
        *,
        now_ms: int,
        recovery: Sequence[str],
    ) -> bool:
        """Whether the recovery codes were taken too."""
        keys = self._keys.user(user_id)
        reply = await self._run(
            keys=[keys.profile(), keys.session(session_id), keys.passkeys(), keys.recovery_codes()],
            args=[passkey_id, _json(passkey), MOST_PASSKEYS, now_ms, _json(recovery)],
        )
        match reply:
            case "GONE":
                raise PasskeyRefused
            case "KNOWN":
                raise PasskeyKnown
            case "TOO_MANY":
                raise TooManyPasskeys(most=MOST_PASSKEYS)
        return bool(reply == "WITH_CODES")


class DropFactor(KeyedScript):
    file = "drop_factor.lua"

    async def __call__(self, user_id: UserId, which: Literal["totp", "passkey", "all"], passkey_id: str = "") -> bool:
        """Whether there was anything to take away."""
        keys = self._keys.user(user_id)
        every = [keys.profile(), keys.totp(), keys.totp_draft(), keys.passkeys(), keys.recovery_codes()]
        return bool(await self._run(keys=every, args=[which, passkey_id]))


class UseTotpStep(KeyedScript):
    file = "use_totp_step.lua"

    async def __call__(self, user_id: UserId, sealed: str, step: int) -> None:
        reply = await self._run(keys=[self._keys.user(user_id).totp()], args=[sealed, step])
        if reply == "USED":
            raise SecondStepUsed
        if reply == "GONE":
            raise WrongSecondStep


class UsePasskey(KeyedScript):
    file = "use_passkey.lua"

    async def __call__(self, user_id: UserId, passkey_id: str, sign_count: int, *, now: str) -> None:
        reply = await self._run(keys=[self._keys.user(user_id).passkeys()], args=[passkey_id, sign_count, now])
        if reply != "OK":
            raise PasskeyRefused


class RenamePasskey(KeyedScript):
    file = "rename_passkey.lua"
    repeatable = True

    async def __call__(self, user_id: UserId, passkey_id: str, name: str) -> None:
        if not await self._run(keys=[self._keys.user(user_id).passkeys()], args=[passkey_id, name]):
            raise PasskeyNotFound


class RenewRecoveryCodes(KeyedScript):
    file = "renew_recovery_codes.lua"
    repeatable = True

    async def __call__(self, user_id: UserId, recovery: Sequence[str]) -> bool:
        """False when there is no second step."""
        keys = self._keys.user(user_id)
        return bool(await self._run(keys=[keys.profile(), keys.recovery_codes()], args=[_json(recovery)]))


class PassSecondStep(KeyedScript):
    file = "pass_second_step.lua"
    repeatable = True

    async def __call__(self, user_id: UserId, session_id: SessionId, *, now_ms: int) -> bool:
        """False when the session is gone."""
        return bool(await self._run(keys=[self._keys.user(user_id).session(session_id)], args=[now_ms]))
