"""Mail over real SMTP: what arrives, how it is protected, and what can never be smuggled in."""

import asyncio
import contextlib
from email.utils import parsedate_to_datetime
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.integration.sending.servers import (
    PASSWORD,
    USER,
    Identity,
    MailSink,
    identity,
    mail_server,
    nobody,
    silent_server,
)
from tests.wait import until
from threadkit.errors import CannotStart
from threadkit.sending.mail import SmtpSender
from threadkit.sending.model import Mail, Undelivered, Unsendable
from threadkit.sending.templates import code_mail
from threadkit.settings import MailSettings

CODE_MAIL = code_mail("anna@example.org", code="123456", site_name="Café & Friends", purpose="sign_in")
HEADERS = ["From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted", "MIME-Version", "Content-Type"]

CORPUS = Path(__file__).parents[3].parent / "shared/data/hostile/crlf.txt"
BUILT_IN = ["/%0d%0aBcc:victim@example.net", "/%0aBcc:victim@example.net", "/%0dBcc:victim@example.net"]
HOSTILE = [
    "\r\nBcc: victim@example.net",
    "\nBcc: victim@example.net",
    "\rBcc: victim@example.net",
    "\r\n\r\nanother body",
    "\r\n.\r\nMAIL FROM:<a@example.net>\r\nRCPT TO:<victim@example.net>",
    "\x00Bcc: victim@example.net",
    "\x0bBcc: victim@example.net",
    "\x85Bcc: victim@example.net",
    "\u2028Bcc: victim@example.net",
    "\udc0aBcc: victim@example.net",
    "=?utf-8?q?=0D=0ABcc:_victim@example.net?=",
    ",victim@example.net",
    ", victim@example.net",
    ";victim@example.net",
    "> ORCPT=rfc822;victim@example.net",
    "><victim@example.net>",
    " (comment)",
]


def hostile_texts() -> list[str]:
    """The corpus as it is and decoded once and twice, as a careless front would do it."""
    lines = CORPUS.read_text(encoding="utf-8").splitlines() if CORPUS.exists() else BUILT_IN
    decoded = [unquote(line, errors="surrogateescape") for line in lines]
    twice = [unquote(line, errors="surrogateescape") for line in decoded]
    return list(dict.fromkeys([*lines, *decoded, *twice, *HOSTILE]))


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Identity:
    return identity(tmp_path_factory.mktemp("identity"))


def plain(sink: MailSink) -> MailSettings:
    return MailSettings(
        host="127.0.0.1", port=sink.port, security="none", sender="Cömments <comments@example.com>", timeout_s=5
    )


async def test_a_mail_arrives_with_its_headers_and_in_both_forms() -> None:
    async with mail_server() as sink:
        await SmtpSender(plain(sink)).send(CODE_MAIL)
    [received] = sink.received
    message = received.message
    assert message.keys() == HEADERS
    assert message["From"] == "Cömments <comments@example.com>"
    assert message["To"] == "anna@example.org"
    assert message["Subject"] == "123456 is your code for Café & Friends"
    assert parsedate_to_datetime(message["Date"]).tzinfo is not None
    assert message["Message-ID"].endswith("@example.com>")
    assert message["Auto-Submitted"] == "auto-generated"
    assert message.get_content_type() == "multipart/alternative"
    assert [part.get_content_type() for part in message.iter_parts()] == ["text/plain", "text/html"]
    assert received.part("plain").splitlines() == CODE_MAIL.text.splitlines()
    assert received.part("html").splitlines() == CODE_MAIL.html.splitlines()
    assert (received.mail_from, received.rcpt_tos) == ("comments@example.com", ["anna@example.org"])
    received.raw.decode("ascii")


async def test_two_mails_have_different_message_ids() -> None:
    async with mail_server() as sink:
        sender = SmtpSender(plain(sink))
        await sender.send(CODE_MAIL)
        await sender.send(CODE_MAIL)
    assert len({received.message["Message-ID"] for received in sink.received}) == 2


async def test_a_line_that_is_only_a_dot_does_not_end_the_mail() -> None:
    async with mail_server() as sink:
        await SmtpSender(plain(sink)).send(Mail("anna@example.org", "Hello", "one\n.\ntwo\n", "<p>one</p>"))
    [received] = sink.received
    assert received.part("plain").splitlines() == ["one", ".", "two"]


