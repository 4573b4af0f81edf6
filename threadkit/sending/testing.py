"""Trying out the mail server: one mail, sent at once, and in plain words what became of it."""

from typing import Literal

import aiosmtplib
from msgspec import Struct

from threadkit.ratelimit.windows import Window, Windows
from threadkit.sending.model import Undelivered, Unsendable, fits_a_header
from threadkit.sending.service import PostOffice
from threadkit.sending.templates import test_mail
from threadkit.settings import MailSettings

TESTS = Window("mail-test", 20, 3600)
LONGEST_ANSWER = 300


class MailTest(Struct):
    """`refused` is what the mail server does not want, `unreachable` is a server that could not be talked to."""

    outcome: Literal["sent", "refused", "unreachable", "not_configured"]
    sentence: str


class MailTester:
    def __init__(self, *, office: PostOffice, windows: Windows, settings: MailSettings) -> None:
        self._office = office
        self._windows = windows
        self._is_configured = settings.host is not None

    async def try_out(self, to: str, *, by: str) -> MailTest:
        """`by` is whose tries are counted."""
        if not self._is_configured:
            sentence = "No mail server is set up (mail.host in the server's settings), so mails are only in the log."
            return MailTest("not_configured", sentence)
        await self._windows.spend(TESTS, by)
        try:
            await self._office.send_mail_now(test_mail(to))
        except (Unsendable, Undelivered) as error:
            answer = _answer(error.__cause__)
            if answer is not None:
                return MailTest("refused", f"The mail server did not take the mail. It answered: {answer}")
            if isinstance(error, Unsendable):
                return MailTest("refused", f"The mail cannot be sent: {error}.")
            return MailTest("unreachable", f"The mail server could not be used: {error}.")
        return MailTest("sent", f"The mail server took a mail to {to}. If it does not arrive, look among the spam.")


def _answer(cause: BaseException | None) -> str | None:
    """What the server said. It may repeat the recipient, who is the one that reads this."""
    if isinstance(cause, aiosmtplib.SMTPRecipientsRefused) and cause.recipients:
        cause = cause.recipients[0]
    if not isinstance(cause, aiosmtplib.SMTPResponseException):
        return None
    words = "".join(letter if fits_a_header(letter) else " " for letter in cause.message)
    return f"{cause.code} {words}"[:LONGEST_ANSWER].strip()
