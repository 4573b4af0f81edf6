"""Codes sent to an address or number, each for one purpose: six digits, ten minutes, five tries, one use."""

import contextlib
import hmac
import secrets
from typing import Protocol

import msgspec
import structlog
from msgspec import Struct
from redis.exceptions import RedisError

from threadkit.clock import Clock, iso
from threadkit.errors import Invalid, TooMany
from threadkit.ids import UserId
from threadkit.ratelimit.model import Reservation
from threadkit.ratelimit.quotas import Quotas
from threadkit.ratelimit.windows import Spent, Window, Windows
from threadkit.sending.model import OnFailed, masked
from threadkit.settings import Accounts
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.users.model import VerificationType
from threadkit.users.scripts import CheckCode, KeepCode, entry_of

log = structlog.get_logger()

LIFE_S = 600
MOST_WRONG = 5


class NoCode(Invalid):
    """No verification code found"""

    code = "no_verification_code"


class WrongCode(Invalid):
    """Invalid verification code"""

    code = "wrong_verification_code"


class Allowed(Struct, frozen=True):
    """A sending that was counted, and what gives it back."""

    spent: list[Spent]
    reservation: Reservation
    known_as: str = ""
    """The network that asked, where the account knows it: strangers use up nothing of what it may be sent."""


class CodeSender(Protocol):
    """Takes a code to its receiver, some time soon; never delays or fails the request."""

    def send_code(
        self, target: str, code: str, *, purpose: VerificationType, site_name: str, on_failed: OnFailed | None = None
    ) -> None: ...


class _Stored(Struct, omit_defaults=True):
    code: str
    verification_type: VerificationType
    created_at: str
    user_id: str | None = None
    attempts: int = 0
    asked_by: str = ""
    """The address that asked for it, as a keyed hash; its wrong tries and those of others are counted apart."""
    others_attempts: int = 0


class CodeService:
    def __init__(
        self,
        *,
        redis: Commands,
        keys: Keys,
        clock: Clock,
        windows: Windows,
        quotas: Quotas,
        sender: CodeSender,
        digest_key: bytes,
        accounts: Accounts,
    ) -> None:
        self._redis = redis
        self._keys = keys
        self._clock = clock
        self._windows = windows
        self._quotas = quotas
        self._sender = sender
        self._digest_key = digest_key
        self._check = CheckCode(redis, keys)
        self._keep = KeepCode(redis, keys)
        self._per_client = Window("code-client", accounts.codes_per_client_per_hour, 3600)
        self._per_target = Window("code-target", accounts.codes_per_address_per_hour, 3600, gap_s=60)
        self._per_mailbox = Window("code-mailbox", accounts.codes_per_address_per_hour, 3600)

    async def allow(self, target: str, purpose: VerificationType, *, client: str, is_known: bool = False) -> Allowed:
        """Count one sending, or raise. Called whether or not anybody has this address, so that nobody can tell. What is
        asked for one purpose takes nothing from another."""
        known_as = client if is_known else ""
        spent = [
            await self._windows.spend(self._per_client, client),
            await self._windows.spend(self._per_target, self._digest(f"{target}:{purpose}:{known_as}")[:32]),
        ]
        return Allowed(spent, await self._quotas.reserve("codes", client), known_as)

    async def send_beside_password(
        self, place: str, to: str, *, deliver: bool, has_proved: bool, client: str, site_name: str
    ) -> None:
        """Only a right password has it sent, so strangers cannot use up what `to` may be sent; nor can somebody who has
        opened an account with another's address, which was never proved."""
        allowed = Allowed(
            [await self._windows.spend(self._per_client, client)], await self._quotas.reserve("codes", client)
        )
        mailbox = place if not deliver else f"{to}:password" if has_proved else f"{to}:"
        await self.send(
            place,
            "password",
            site_name=site_name,
            allowed=allowed,
            asked_by=client,
            to=to,
            mailbox=mailbox,
            deliver=deliver,
        )

    async def send(
        self,
        target: str,
        purpose: VerificationType,
        *,
        site_name: str,
        allowed: Allowed,
        asked_by: str,
        user_id: UserId | None = None,
        deliver: bool = True,
        to: str = "",
        mailbox: str = "",
    ) -> None:
        """A fresh code; the one before it for the same purpose is void. What was allowed is given back when it cannot be
        sent.

        An address gets only so many codes an hour, for whatever purpose. What is asked beyond that is not sent, voids
        nothing, and looks to whoever asked as if it had been: whether it is sent can depend on there being an account."""
        code = f"{secrets.randbelow(1_000_000):06d}"
        now = iso(self._clock.now_ms())
        stored = _Stored(self._digest(f"{target}:{code}"), purpose, now, user_id, asked_by=asked_by)
        spent_by_sending: list[Spent] = []

        async def give_back() -> None:
            await self._quotas.release(allowed.reservation)
            for spent in [*allowed.spent, *spent_by_sending]:
                await self._windows.give_back(spent)

        try:
            # Counted where nothing is sent too, so that the time does not tell.
            mailbox = mailbox or f"{target}:{allowed.known_as if deliver else 'unsent'}"
            try:
                spent_by_sending.append(await self._windows.spend(self._per_mailbox, self._digest(mailbox)[:32]))
            except TooMany:
                await self._keep(target, purpose, msgspec.json.encode(stored), life_s=LIFE_S)
                return
            await self._redis.set(entry_of(self._keys, target, purpose), msgspec.json.encode(stored), ex=LIFE_S)
        except (RedisError, OSError):
            with contextlib.suppress(RedisError, OSError):  # what cannot be given back now is so soon by itself
                await give_back()
            raise
        if deliver:
            self._sender.send_code(to or target, code, purpose=purpose, site_name=site_name, on_failed=give_back)

    async def check(self, target: str, purpose: VerificationType, code: str, *, client: str, use_up: bool) -> None:
        """Raise unless this is the code. Only `use_up` ends it, for a caller who may still have to ask for a name."""
        reply = await self._check(
            target,
            purpose,
            self._digest(f"{target}:{code.strip()[:16]}"),
            client=client,
            oldest=iso(self._clock.now_ms() - LIFE_S * 1000),
            most_wrong=MOST_WRONG,
            use_up=use_up,
        )
        if reply in ("MISSING", "WRONG"):
            log.warning("sign_in_failed", way="code", to=masked(target), reason=reply.lower())
        if reply == "MISSING":
            raise NoCode
        if reply == "WRONG":
            raise WrongCode

    def _digest(self, text: str) -> str:
        return hmac.digest(self._digest_key, text.encode(), "sha256").hex()
