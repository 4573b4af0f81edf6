"""How mail leaves: by SMTP, or into the log while nobody has set up a mail server."""

import asyncio
import contextlib
import re
import ssl
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from email.errors import MessageError
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import getaddresses, make_msgid
from typing import Protocol

import aiosmtplib
import structlog

from threadkit.errors import CannotStart
from threadkit.sending.model import Mail, Undelivered, Unsendable, checked_header, masked
from threadkit.settings import MailSettings

log = structlog.get_logger()

_GOODBYE_S = 2.0

# Wider than for recipients: noreply@localhost is what a server starts with.
_SENDER = re.compile(r"[\w.!#$%&'*+/=?^`{|}~-]+@[a-z0-9.-]+", re.ASCII | re.IGNORECASE)


class MailSender(Protocol):
    async def send(self, mail: Mail) -> None:
        """Hand it over, or raise `Unsendable` or `Undelivered`."""


class SmtpSender:
    """One connection per mail, encrypted and with the server's certificate checked unless settings say otherwise."""

    def __init__(self, settings: MailSettings, *, tls_context: ssl.SSLContext | None = None) -> None:
        if settings.username and not settings.password:
            raise CannotStart("mail.username is set, so mail.password must be too.")
        self._settings = settings
        self._from = _sender(settings.sender)
        # Reading the certificates of the system takes a while; once is enough.
        self._tls = None if settings.security == "none" else tls_context or ssl.create_default_context()

    async def send(self, mail: Mail) -> None:
        message = self.message(mail)

        async def hand_over(client: aiosmtplib.SMTP) -> None:
            await client.send_message(message, sender=self._from.addr_spec, recipients=[single_address(mail.to)])

        await self._talk(hand_over)

    async def greet(self) -> None:
        """Say hello, encrypted and with our password as for a mail, and send nothing."""

        async def say_nothing(client: aiosmtplib.SMTP) -> None:
            await client.noop()

        await self._talk(say_nothing)

    async def _talk(self, speak: Callable[[aiosmtplib.SMTP], Awaitable[None]]) -> None:
        client = self._client()
        try:
            # The library's own timeout is per answer; a server that drips must not hold us for longer either.
            async with asyncio.timeout(self._settings.timeout_s):
                await client.connect()
                await speak(client)
        except aiosmtplib.SMTPRecipientsRefused as error:
            raise _answered(max(refusal.code for refusal in error.recipients)) from error
        except aiosmtplib.SMTPResponseException as error:
            raise _answered(error.code) from error
        except aiosmtplib.SMTPNotSupported as error:
            raise Unsendable(f"the mail server cannot do what this mail needs: {error}") from error
        except UnicodeError as error:
            raise Unsendable(f"there can be no mail server called {self._settings.host!r}") from error
        except (aiosmtplib.SMTPException, OSError) as error:
            raise Undelivered(str(error) or "the mail server took too long") from error
        else:
            # The mail is theirs now: whatever happens to the goodbye, it must not be sent again.
            with contextlib.suppress(aiosmtplib.SMTPException, OSError):
                await client.quit(timeout=_GOODBYE_S)
        finally:
            client.close()

    def message(self, mail: Mail) -> EmailMessage:
        """The mail as it goes over the wire, or `Unsendable`."""
        username, _, domain = single_address(mail.to).rpartition("@")
        message = EmailMessage(policy=SMTP)
        message["From"] = self._from
        message["To"] = Address(username=username, domain=domain)
        message["Subject"] = checked_header("subject", mail.subject)
        message["Date"] = datetime.now(UTC)
        message["Message-ID"] = make_msgid(domain=self._from.domain)
        message["Auto-Submitted"] = "auto-generated"
        try:
            message.set_content(mail.text, cte="quoted-printable")
            message.add_alternative(mail.html, subtype="html", cte="quoted-printable")
        except UnicodeEncodeError as error:
            raise Unsendable("the text is not valid Unicode") from error
        return message

    def _client(self) -> aiosmtplib.SMTP:
        settings = self._settings
        return aiosmtplib.SMTP(
            hostname=settings.host,
            port=settings.port,
            username=settings.username,
            password=settings.password,
            # Otherwise the library asks the name service who we are.
            local_hostname=self._from.domain,
            timeout=settings.timeout_s,
            use_tls=settings.security == "tls",
            start_tls=settings.security == "starttls",
            tls_context=self._tls,
        )


class LogSender:
    """For development: the mail is in the log, code and all, and nowhere else."""

    async def send(self, mail: Mail) -> None:
        log.info("mail_not_sent", to=masked(mail.to), subject=mail.subject, text=mail.text)


def single_address(address: str) -> str:
    """The address, if it is exactly one; its domain comes back in ASCII."""
    from email_validator import EmailNotValidError, validate_email  # slow to import, and seldom needed

    checked_header("recipient", address)
    try:
        # Names such as mail.internal are fine on somebody's own server.
        valid = validate_email(address, check_deliverability=False, globally_deliverable=False)
    except EmailNotValidError as error:
        raise Unsendable("recipient: not one valid address") from error
    return valid.ascii_email or f"{valid.local_part}@{valid.ascii_domain}"


def _sender(setting: str) -> Address:
    try:
        [(name, address)] = getaddresses([checked_header("mail.sender", setting)])
        if _SENDER.fullmatch(address):
            return Address(display_name=name, addr_spec=address)
    except (Unsendable, ValueError, MessageError):
        pass
    raise CannotStart("mail.sender must look like Comments <comments@example.org>.")


def _answered(code: int) -> Unsendable | Undelivered:
    """The words of the answer are left out: servers like to repeat the recipient in them."""
    kind = Unsendable if code >= 500 else Undelivered
    answered = kind(f"the mail server answered {code}")
    answered.code = code
    return answered
