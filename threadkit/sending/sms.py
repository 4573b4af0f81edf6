"""How text messages leave: through Twilio or what speaks like it, or into the log."""

import asyncio
import re
from typing import TYPE_CHECKING, Protocol
from urllib.parse import quote

import msgspec
import structlog

from threadkit.errors import CannotStart
from threadkit.sending.model import Sms, Undelivered, Unsendable, masked
from threadkit.settings import SmsSettings

if TYPE_CHECKING:
    import httpx2

log = structlog.get_logger()

_NUMBER = re.compile(r"\+[1-9][0-9]{6,14}")


class SmsSender(Protocol):
    async def send(self, sms: Sms) -> None:
        """Hand it over, or raise `Unsendable` or `Undelivered`."""


class TwilioSender:
    def __init__(self, settings: SmsSettings) -> None:
        if not (settings.account and settings.password and settings.sender):
            raise CannotStart("sms.account, sms.password and sms.sender must be set together.")
        self._url = f"{settings.url.rstrip('/')}/2010-04-01/Accounts/{quote(settings.account, safe='')}/Messages.json"
        self._auth = (settings.account, settings.password)
        self._sender = settings.sender
        self._timeout_s = settings.timeout_s
        import httpx2  # slow to import, and most servers send no text messages

        # Reading the certificates of the system takes a while; once is enough.
        self._tls = httpx2.create_ssl_context()

    async def send(self, sms: Sms) -> None:
        if not _NUMBER.fullmatch(sms.to):
            raise Unsendable("recipient: not a number such as +15550001234")
        import httpx2

        form = {"From": self._sender, "To": sms.to, "Body": sms.text}
        try:
            # The client's own timeout is per step; a gateway that drips must not hold us for longer either.
            async with (
                asyncio.timeout(self._timeout_s),
                httpx2.AsyncClient(
                    auth=self._auth, verify=self._tls, timeout=self._timeout_s, follow_redirects=False
                ) as client,
            ):
                response = await client.post(self._url, data=form)
        except (httpx2.HTTPError, TimeoutError) as error:
            raise Undelivered(str(error) or "the gateway took too long") from error
        if not response.is_success:
            may_help = response.is_server_error or response.status_code in (408, 429)
            kind = Undelivered if may_help else Unsendable
            raise kind(f"the gateway answered {response.status_code}{_reason(response)}")


class LogSmsSender:
    """For development: the message is in the log, code and all, and nowhere else."""

    async def send(self, sms: Sms) -> None:
        log.info("sms_not_sent", to=masked(sms.to), text=sms.text)


class _Problem(msgspec.Struct):
    code: int


def _reason(response: "httpx2.Response") -> str:
    """Twilio numbers its errors; the words beside the number repeat the recipient and are left out."""
    try:
        return f", error {msgspec.json.decode(response.content, type=_Problem).code}"
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
