"""The other side: a mail server that keeps what it gets, and a gateway that does the same for text messages."""

import asyncio
import contextlib
import datetime
import ipaddress
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import SMTP as SMTP_POLICY
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.wait import until

USER, PASSWORD = "postmaster", "a password of the mail server"


@dataclass
class Received:
    mail_from: str
    rcpt_tos: list[str]
    raw: bytes
    was_encrypted: bool
    user: str | None

    @property
    def message(self) -> EmailMessage:
        message = message_from_bytes(self.raw, policy=SMTP_POLICY)
        assert isinstance(message, EmailMessage)
        return message

    def part(self, subtype: str) -> str:
        body = self.message.get_body((subtype,))
        assert body is not None
        return str(body.get_content())


@dataclass
class MailSink:
    """Answers come from `answers` while there are some, then every mail is accepted once `may_answer` is set."""

    received: list[Received] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    recipient_answers: list[str] = field(default_factory=list)
    may_answer: asyncio.Event = field(default_factory=asyncio.Event)
    in_hand: int = 0
    logins: int = 0
    port: int = 0

    async def handle_RCPT(  # noqa: N802
        self, _server: SMTP, _session: Session, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        if self.recipient_answers:
            return self.recipient_answers.pop(0)
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, _server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        self.in_hand += 1
        await self.may_answer.wait()
        if self.answers:
            return self.answers.pop(0)
        assert isinstance(envelope.content, bytes)
        assert envelope.mail_from is not None
        self.received.append(
            Received(
                mail_from=envelope.mail_from,
                rcpt_tos=list(envelope.rcpt_tos),
                raw=envelope.content,
                was_encrypted=session.ssl is not None,
                user=session.auth_data.login.decode() if session.auth_data else None,
            )
        )
        return "250 OK"

    def authenticate(
        self, _server: SMTP, _session: Session, _envelope: Envelope, _mechanism: str, auth_data: Any
    ) -> AuthResult:
        self.logins += 1
        is_known = auth_data == LoginPassword(USER.encode(), PASSWORD.encode())
        return AuthResult(success=is_known, handled=False, auth_data=auth_data)


@contextlib.asynccontextmanager
async def mail_server(
    *, starttls: ssl.SSLContext | None = None, tls: ssl.SSLContext | None = None, login: bool = False
) -> AsyncIterator[MailSink]:
    sink = MailSink()
    sink.may_answer.set()
    loop = asyncio.get_running_loop()
    talking: set[object] = set()

    class Conversation(SMTP):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            talking.add(self)
            super().connection_made(transport)

        def connection_lost(self, error: Exception | None) -> None:
            super().connection_lost(error)
            talking.discard(self)

    def conversation() -> Conversation:
        return Conversation(
            sink,
            hostname="sink.test",
            enable_SMTPUTF8=True,
            tls_context=starttls,
            require_starttls=starttls is not None,
            # The server warns of a login that is required in clear, so there it is only offered.
            auth_required=login and starttls is not None,
            auth_require_tls=starttls is not None,
            authenticator=sink.authenticate if login else None,
            loop=loop,
        )

    server = await loop.create_server(conversation, "127.0.0.1", 0, ssl=tls)
    async with listening(server, talking) as sink.port:
        yield sink


@contextlib.asynccontextmanager
async def listening(server: asyncio.Server, talking: set[object]) -> AsyncIterator[int]:
    """The port of this server, which is gone afterwards, and so are its conversations."""
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await until(lambda: not talking, "the other side to hang up")


@contextlib.asynccontextmanager
async def answering(
    answer: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
) -> AsyncIterator[int]:
    talking: set[object] = set()

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talking.add(writer)
        try:
            with contextlib.suppress(ConnectionError):
                await answer(reader, writer)
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()
        finally:
            talking.discard(writer)

    async with listening(await asyncio.start_server(converse, "127.0.0.1", 0), talking) as port:
        yield port


@contextlib.asynccontextmanager
async def silent_server() -> AsyncIterator[int]:
    """Takes connections and says nothing, until the caller hangs up."""

    async def wait_for_the_end(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with answering(wait_for_the_end) as port:
        yield port


@contextlib.asynccontextmanager
async def nobody() -> AsyncIterator[int]:
    """A port on which nothing listens, ours for as long as it matters."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


@dataclass
class Posted:
    method: str
    path: str
    headers: dict[str, str]
    form: dict[str, str]


@dataclass
class Gateway:
    """Answers come from `answers` while there are some, then every message is accepted."""

    posted: list[Posted] = field(default_factory=list)
    answers: list[tuple[str, str]] = field(default_factory=list)
    port: int = 0

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").strip().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        method, path, _ = head.split(" ")
        self.posted.append(Posted(method, path, headers, dict(parse_qsl(body.decode()))))
        status, content = self.answers.pop(0) if self.answers else ("201 Created", '{"sid": "SM1"}')
        extra = "Location: /elsewhere\r\n" if status.startswith("3") else ""
        writer.write(f"HTTP/1.1 {status}\r\n{extra}Content-Length: {len(content)}\r\n\r\n{content}".encode())
        await writer.drain()


@contextlib.asynccontextmanager
async def sms_gateway() -> AsyncIterator[Gateway]:
    gateway = Gateway()
    async with answering(gateway.answer) as gateway.port:
        yield gateway


@dataclass
class Identity:
    """A certificate that nobody has signed but itself, for 127.0.0.1."""

    server: ssl.SSLContext
    trusting: Callable[[], ssl.SSLContext]


def identity(folder: Path) -> Identity:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "sink.test")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    chain, secret = folder / "certificate.pem", folder / "key.pem"
    chain.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    secret.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(chain, secret)
    return Identity(server, lambda: ssl.create_default_context(cafile=str(chain)))
