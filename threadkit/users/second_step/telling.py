"""Tells people that something about their second step has changed, so that nobody else can change it unseen."""

import contextlib
from typing import Literal

import structlog

from threadkit.errors import TooMany
from threadkit.ratelimit.windows import Window, Windows
from threadkit.sending.service import PostOffice
from threadkit.sending.templates import notice_mail
from threadkit.users.model import User

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

_SENTENCES: dict[Change, str] = {
    "totp_added": "One-time codes were set up as the second step of your account.",
    "totp_removed": "The one-time codes were taken away from the second step of your account.",
    "passkey_added": "A passkey was added to your account.",
    "passkey_removed": "A passkey was removed from your account.",
    "recovery_codes_renewed": "New recovery codes were made for your account. The old ones stopped working.",
    "recovery_code_used": "A recovery code was used to sign in to your account.",
    "second_step_reset": "Whoever runs the server has taken away the second step of your account.",
}


class FactorNews:
    def __init__(self, *, office: PostOffice, windows: Windows, server_name: str) -> None:
        self._office = office
        self._windows = windows
        self._server_name = server_name
        # The address may never have been proved: nobody's mailbox is to be filled this way.
        self._per_user = Window("second-step-mail", 10, 3600)

    async def tell(self, user: User, change: Change) -> None:
        log.info("second_step_changed", user_id=user.id, change=change)
        if user.email is None:
            return
        with contextlib.suppress(TooMany):
            await self._windows.spend(self._per_user, user.id)
            self._office.send_mail(notice_mail(user.email, site_name=self._server_name, sentence=_SENTENCES[change]))
