"""What somebody has for the second step, and what can go wrong with it. No I/O here."""

from typing import Literal

from msgspec import Struct

from threadkit.errors import Conflict, Forbidden, Invalid, NotFound

MOST_PASSKEYS = 10
LONGEST_PASSKEY_NAME = 60

Way = Literal["totp", "passkey", "recovery"]


class SecondStepRequired(Forbidden):
    """Your account has a second step, which this sign-in has not passed. Sign in on the pages for staff."""

    code = "second_step_required"


class SecondStepDemanded(Forbidden):
    """This site asks a second step of its staff. Set one up on the pages for staff, under Account."""

    code = "second_step_demanded"


class WrongSecondStep(Invalid):
    """This code is wrong, or too old."""

    code = "wrong_second_step"


class SecondStepUsed(Invalid):
    """This code was used already. Please wait for the next one."""

    code = "second_step_used"


class NoSecondStep(Conflict):
    """There is no second step yet. Set up one-time codes or a passkey first."""

    code = "no_second_step"


class NoTotp(NotFound):
    """There are no one-time codes to take away."""

    code = "no_totp"


class TotpDraftGone(Conflict):
    """Setting up took too long, or was begun again elsewhere. Please begin again."""

    code = "totp_draft_gone"


class PasskeyRefused(Invalid):
    """This passkey could not be checked. Please try again."""

    code = "passkey_refused"


class PasskeyKnown(Conflict):
    """This passkey is there already."""

    code = "passkey_known"


class PasskeyNotFound(NotFound):
    """There is no such passkey."""

    code = "passkey_not_found"


class TooManyPasskeys(Conflict):
    """Nobody can have more than {most} passkeys. Remove one that you do not use."""

    code = "too_many_passkeys"


class NoPasskeysHere(Conflict):
    """Browsers have passkeys for names only, and this server is known by a number: {address}"""

    code = "no_passkeys_here"


class InvalidPasskeyName(Invalid):
    """A passkey's name has 1 to 60 printable characters."""

    code = "invalid_passkey_name"


class Totp(Struct, frozen=True):
    """One-time codes, as stored."""

    secret: str
    """Encrypted."""
    since: str
    step: int


class TotpDraft(Struct, frozen=True, kw_only=True):
    """What a program on a phone needs to make codes: the same three times over."""

    secret: str
    url: str
    qr_svg: str


class Passkey(Struct, frozen=True, kw_only=True):
    """As stored; strings and numbers alone, which a script can read and write again."""

    credential_id: str
    public_key: str
    name: str
    sign_count: int
    created_at: str
    last_used: str = ""
    transports: str = ""
    """With commas between them."""


class PasskeyView(Struct, frozen=True, kw_only=True):
    id: str
    name: str
    created_at: str
    last_used: str | None

    @classmethod
    def of(cls, passkey_id: str, passkey: Passkey) -> "PasskeyView":
        return cls(
            id=passkey_id,
            name=passkey.name,
            created_at=passkey.created_at,
            last_used=passkey.last_used or None,
        )


class Factors(Struct, frozen=True, kw_only=True):
    """What somebody has for the second step."""

    totp_since: str | None
    passkeys: list[PasskeyView]
    recovery_codes_left: int

    @property
    def ways(self) -> list[Way]:
        held: list[tuple[bool, Way]] = [
            (self.totp_since is not None, "totp"),
            (bool(self.passkeys), "passkey"),
            (self.recovery_codes_left > 0, "recovery"),
        ]
        return [way for is_there, way in held if is_there]


def check_passkey_name(name: str) -> str:
    name = " ".join(name.split())
    if not 1 <= len(name) <= LONGEST_PASSKEY_NAME or not name.isprintable():
        raise InvalidPasskeyName
    return name
