"""The post office: takes messages at once, delivers them in the background, and never lets its callers down.

Whoever asks for a code must learn nothing from how long the answer takes, and a mail server that is slow or away must
not slow down a request. So sending is only ever putting something in line.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Literal

import structlog
from msgspec import Struct

from threadkit.sending.mail import LogSender, MailSender, SmtpSender
from threadkit.sending.model import Mail, OnFailed, Sms, Undelivered, Unsendable, masked
from threadkit.sending.sms import LogSmsSender, SmsSender, TwilioSender
from threadkit.settings import Settings

log = structlog.get_logger()

Kind = Literal["mail", "sms"]

WAITING_AT_MOST = 1_000
WORKERS_PER_KIND = 4
PAUSES_S = (2.0, 10.0)
DRAIN_S = 5.0


class Parcel(Struct, frozen=True):
    """A message in line: what the log may know of it, and how it is handed over."""

    kind: Kind
    to_masked: str
    deliver: Callable[[], Awaitable[None]]
    on_failed: OnFailed | None = None


class PostOffice:
    """Mail and text messages wait in lines of their own, so that trouble with one does not hold up the other.

    A message is tried once and once more after each of `pauses_s`. `sent`, `failed` and `dropped` count how messages
    ended: handed over, given up after trying, or never tried to the end because the line was full or the office closed.
    """

    def __init__(
        self,
        *,
        mail: MailSender,
        sms: SmsSender,
        waiting_at_most: int = WAITING_AT_MOST,
        pauses_s: Sequence[float] = PAUSES_S,
        drain_s: float = DRAIN_S,
    ) -> None:
        self._mail = mail
        self._sms = sms
        self._lines: dict[Kind, asyncio.Queue[Parcel]] = {
            "mail": asyncio.Queue(waiting_at_most),
            "sms": asyncio.Queue(waiting_at_most),
        }
        self._pauses_s = tuple(pauses_s)
        self._drain_s = drain_s
        self._workers: list[asyncio.Task[None]] = []
        self._is_closed = False
        self.sent = 0
        self.failed = 0
        self.dropped = 0

    def send_mail(self, mail: Mail, *, on_failed: OnFailed | None = None) -> None:
        """`on_failed` is called when the message was tried and given up."""
        self._accept(Parcel("mail", masked(mail.to), partial(self._mail.send, mail), on_failed))

    async def send_mail_now(self, mail: Mail) -> None:
        """For whoever wants to know what happens: one try, past the line; raises `Unsendable` or `Undelivered`."""
        await self._mail.send(mail)

    def send_sms(self, sms: Sms, *, on_failed: OnFailed | None = None) -> None:
        self._accept(Parcel("sms", masked(sms.to), partial(self._sms.send, sms), on_failed))

    async def start(self) -> None:
        self._is_closed = False
        self._workers = [
            asyncio.create_task(self._work(line), name=f"post-office-{kind}-{number}")
            for kind, line in self._lines.items()
            for number in range(WORKERS_PER_KIND)
        ]

    async def stop(self) -> None:
        """Take nothing more, give what is in line a few seconds, then drop the rest."""
        self._is_closed = True
        if self._workers:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._drain_s):
                    await self.idle()
        for worker in self._workers:
            worker.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)
        self._workers = []
        for line in self._lines.values():
            while not line.empty():
                self._drop(line.get_nowait(), "closing")
                line.task_done()

    async def idle(self) -> None:
        """Wait until nothing is in line or under way."""
        for line in self._lines.values():
            await line.join()

    def _accept(self, parcel: Parcel) -> None:
        if self._is_closed:
            self._drop(parcel, "closing")
            return
        try:
            self._lines[parcel.kind].put_nowait(parcel)
        except asyncio.QueueFull:
            self._drop(parcel, "too many are waiting")

    def _drop(self, parcel: Parcel, why: str) -> None:
        self.dropped += 1
        log.error("message_dropped", kind=parcel.kind, to=parcel.to_masked, why=why)

    async def _work(self, line: asyncio.Queue[Parcel]) -> None:
        while True:
            parcel = await line.get()
            try:
                await self._deliver(parcel)
            except asyncio.CancelledError:
                self._drop(parcel, "closing")
                raise
            finally:
                line.task_done()

    async def _deliver(self, parcel: Parcel) -> None:
        for tries, pause_s in enumerate((*self._pauses_s, None), start=1):
            try:
                await parcel.deliver()
            except Exception as error:
                if pause_s is None or isinstance(error, Unsendable):
                    self.failed += 1
                    log.error(
                        "message_failed", kind=parcel.kind, to=parcel.to_masked, tries=tries, why=_loggable(error)
                    )
                    if parcel.on_failed:
                        await parcel.on_failed()
                    return
                log.warning("message_delayed", kind=parcel.kind, to=parcel.to_masked, tries=tries, why=_loggable(error))
                await asyncio.sleep(pause_s)
            else:
                self.sent += 1
                return


def build_office(settings: Settings) -> PostOffice:
    """The office that the settings describe; what they leave out goes to the log instead."""
    return PostOffice(
        mail=SmtpSender(settings.mail) if settings.mail.host else LogSender(),
        sms=TwilioSender(settings.sms) if settings.sms.account else LogSmsSender(),
    )


def _loggable(error: Exception) -> str:
    """Our own errors are worded for the log; others might quote a recipient or a message, so only their kind is told."""
    return str(error) if isinstance(error, Unsendable | Undelivered) else type(error).__name__
