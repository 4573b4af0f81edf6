"""Passkeys (WebAuthn): making one, signing in with one, passing the second step with one."""

import base64
import binascii
import ipaddress
from typing import Any, Literal
from urllib.parse import urlsplit
from uuid import UUID

import msgspec
from msgspec import Struct

from threadkit.clock import Clock, iso
from threadkit.ids import UserId, digest
from threadkit.storage.client import Commands
from threadkit.storage.keys import GlobalKeys, Keys, entry
from threadkit.users.model import User
from threadkit.users.news import AccountNews
from threadkit.users.second_step import recovery
from threadkit.users.second_step.model import (
    MOST_PASSKEYS,
    NoPasskeysHere,
    Passkey,
    PasskeyNotFound,
    PasskeyRefused,
    PasskeyView,
    TooManyPasskeys,
    check_passkey_name,
)
from threadkit.users.second_step.queries import FactorQueries
from threadkit.users.second_step.scripts import AddPasskey, DropFactor, RenamePasskey, UsePasskey
from threadkit.users.second_step.service import SecondStep
from threadkit.users.sessions import SessionService
from threadkit.users.viewer import Viewer

# The library is loaded when it is first needed: most servers never have a passkey.

Use = Literal["register", "sign-in", "second-step"]
TIMEOUT_MS = 120_000


class _Asked(Struct):
    """What a challenge was given out for."""

    use: Use
    user_id: str = ""


