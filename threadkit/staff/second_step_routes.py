"""`/v1/staff/…`: what somebody has for the second step. Adding and removing ask for recent proof."""

from typing import Annotated, Any

from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody
from msgspec import Meta, Struct

from threadkit.http.routing import Router, delete, get, patch, post, put
from threadkit.services import Services
from threadkit.staff.model import SecondStepView
from threadkit.users.second_step.model import PasskeyView, TotpDraft
from threadkit.users.viewer import Viewer

Text = Annotated[str, Meta(max_length=1000)]


class FirstCode(Struct):
    totp: Text


class NewPasskey(Struct):
    name: Text
    credential: dict[str, Any]
    """What `navigator.credentials.create` gave, as JSON."""


class PasskeyName(Struct):
    name: Text


class RecoveryCodes(Struct):
    recovery_codes: list[str] | None
    """Shown this once. Null where the ones from before go on working."""


class AddedPasskey(RecoveryCodes):
    passkey: PasskeyView


@get("/second-step", summary="What I have for the second step")
async def second_step(passed_staff: NamedDependency[Viewer], services: NamedDependency[Services]) -> SecondStepView:
    factors = await services.factors.of(passed_staff.id)
    return SecondStepView.of(factors, passkeys_possible=services.passkeys.are_possible)


@post("/totp", status_code=200, opt={"may_be_empty": True}, summary="Begin to set up one-time codes")
async def draft_totp(proved_staff: NamedDependency[Viewer], services: NamedDependency[Services]) -> TotpDraft:
    """A secret for a program on one's phone; nothing changes until its first code has come, within a quarter of an hour."""
    return await services.second_step.draft_totp(proved_staff.user)


@put("/totp", summary="Switch one-time codes on with the first of them")
async def keep_totp(
    data: JSONBody[FirstCode], proved_staff: NamedDependency[Viewer], services: NamedDependency[Services]
) -> RecoveryCodes:
    """Whoever is signed in elsewhere is signed out there. Codes of an earlier secret stop working."""
    return RecoveryCodes(await services.second_step.keep_totp(proved_staff, data.totp))


@delete("/totp", status_code=200, summary="Switch one-time codes off")
async def remove_totp(proved_staff: NamedDependency[Viewer], services: NamedDependency[Services]) -> None:
    await services.second_step.remove_totp(proved_staff)


@post("/recovery-codes", status_code=200, opt={"may_be_empty": True}, summary="Make new recovery codes")
async def renew_recovery_codes(
    proved_staff: NamedDependency[Viewer], services: NamedDependency[Services]
) -> RecoveryCodes:
    """The old ones stop working."""
    return RecoveryCodes(await services.second_step.renew_recovery_codes(proved_staff))


@post(
    "/second-step/passkey/options",
    status_code=200,
    opt={"may_be_empty": True},
    summary="Begin to show a passkey, for the second step or to confirm",
)
async def passkey_options(staff: NamedDependency[Viewer], services: NamedDependency[Services]) -> dict[str, Any]:
    """What `navigator.credentials.get` is called with; good for five minutes and one try."""
    return await services.passkeys.request_options(staff.user)


@post("/passkeys/options", status_code=200, opt={"may_be_empty": True}, summary="Begin to add a passkey")
async def new_passkey_options(
    proved_staff: NamedDependency[Viewer], services: NamedDependency[Services]
) -> dict[str, Any]:
    """What `navigator.credentials.create` is called with; good for five minutes and one try."""
    return await services.passkeys.creation_options(proved_staff.user)


@post("/passkeys", status_code=200, summary="Add a passkey")
async def add_passkey(
    data: JSONBody[NewPasskey], proved_staff: NamedDependency[Viewer], services: NamedDependency[Services]
) -> AddedPasskey:
    """Whoever is signed in elsewhere is signed out there."""
    added, codes = await services.passkeys.register(proved_staff, data.credential, data.name)
    return AddedPasskey(codes, added)


@patch("/passkeys/{passkey_id:str}", summary="Rename a passkey")
async def rename_passkey(
    passkey_id: FromPath[str],
    data: JSONBody[PasskeyName],
    passed_staff: NamedDependency[Viewer],
    services: NamedDependency[Services],
) -> None:
    await services.passkeys.rename(passed_staff.user, passkey_id, data.name)


@delete("/passkeys/{passkey_id:str}", status_code=200, summary="Remove a passkey")
async def remove_passkey(
    passkey_id: FromPath[str], proved_staff: NamedDependency[Viewer], services: NamedDependency[Services]
) -> None:
    """Whoever is signed in elsewhere is signed out there."""
    await services.passkeys.remove(proved_staff, passkey_id)


router = Router(
    "/",
    route_handlers=[
        second_step,
        draft_totp,
        keep_totp,
        remove_totp,
        renew_recovery_codes,
        passkey_options,
        new_passkey_options,
        add_passkey,
        rename_passkey,
        remove_passkey,
    ],
)