@pytest.mark.parametrize(
    ("address", "envelope"),
    [
        ("anna@bücher.example.org", "anna@xn--bcher-kva.example.org"),
        ("änna@example.org", "änna@example.org"),
        ("root@mail.internal", "root@mail.internal"),
        ("anna+blog@example.org", "anna+blog@example.org"),
    ],
)
async def test_addresses_beyond_the_common_arrive(address: str, envelope: str) -> None:
    async with mail_server() as sink:
        await SmtpSender(plain(sink)).send(Mail(address, "Hello", "text", "<p>text</p>"))
    [received] = sink.received
    assert received.rcpt_tos == [envelope]
    assert received.message["To"] == envelope


async def test_starttls_encrypts_before_the_login(certificate: Identity) -> None:
    async with mail_server(starttls=certificate.server, login=True) as sink:
        settings = MailSettings(
            host="127.0.0.1", port=sink.port, security="starttls", username=USER, password=PASSWORD, timeout_s=5
        )
        await SmtpSender(settings, tls_context=certificate.trusting()).send(CODE_MAIL)
    [received] = sink.received
    assert received.was_encrypted
    assert received.user == USER


async def test_tls_from_the_first_byte(certificate: Identity) -> None:
    async with mail_server(tls=certificate.server) as sink:
        settings = MailSettings(host="127.0.0.1", port=sink.port, security="tls", timeout_s=5)
        await SmtpSender(settings, tls_context=certificate.trusting()).send(CODE_MAIL)
    assert len(sink.received) == 1


async def test_a_certificate_that_nobody_vouches_for_is_not_trusted(certificate: Identity) -> None:
    async with mail_server(starttls=certificate.server) as sink:
        settings = MailSettings(host="127.0.0.1", port=sink.port, security="starttls", timeout_s=5)
        with pytest.raises(Undelivered, match="CERTIFICATE_VERIFY_FAILED"):
            await SmtpSender(settings).send(CODE_MAIL)
    assert sink.received == []


async def test_a_certificate_for_another_host_is_not_trusted(certificate: Identity) -> None:
    async with mail_server(starttls=certificate.server) as sink:
        settings = MailSettings(host="localhost", port=sink.port, security="starttls", timeout_s=5)
        with pytest.raises(Undelivered, match="CERTIFICATE_VERIFY_FAILED"):
            await SmtpSender(settings, tls_context=certificate.trusting()).send(CODE_MAIL)
    assert sink.received == []


async def test_nothing_is_said_in_clear_when_the_server_does_not_offer_starttls() -> None:
    async with mail_server(login=True) as sink:
        settings = MailSettings(
            host="127.0.0.1", port=sink.port, security="starttls", username=USER, password=PASSWORD, timeout_s=5
        )
        with pytest.raises(Undelivered, match="STARTTLS extension not supported"):
            await SmtpSender(settings).send(CODE_MAIL)
    assert (sink.received, sink.logins) == ([], 0)


async def test_a_login_in_clear_happens_only_when_the_settings_say_so() -> None:
    async with mail_server(login=True) as sink:
        settings = MailSettings(
            host="127.0.0.1", port=sink.port, security="none", username=USER, password=PASSWORD, timeout_s=5
        )
        await SmtpSender(settings).send(CODE_MAIL)
    assert [received.user for received in sink.received] == [USER]


async def test_a_wrong_password_is_not_worth_another_try(certificate: Identity) -> None:
    async with mail_server(starttls=certificate.server, login=True) as sink:
        settings = MailSettings(
            host="127.0.0.1", port=sink.port, security="starttls", username=USER, password="wrong", timeout_s=5
        )
        with pytest.raises(Unsendable, match="535"):
            await SmtpSender(settings, tls_context=certificate.trusting()).send(CODE_MAIL)
    assert sink.received == []


async def test_an_answer_tells_whether_another_try_may_help_and_repeats_no_recipient() -> None:
    async with mail_server() as sink:
        sender = SmtpSender(plain(sink))
        sink.recipient_answers = ["550 no such person <anna@example.org>", "450 <anna@example.org> is greylisted"]
        with pytest.raises(Unsendable, match="550") as refused:
            await sender.send(CODE_MAIL)
        with pytest.raises(Undelivered, match="450") as delayed:
            await sender.send(CODE_MAIL)
    assert "anna" not in str(refused.value) + str(delayed.value)