class Passkeys:
    def __init__(
        self,
        *,
        redis: Commands,
        keys: Keys,
        clock: Clock,
        queries: FactorQueries,
        sessions: SessionService,
        second_step: SecondStep,
        news: AccountNews,
        base_url: str,
        server_name: str,
    ) -> None:
        self._redis = redis
        self._keys = keys
        self._clock = clock
        self._queries = queries
        self._sessions = sessions
        self._second_step = second_step
        self._news = news
        address = urlsplit(base_url)
        self._origin = f"{address.scheme}://{address.netloc}".lower()
        self._host = (address.hostname or "").lower()
        self._server_name = server_name
        self._add = AddPasskey(redis, keys)
        self._use = UsePasskey(redis, keys)
        self._rename = RenamePasskey(redis, keys)
        self._drop = DropFactor(redis, keys)

    @property
    def are_possible(self) -> bool:
        try:
            ipaddress.ip_address(self._host)
        except ValueError:
            return True
        return False

    async def creation_options(self, user: User) -> dict[str, Any]:
        """What `navigator.credentials.create` is called with."""
        import webauthn
        from webauthn.helpers import options_to_json_dict, structs

        self._require_possible()
        held = await self._queries.passkeys(user.id)
        if len(held) >= MOST_PASSKEYS:
            raise TooManyPasskeys(most=MOST_PASSKEYS)
        options = webauthn.generate_registration_options(
            rp_id=self._host,
            rp_name=self._server_name,
            user_name=user.email or user.name,
            user_display_name=user.name,
            user_id=UUID(user.id).bytes,
            challenge=await self._challenge(_Asked("register", user.id)),
            timeout=TIMEOUT_MS,
            authenticator_selection=structs.AuthenticatorSelectionCriteria(
                resident_key=structs.ResidentKeyRequirement.PREFERRED,
                user_verification=structs.UserVerificationRequirement.PREFERRED,
            ),
            exclude_credentials=[_descriptor(passkey) for passkey in held],
        )
        return options_to_json_dict(options)

    async def register(
        self, viewer: Viewer, credential: dict[str, Any], name: str
    ) -> tuple[PasskeyView, list[str] | None]:
        """Keep what the browser made. Gives recovery codes to whoever had none."""
        import webauthn

        name = check_passkey_name(name)
        challenge = await self._answered(credential, "register", viewer.id)
        try:
            made = webauthn.verify_registration_response(
                credential=credential,
                expected_challenge=challenge,
                expected_rp_id=self._host,
                expected_origin=self._origin,
            )
        except Exception as error:  # it comes from outside, and the library raises whatever it stumbles over
            raise PasskeyRefused from error
        now_ms = self._clock.now_ms()
        passkey = Passkey(
            credential_id=_text(made.credential_id),
            public_key=_text(made.credential_public_key),
            name=name,
            sign_count=made.sign_count,
            created_at=iso(now_ms),
            transports=_transports(credential),
        )
        passkey_id, codes = _id_of(passkey.credential_id), recovery.new_codes()
        has_new = await self._add(
            viewer.id,
            viewer.session.id,
            passkey_id,
            passkey,
            now_ms=now_ms,
            recovery=self._second_step.digests_of(viewer.id, codes),
        )
        await self._sessions.end_all(viewer.id, keep=viewer.session.id)
        await self._news.second_step_changed(viewer.user, "passkey_added")
        return PasskeyView.of(passkey_id, passkey), codes if has_new else None

    async def request_options(self, user: User | None) -> dict[str, Any]:
        """What `navigator.credentials.get` is called with: for somebody, or for whoever has a passkey of this server."""
        import webauthn
        from webauthn.helpers import options_to_json_dict, structs

        self._require_possible()
        asked = _Asked("second-step", user.id) if user else _Asked("sign-in")
        held = await self._queries.passkeys(user.id) if user else []
        wanted = structs.UserVerificationRequirement.PREFERRED if user else structs.UserVerificationRequirement.REQUIRED
        options = webauthn.generate_authentication_options(
            rp_id=self._host,
            challenge=await self._challenge(asked),
            timeout=TIMEOUT_MS,
            allow_credentials=[_descriptor(passkey) for passkey in held],
            user_verification=wanted,
        )
        return options_to_json_dict(options)

    async def check(self, user: User, credential: dict[str, Any]) -> None:
        """Raise unless this was signed by one of their passkeys, just now."""
        challenge = await self._answered(credential, "second-step", user.id)
        await self._verify(user.id, credential, challenge, alone=False)

    def named_in(self, credential: dict[str, Any]) -> UserId:
        """Whose passkey this says it is."""
        try:
            return UserId(str(UUID(bytes=_bytes(credential["response"]["userHandle"]))))
        except (KeyError, TypeError, ValueError) as error:
            raise PasskeyRefused from error

    async def check_alone(self, user: User, credential: dict[str, Any]) -> None:
        """Raise unless this passkey of theirs has asked for a finger, a face or a number, and so is both factors."""
        challenge = await self._answered(credential, "sign-in", "")
        await self._verify(user.id, credential, challenge, alone=True)

    async def rename(self, user: User, passkey_id: str, name: str) -> None:
        await self._rename(user.id, passkey_id, check_passkey_name(name))

    async def remove(self, viewer: Viewer, passkey_id: str) -> None:
        if not await self._drop(viewer.id, "passkey", passkey_id):
            raise PasskeyNotFound
        await self._sessions.end_all(viewer.id, keep=viewer.session.id)
        await self._news.second_step_changed(viewer.user, "passkey_removed")

    async def _verify(self, user_id: UserId, credential: dict[str, Any], challenge: bytes, *, alone: bool) -> None:
        import webauthn

        passkey_id = _id_of(str(credential.get("id")))
        passkey = await self._queries.passkey(user_id, passkey_id)
        if passkey is None:
            raise PasskeyRefused
        try:
            used = webauthn.verify_authentication_response(
                credential=credential,
                expected_challenge=challenge,
                expected_rp_id=self._host,
                expected_origin=self._origin,
                credential_public_key=_bytes(passkey.public_key),
                credential_current_sign_count=passkey.sign_count,
                require_user_verification=alone,
            )
        except Exception as error:  # it comes from outside, and the library raises whatever it stumbles over
            raise PasskeyRefused from error
        await self._use(user_id, passkey_id, used.new_sign_count, now=iso(self._clock.now_ms()))

    async def _challenge(self, asked: _Asked) -> bytes:
        from webauthn.helpers import generate_challenge

        challenge = generate_challenge()
        place = self._keys.shared.passkey_challenge(_id_of(_text(challenge)))
        await self._redis.set(place, msgspec.json.encode(asked), ex=entry(GlobalKeys, "passkey_challenge").ttl_s)
        return challenge

    async def _answered(self, credential: dict[str, Any], use: Use, user_id: str) -> bytes:
        """The challenge that was signed, which must be one of ours, for this, and used for the first time."""
        try:
            said = msgspec.json.decode(_bytes(credential["response"]["clientDataJSON"]))
            challenge = str(said["challenge"])
            raw = _bytes(challenge)
        except (KeyError, TypeError, ValueError, msgspec.MsgspecError) as error:
            raise PasskeyRefused from error
        asked = await self._redis.getdel(self._keys.shared.passkey_challenge(_id_of(_text(raw))))
        if asked is None or msgspec.json.decode(asked, type=_Asked) != _Asked(use, user_id):
            raise PasskeyRefused
        return raw

    def _require_possible(self) -> None:
        if not self.are_possible:
            raise NoPasskeysHere(address=self._origin)


def _descriptor(passkey: Passkey) -> Any:
    from webauthn.helpers import structs

    known = {transport.value: transport for transport in structs.AuthenticatorTransport}
    transports = [known[name] for name in passkey.transports.split(",") if name in known]
    return structs.PublicKeyCredentialDescriptor(id=_bytes(passkey.credential_id), transports=transports or None)


def _transports(credential: dict[str, Any]) -> str:
    said = credential.get("response", {}).get("transports")
    return ",".join(str(one)[:20] for one in said[:6]) if isinstance(said, list) else ""


def _id_of(text: str) -> str:
    """A credential's id is as long as its maker likes; this is not, and fits into an address."""
    return digest(text)[:32]


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _bytes(text: Any) -> bytes:
    if not isinstance(text, str):
        raise TypeError("not a text")
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except binascii.Error as error:
        raise ValueError("not base64") from error
