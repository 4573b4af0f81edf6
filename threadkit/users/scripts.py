"""Atomic writes of users and their sessions."""

from itertools import chain
from typing import Literal, get_args

import msgspec

from threadkit.ids import SessionId, UserId
from threadkit.storage.keys import Keys
from threadkit.storage.lua import KeyedScript
from threadkit.storage.records import to_hash
from threadkit.users.model import ProfileChanged, Session, VerificationType

MOST_NETWORKS = 20
NETWORK_LIFE_S = 180 * 86_400


class _UserScript(KeyedScript):
    repeatable = True

    def _fronts(self, user_id: UserId) -> list[str]:
        """What stands before a session id in the keys of its two records."""
        keys = self._keys.user(user_id)
        return [keys.session(""), keys.provider_session("")]


class SaveSession(_UserScript):
    file = "save_session.lua"

    async def __call__(
        self,
        session: Session,
        *,
        life_s: int,
        most: int,
        epoch: int,
        now_ms: int,
        has_contact: bool,
        provider_session: bytes = b"",
    ) -> str:
        """'OK', 'NEW_NETWORK' when they came from others before, or 'NO_USER'. `has_contact`: somebody can be
        told, or can be guessed at."""
        keys = self._keys.user(session.user_id)
        fields = list(chain.from_iterable(to_hash(session).items()))
        return str(
            await self._run(
                keys=[keys.profile(), keys.sessions(), keys.networks()],
                args=[
                    session.id,
                    life_s,
                    most,
                    *self._fronts(session.user_id),
                    msgspec.json.encode(fields).decode(),
                    provider_session.decode(),
                    epoch,
                    session.ip if has_contact else "",
                    now_ms,
                    MOST_NETWORKS,
                    NETWORK_LIFE_S,
                ],
            )
        )


class EndSessions(_UserScript):
    file = "end_sessions.lua"
    makes_room = True
    repeatable = False

    async def __call__(
        self, user_id: UserId, *, only: SessionId | str = "", keep: SessionId | str = "", staff_alone: bool = False
    ) -> int:
        keys = self._keys.user(user_id)
        return int(
            await self._run(
                keys=[keys.sessions(), keys.profile(), keys.channel(), keys.networks()],
                args=[*self._fronts(user_id), only, keep, int(staff_alone)],
            )
        )


class TouchSession(_UserScript):
    file = "touch_session.lua"

    async def __call__(self, user_id: UserId, session_id: SessionId, *, now: str, now_ms: int, life_s: int) -> None:
        await self._run(keys=_session_keys(self._keys, user_id, session_id), args=[now, now_ms, life_s])


class NoteProof(_UserScript):
    file = "note_proof.lua"

    async def __call__(self, user_id: UserId, session_id: SessionId, *, now_ms: int) -> None:
        await self._run(keys=[self._keys.user(user_id).session(session_id)], args=[now_ms])


class RotateRefresh(_UserScript):
    file = "rotate_refresh.lua"

    async def __call__(
        self,
        user_id: UserId,
        session_id: SessionId,
        presented: str,
        following: str,
        *,
        now_ms: int,
        grace_ms: int,
        life_s: int,
    ) -> str | Literal["GONE", "REUSED"]:
        return str(
            await self._run(
                keys=_session_keys(self._keys, user_id, session_id),
                args=[session_id, presented, following, now_ms, grace_ms, life_s],
            )
        )


class CheckCode(_UserScript):
    file = "check_code.lua"
    repeatable = False

    async def __call__(
        self,
        target: str,
        purpose: VerificationType,
        digest: str,
        *,
        client: str,
        oldest: str,
        most_wrong: int,
        use_up: bool,
    ) -> str:
        return str(
            await self._run(
                keys=[entry_of(self._keys, target, purpose)],
                args=[purpose, digest, most_wrong, int(use_up), client, oldest],
            )
        )


class KeepCode(_UserScript):
    file = "keep_code.lua"

    async def __call__(self, target: str, purpose: VerificationType, unsent: bytes, *, life_s: int) -> None:
        await self._run(keys=[entry_of(self._keys, target, purpose)], args=[unsent.decode(), life_s])


def entry_of(keys: Keys, target: str, purpose: VerificationType) -> str:
    """Where a code is kept: those that sign in under the address or number alone."""
    if purpose in ("email", "phone"):
        return keys.shared.verification(target)
    return keys.shared.verification_for(target, purpose)


def entries_of(keys: Keys, target: str) -> list[str]:
    """Wherever a code for an address or number may be."""
    return list({entry_of(keys, target, purpose) for purpose in get_args(VerificationType)})


class ChangeProfile(_UserScript):
    file = "change_profile.lua"
    repeatable = False

    async def __call__(
        self, user_id: UserId, *, fields: dict[str, str], remove: tuple[str, ...], unless_changed: dict[str, str]
    ) -> bool:
        """False when the user is gone; raises when somebody else changed one of `unless_changed` meanwhile."""
        changed = await self._run(
            keys=[self._keys.user(user_id).profile()],
            args=[
                msgspec.json.encode(list(chain.from_iterable(fields.items()))).decode(),
                msgspec.json.encode(remove).decode(),
                msgspec.json.encode(unless_changed).decode(),
            ],
        )
        if int(changed) < 0:
            raise ProfileChanged
        return bool(changed)


class RemoveUser(_UserScript):
    file = "remove_user.lua"
    makes_room = True

    async def __call__(self, user_id: UserId) -> None:
        keys = self._keys.user(user_id)
        await self._run(
            keys=[
                keys.profile(),
                keys.sessions(),
                keys.password(),
                keys.blocked(),
                keys.blocked_by(),
                keys.unread(),
                keys.applied(),
                keys.notifications(),
                keys.unread_by_site(),
                keys.totp(),
                keys.totp_draft(),
                keys.passkeys(),
                keys.recovery_codes(),
                keys.networks(),
            ],
            args=[*self._fronts(user_id), keys.upvoters("")],
        )


def _session_keys(keys: Keys, user_id: UserId, session_id: SessionId) -> list[str]:
    user = keys.user(user_id)
    return [user.session(session_id), user.provider_session(session_id), user.sessions()]