async def test_a_server_that_is_away_is_worth_another_try() -> None:
    async with nobody() as port:
        with pytest.raises(Undelivered):
            await SmtpSender(MailSettings(host="127.0.0.1", port=port, security="none", timeout_s=5)).send(CODE_MAIL)


async def test_a_server_that_says_nothing_is_left_after_the_timeout() -> None:
    async with silent_server() as port:
        settings = MailSettings(host="127.0.0.1", port=port, security="none", timeout_s=0.05)
        with pytest.raises(Undelivered):
            await SmtpSender(settings).send(CODE_MAIL)


async def test_a_delivery_that_is_cancelled_hangs_up_at_once() -> None:
    async with mail_server() as sink:
        sink.may_answer.clear()
        task = asyncio.create_task(SmtpSender(plain(sink)).send(CODE_MAIL))
        await until(lambda: sink.in_hand == 1, "the mail to be in the server's hands")
        task.cancel()
        async with asyncio.timeout(1):
            with contextlib.suppress(asyncio.CancelledError):
                await task
        sink.may_answer.set()


@pytest.mark.parametrize("hostile", hostile_texts(), ids=ascii)
async def test_no_text_smuggles_in_a_header_or_a_recipient(hostile: str) -> None:
    """As recipient, as subject, as the name of a site: refused, or one mail to one person with the headers we set."""
    mails = [
        Mail("anna@example.org" + hostile, "Hello", "text", "<p>text</p>"),
        Mail(hostile + "anna@example.org", "Hello", "text", "<p>text</p>"),
        Mail("anna" + hostile + "@example.org", "Hello", "text", "<p>text</p>"),
        Mail("anna@example.org", "Hello" + hostile, "text", "<p>text</p>"),
        code_mail("anna@example.org", code="123456", site_name="Blog" + hostile, purpose="verify"),
    ]
    async with mail_server() as sink:
        sender = SmtpSender(plain(sink))
        for mail in mails:
            with contextlib.suppress(Unsendable):
                await sender.send(mail)
    assert sink.received, "at least the mail from the template is always sendable"
    for received in sink.received:
        assert received.message.keys() == HEADERS
        assert len(received.rcpt_tos) == 1
        assert len(received.message["To"].addresses) == 1
        assert received.rcpt_tos == [received.message["To"].addresses[0].addr_spec]
        assert "victim@example.net" not in received.rcpt_tos


@pytest.mark.parametrize("hostile", [text for text in HOSTILE if text[0] not in ",;> "], ids=ascii)
async def test_a_subject_with_a_line_end_a_control_character_or_an_encoded_word_is_refused(hostile: str) -> None:
    async with mail_server() as sink:
        with pytest.raises(Unsendable, match=r"^subject: .* not allowed$"):
            await SmtpSender(plain(sink)).send(Mail("anna@example.org", "Hello" + hostile, "text", "<p>text</p>"))
    assert sink.received == []


@pytest.mark.parametrize("hostile", HOSTILE, ids=ascii)
async def test_a_recipient_that_is_more_than_one_address_is_refused(hostile: str) -> None:
    async with mail_server() as sink:
        with pytest.raises(Unsendable, match=r"^recipient: ") as refused:
            await SmtpSender(plain(sink)).send(Mail("anna@example.org" + hostile, "Hello", "text", "<p>text</p>"))
    assert sink.received == []
    assert "anna" not in str(refused.value)


async def test_a_text_that_cannot_be_encoded_is_refused() -> None:
    async with mail_server() as sink:
        with pytest.raises(Unsendable, match="Unicode"):
            await SmtpSender(plain(sink)).send(Mail("anna@example.org", "Hello", "\ud800", "<p>text</p>"))
    assert sink.received == []


@pytest.mark.parametrize(
    "sender", ["nobody", "a@example.org, b@example.org", "Blog <a@example.org>\r\nBcc: b@example.org", "Blog <>"]
)
def test_a_sender_that_is_not_one_address_is_told_at_the_start(sender: str) -> None:
    with pytest.raises(CannotStart, match=r"mail\.sender"):
        SmtpSender(MailSettings(host="127.0.0.1", sender=sender))


def test_a_user_without_a_password_is_told_at_the_start() -> None:
    with pytest.raises(CannotStart, match=r"mail\.password"):
        SmtpSender(MailSettings(host="127.0.0.1", username=USER))
