"""Tells people by mail what happens to their account, so that nobody else can do it unseen."""

import contextlib
from typing import Literal

import structlog

from threadkit.errors import TooMany
from threadkit.ids import UserId
from threadkit.ratelimit.windows import Window, Windows
from threadkit.sending.service import PostOffice
from threadkit.sending.templates import notice_mail
from threadkit.users.model import DELETED_USER, User

log = structlog.get_logger()

Change = Literal[
    "totp_added",
    "totp_removed",
    "passkey_added",
    "passkey_removed",
    "recovery_codes_renewed",
    "recovery_code_used",
    "second_step_reset",
]
Event = Change | Literal["new_network", "guessed"]

_SENTENCES: dict[Event, str] = {
    "totp_added": "One-time codes were set up as the second step of your account.",
    "totp_removed": "The one-time codes were taken away from the second step of your account.",
    "passkey_added": "A passkey was added to your account.",
    "passkey_removed": "A passkey was removed from your account.",
    "recovery_codes_renewed": "New recovery codes were made for your account. The old ones stopped working.",
    "recovery_code_used": "A recovery code was used to sign in to your account.",
    "second_step_reset": "Whoever runs the server has taken away the second step of your account.",
    "new_network": "Somebody signed in to your account from a network from which nobody had before.",
    "guessed": "Somebody is trying out passwords on your account. None was right. Sign-ins from networks that are new to it "
    "need a code by mail for an hour, beside the right password.",
}
_SUBJECTS: dict[Event, str] = {
    "new_network": "A new sign-in to your account on {site}",
    "guessed": "Somebody is guessing the password of your account on {site}",
}


class AccountNews:
    def __init__(self, *, office: PostOffice, windows: Windows, server_name: str) -> None:
        self._office = office
        self._windows = windows
        self._server_name = server_name
        # The address may never have been proved: nobody's mailbox is to be filled this way.
        self._per_user = Window("second-step-mail", 10, 3600)
        self._guessed = Window("guessed-mail", 1, 86_400)

    async def second_step_changed(self, user: User, change: Change) -> None:
        log.info("second_step_changed", user_id=user.id, change=change)
        if user.email is not None:
            await self._tell(user.id, user.email, change, self._per_user)

    async def came_from_new_network(self, user: User) -> None:
        """Not to an address that was never proved: whoever opened the account with it can sign in as often as they like."""
        if user.email is not None and user.email_verified:
            await self._tell(user.id, user.email, "new_network", self._per_user)

    async def is_guessed_at(self, user: User | None) -> None:
        """Once a day. Takes as long for nobody."""
        email = user.email if user is not None and user.email_verified else None
        await self._tell(user.id if user else DELETED_USER, email, "guessed", self._guessed)

    async def _tell(self, user_id: UserId, email: str | None, event: Event, limit: Window) -> None:
        with contextlib.suppress(TooMany):
            await self._windows.spend(limit, user_id)
            if email is not None:
                mail = notice_mail(
                    email, site_name=self._server_name, sentence=_SENTENCES[event], subject=_SUBJECTS.get(event)
                )
                self._office.send_mail(mail)
