"""The ways in. Each one ends with a user who has proved something, and opens a session for them."""

import contextlib
import hmac
from typing import Literal

import msgspec
import structlog
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import OctKey
from msgspec import Struct
from msgspec.structs import replace

from threadkit.clock import Clock, iso
from threadkit.errors import Forbidden, Invalid, TooMany, Unauthenticated, WrongShape
from threadkit.ids import UserId, digest, new_uuid
from threadkit.keyring import Keyring
from threadkit.ratelimit.windows import Window, Windows
from threadkit.settings import LimitSettings
from threadkit.sites.model import Site
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.users.codes import CodeService
from threadkit.users.guesses import Factor, Guesses
from threadkit.users.model import (
    DELETED_USER,
    AuthResponse,
    EmailTaken,
    User,
    UsernameTaken,
    VerificationType,
    check_avatar_url,
    guest_name,
    normal_email,
    normal_phone,
    shown_name,
    username_from,
)
from threadkit.users.name_rules import NameRules
from threadkit.users.passwords import Passwords, check_password
from threadkit.users.queries import UserQueries
from threadkit.users.registry import ProviderTaken, UserRegistry
from threadkit.users.sessions import AccountBanned, Device, SessionService
from threadkit.users.viewer import Viewer

log = structlog.get_logger()

LONGEST_SSO_S = 600
RESETS_PER_CLIENT = 6  # an hour


class MethodOff(Forbidden):
    """This site does not offer this way of signing in."""

    code = "method_off"


class InvalidCredentials(Unauthenticated):
    """Invalid credentials"""

    code = "invalid_credentials"


class NameRequired(Invalid):
    """Name required for new accounts"""

    code = "name_required"


class InvalidSsoToken(Unauthenticated):
    """The site's sign-in token is not valid: {why}"""

    code = "invalid_sso_token"


class Contact(Struct, frozen=True):
    """An address or a number, in the one form in which it is stored."""

    kind: Literal["email", "phone"]
    value: str

    @classmethod
    def of(cls, email: str | None, phone: str | None) -> "Contact":
        if email is not None:
            return cls("email", normal_email(email))
        if phone is not None:
            return cls("phone", normal_phone(phone))
        raise WrongShape(field="email", why="an e-mail address or a phone number is needed")


class Identity(Struct, frozen=True, kw_only=True):
    """What a provider says about somebody."""

    provider: str
    provider_id: str
    name: str
    email: str | None = None
    email_verified: bool = False
    avatar_url: str | None = None


class SignIn:
    def __init__(
        self,
        *,
        redis: Commands,
        keys: Keys,
        clock: Clock,
        keyring: Keyring,
        queries: UserQueries,
        registry: UserRegistry,
        names: NameRules,
        sessions: SessionService,
        codes: CodeService,
        passwords: Passwords,
        guesses: Guesses,
        windows: Windows,
        limits: LimitSettings,
    ) -> None:
        self._redis = redis
        self._keys = keys
        self._clock = clock
        self._keyring = keyring
        self._queries = queries
        self._registry = registry
        self._names = names
        self._sessions = sessions
        self._codes = codes
        self._passwords = passwords
        self._guesses = guesses
        self._windows = windows
        self._digest_key = keyring.derive("sign-in")
        self._per_minute = Window("sign-in-minute", limits.sign_ins_per_minute, 60)
        self._per_hour = Window("sign-in-hour", limits.sign_ins_per_hour, 3600)
        self._per_account = Window("sign-in-account", limits.sign_ins_per_account_per_hour, 3600)
        self._resets_per_client = Window("reset-client", RESETS_PER_CLIENT, 3600)

    def _digest(self, contact: str) -> str:
        """In place of an address: without the server's secret nobody finds out whose it is by trying some."""
        return hmac.digest(self._digest_key, contact.encode(), "sha256").hex()[:32]

    # Codes

    async def send_code(self, site: Site, contact: Contact, device: Device) -> None:
        _require(site.settings.auth.email if contact.kind == "email" else site.settings.auth.phone)
        known = await self._is_at_home(await self._behind(contact), device)
        allowed = await self._codes.allow(contact.value, contact.kind, client=device.client, is_known=known)
        await self._codes.send(
            contact.value, contact.kind, site_name=site.name, allowed=allowed, asked_by=device.client
        )

    async def by_code(
        self, site: Site, contact: Contact, code: str, name: str | None, device: Device, *, guest: Viewer | None
    ) -> AuthResponse:
        """A known address signs in; an unknown one becomes an account, and a guest who proves one keeps being who they are."""
        _require(site.settings.auth.email if contact.kind == "email" else site.settings.auth.phone)
        await self._check_code(contact, code, device, use_up=False)
        user = await self._behind(contact)
        if user is not None:
            await self._check_code(contact, code, device)
            return await self._sessions.open(await self._proved(user, contact), site.id, device)
        if not name:
            raise NameRequired
        self._names.check_member(name, site)
        await self._registry.check_free(name, for_user=guest.id if guest else None)
        await self._check_code(contact, code, device)
        if guest:
            member = _with_contact(
                replace(guest.user, name=name, provider=contact.kind, username_set=True), contact, proved=True
            )
            return await self._sessions.open(await self._registry.change(guest.user, member), site.id, device)
        user = await self._registry.create(self._new_user(name, contact, proved=True))
        return await self._sessions.open(user, site.id, device)

    # Passwords

    async def register(
        self, site: Site, contact: Contact, name: str, password: str, device: Device, *, guest: Viewer | None
    ) -> AuthResponse:
        _require(site.settings.auth.password)
        await self._windows.spend(self._per_minute, device.client)
        self._names.check_member(name, site)
        check_password(password, about=(name, contact.value, site.name))
        hashed = await self._passwords.hash(password)
        if guest:
            member = _with_contact(
                replace(guest.user, name=name, provider=contact.kind, username_set=True), contact, proved=False
            )
            user = await self._registry.change(guest.user, member)
        else:
            user = await self._registry.create(self._new_user(name, contact, proved=False))
        await self._redis.set(self._keys.user(user.id).password(), hashed)
        with contextlib.suppress(TooMany):  # the account is there; the code can be asked for later
            allowed = await self._codes.allow(contact.value, contact.kind, client=device.client)
            await self._codes.send(
                contact.value,
                contact.kind,
                site_name=site.name,
                allowed=allowed,
                asked_by=device.client,
                user_id=user.id,
            )
        return await self._sessions.open(user, site.id, device)

    async def by_password(
        self, site: Site, contact: Contact, password: str, device: Device, *, code: str | None
    ) -> AuthResponse:
        _require(site.settings.auth.password)
        own_limit = site.settings.rate_limits.auth_attempts_per_hour
        user = await self.who_has_password(
            contact, password, device, site_name=site.name, code=code, per_hour=own_limit
        )
        return await self._sessions.open(user, site.id, device)

    async def who_has_password(
        self,
        contact: Contact,
        password: str,
        device: Device,
        *,
        site_name: str,
        code: str | None = None,
        factor: Factor | None = None,
        per_hour: int | None = None,
    ) -> User:
        """Whose password this is, on whatever site. While somebody guesses at the account, networks that are new to it
        need a `code` beside it, sent to the address or of the second step."""
        await self._windows.spend(self._per_minute, device.client)
        hourly = replace(self._per_hour, limit=per_hour) if per_hour else self._per_hour
        await self._windows.spend(hourly, device.client)
        user = await self._behind(contact)
        guess = await self._guesses.begin(self._digest(contact.value), user, client=device.client)
        # Asked for nobody too, so that the time does not tell.
        stored = await self._queries.password_hash(user.id if user else DELETED_USER)
        is_right = await self._passwords.verify(stored, password)
        if guess.is_guarded and code is None:
            await self._guesses.ask_for_code(guess, contact.value, user, is_right=is_right, site_name=site_name)
        if guess.is_guarded and not (is_right and user and factor and await factor(user, code or "")):
            await self._guesses.check_code(guess, code or "")
        if not is_right or user is None or stored is None:
            log.warning("sign_in_failed", way="password", user_id=user.id if user else None, client=device.client)
            raise InvalidCredentials
        await self._guesses.was_right(guess)
        if user.global_banned:
            raise AccountBanned
        if self._passwords.needs_rehash(stored):
            await self._redis.set(self._keys.user(user.id).password(), await self._passwords.hash(password))
        return user

    async def check_staff_code(self, contact: Contact, code: str, device: Device) -> None:
        await self._check_code(contact, code, device, purpose="staff")

    async def who_has_staff_code(self, contact: Contact, code: str, device: Device) -> User:
        """Whose address was proved by a code for the pages for staff."""
        await self.check_staff_code(contact, code, device)
        user = await self._behind(contact)
        if user is None:
            raise InvalidCredentials
        return await self._proved(user, contact)

    async def send_staff_code(self, contact: Contact, device: Device, *, site_name: str, deliver: bool) -> None:
        """The same to everybody who asks, whether it is delivered or not."""
        known = await self._is_at_home(await self._behind(contact), device)
        allowed = await self._codes.allow(contact.value, "staff", client=device.client, is_known=known)
        await self._codes.send(
            contact.value, "staff", site_name=site_name, allowed=allowed, asked_by=device.client, deliver=deliver
        )

    async def whose(self, contact: Contact) -> User | None:
        return await self._behind(contact)

    async def confirm(self, contact: Contact, code: str, device: Device) -> None:
        """Show that an address is one's own."""
        await self._check_code(contact, code, device)
        user = await self._behind(contact)
        if user is not None:
            await self._registry.change(user, _with_contact(user, contact, proved=True))

    async def forgot(self, site: Site, contact: Contact, device: Device) -> None:
        """Send a code to whoever has this address; the answer is the same when nobody does."""
        _require(site.settings.auth.password)
        await self._windows.spend(self._resets_per_client, device.client)
        user = await self._behind(contact)
        known = await self._is_at_home(user, device)
        allowed = await self._codes.allow(contact.value, "password_reset", client=device.client, is_known=known)
        # For nobody a code is made and not sent, so that guessing it is answered the same way.
        await self._codes.send(
            contact.value,
            "password_reset",
            site_name=site.name,
            allowed=allowed,
            asked_by=device.client,
            user_id=user.id if user else None,
            deliver=user is not None,
        )

    async def reset(self, site: Site, contact: Contact, code: str, password: str, device: Device) -> None:
        """A new password; whoever was signed in with the old one is out."""
        _require(site.settings.auth.password)
        check_password(password, about=(contact.value, site.name))
        await self._check_code(contact, code, device, purpose="password_reset", use_up=False)
        hashed = await self._passwords.hash(password)
        await self._check_code(contact, code, device, purpose="password_reset")
        user = await self._behind(contact)
        if user is None:
            return
        await self._registry.change(user, _with_contact(user, contact, proved=True))
        await self._redis.set(self._keys.user(user.id).password(), hashed)
        log.info("password_changed", user_id=user.id, way="code")
        await self._sessions.end_all(user.id)

    async def change_password(self, viewer: Viewer, old: str | None, new: str) -> None:
        """Every other device is signed out."""
        stored = await self._queries.password_hash(viewer.id)
        await self._windows.spend(self._per_account, viewer.id)
        # Somebody without a password proves their address for the first one: forgot, then reset.
        if not await self._passwords.verify(stored, old or ""):
            raise InvalidCredentials
        check_password(new, about=(viewer.user.name, viewer.user.email or ""))
        await self._redis.set(self._keys.user(viewer.id).password(), await self._passwords.hash(new))
        log.info("password_changed", user_id=viewer.id, way="password")
        await self._sessions.end_all(viewer.id, keep=viewer.session.id)

    # Guests, providers, the host site's own users

    async def as_guest(self, site: Site, name: str | None, device: Device) -> AuthResponse:
        _require(site.settings.auth.anonymous)
        called = guest_name(name)
        await self._names.check_guest(shown_name(called), site)
        user = User(
            id=UserId(new_uuid()),
            name=called,
            provider="anonymous",
            created_at=iso(self._clock.now_ms()),
            username_set=True,
        )
        return await self._sessions.open(await self._registry.create(user), site.id, device)

    async def by_provider(
        self,
        site: Site,
        identity: Identity,
        device: Device,
        *,
        guest: Viewer | None = None,
        session_id: str | None = None,
        provider_session: bytes = b"",
    ) -> AuthResponse:
        user = await self._user_of(identity, guest)
        return await self._sessions.open(
            user, site.id, device, session_id=session_id, provider_session=provider_session
        )

    async def by_host_site(self, site: Site, token: str, device: Device) -> AuthResponse:
        """A user of the site itself, vouched for by a short JWT that the site's server signed."""
        _require(site.settings.auth.sso and site.sso_secret is not None)
        try:
            identity = self._read_sso(site, token)
        except InvalidSsoToken as error:
            log.warning("sign_in_failed", way="sso", site_id=site.id, client=device.client, reason=error.facts["why"])
            raise
        return await self._sessions.open(await self._user_of(identity, None), site.id, device)

    async def _user_of(self, identity: Identity, guest: Viewer | None) -> User:
        known = await self._queries.by_provider(identity.provider, identity.provider_id)
        if known is not None:
            return known
        email = normal_email(identity.email) if identity.email and identity.email_verified else None
        if email and (owner := await self._queries.by_email(email)):
            proved = await self._proved(owner, Contact("email", email))
            account = f"{identity.provider}:{identity.provider_id}"
            linked = replace(
                proved,
                linked=[*(proved.linked or []), account],
                avatar_url=proved.avatar_url or identity.avatar_url,
            )
            return await self._registry.change(proved, linked)
        user_id = guest.id if guest else UserId(new_uuid())
        made = User(
            id=user_id,
            name=username_from(identity.name, user_id),
            provider=identity.provider,
            provider_id=identity.provider_id,
            created_at=guest.user.created_at if guest else iso(self._clock.now_ms()),
            email=email,
            email_verified=email is not None,
            avatar_url=identity.avatar_url,
            karma=guest.user.karma if guest else 0,
            total_comments=guest.user.total_comments if guest else 0,
            has_second_step=guest.user.has_second_step if guest else False,
        )
        try:
            if guest:
                try:
                    await self._registry.check_free(made.name)
                except UsernameTaken:
                    made = replace(made, name=f"user-{user_id[-8:]}")
                return await self._registry.change(guest.user, made)
            return await self._registry.create(made, may_rename=True)
        except (ProviderTaken, EmailTaken):  # the same person in a second tab was quicker
            again = await self._queries.by_provider(identity.provider, identity.provider_id)
            if again is None:
                raise
            return again

    def _read_sso(self, site: Site, token: str) -> Identity:
        secret = self._keyring.unseal("sso", site.sso_secret or "")
        try:
            claims = jwt.decode(token[:4096], OctKey.import_key(secret), algorithms=["HS256"]).claims
        except (JoseError, ValueError, TypeError):
            raise InvalidSsoToken(why="wrong signature or not a JWT with HS256") from None
        try:
            said = msgspec.convert(claims, _SsoClaims)
        except msgspec.ValidationError as error:
            raise InvalidSsoToken(why=str(error)) from None
        now = self._clock.now_ms() // 1000
        if not now - 60 <= said.exp <= now + LONGEST_SSO_S + 60:
            raise InvalidSsoToken(why=f"exp must be at most {LONGEST_SSO_S} seconds from now")
        if said.aud is not None and said.aud not in (site.id, site.api_key_public):
            raise InvalidSsoToken(why="it is meant for another site")
        return Identity(
            provider=f"sso-{site.id}",
            provider_id=digest(said.sub)[:40],
            name=said.name,
            # A site vouches for its own users, not for addresses: those belong to accounts of the whole server.
            avatar_url=check_avatar_url(said.avatar) if said.avatar else None,
        )

    # What the ways in share

    async def _is_at_home(self, user: User | None, device: Device) -> bool:
        """Whether codes for this address may be sent here whatever strangers ask for. Not where it was never proved:
        somebody else may have opened the account with it."""
        knows = await self._queries.knows_network(user, device.client)
        return knows and user is not None and user.is_verified

    async def _check_code(
        self,
        contact: Contact,
        code: str,
        device: Device,
        *,
        purpose: VerificationType | None = None,
        use_up: bool = True,
    ) -> None:
        await self._codes.check(contact.value, purpose or contact.kind, code, client=device.client, use_up=use_up)

    async def _behind(self, contact: Contact) -> User | None:
        if contact.kind == "email":
            return await self._queries.by_email(contact.value)
        return await self._queries.by_phone(contact.value)

    async def _proved(self, user: User, contact: Contact) -> User:
        """The owner of an address has shown up. Whoever opened an account with it before, unproved, loses the way in."""
        if _is_proved(user, contact):
            return user
        await self._redis.unlink(self._keys.user(user.id).password())
        await self._sessions.end_all(user.id)
        changed = await self._registry.change(user, _with_contact(user, contact, proved=True))
        return await self._queries.by_id(user.id) or changed

    def _new_user(self, name: str, contact: Contact, *, proved: bool) -> User:
        blank = User(
            id=UserId(new_uuid()),
            name=name,
            provider=contact.kind,
            created_at=iso(self._clock.now_ms()),
            username_set=True,
        )
        return _with_contact(blank, contact, proved=proved)


class _SsoClaims(Struct):
    sub: str
    name: str
    exp: int
    avatar: str | None = None
    aud: str | None = None

    def __post_init__(self) -> None:
        if not 1 <= len(self.sub) <= 255 or len(self.name) > 200:
            raise ValueError("sub must have 1 to 255 characters, name at most 200")


def _with_contact(user: User, contact: Contact, *, proved: bool) -> User:
    if contact.kind == "email":
        return replace(user, email=contact.value, email_verified=proved, vouched=None)
    return replace(user, phone=contact.value, phone_verified=proved)


def _is_proved(user: User, contact: Contact) -> bool:
    return user.email_verified and not user.vouched if contact.kind == "email" else user.phone_verified


def _require(is_on: bool) -> None:
    if not is_on:
        raise MethodOff
