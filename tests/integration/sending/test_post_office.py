"""The post office: whoever sends never waits and never fails, and every message is accounted for."""

import contextlib
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec
import pytest
import structlog
from structlog.testing import capture_logs

from tests.integration.sending.servers import mail_server, nobody, silent_server, sms_gateway
from tests.wait import until
from threadkit import logs
from threadkit.sending.mail import LogSender, MailSender, SmtpSender
from threadkit.sending.model import Mail, Sms
from threadkit.sending.service import PostOffice, build_office
from threadkit.sending.sms import LogSmsSender, SmsSender, TwilioSender
from threadkit.sending.templates import code_mail, code_sms
from threadkit.settings import MailSettings, Settings, SmsSettings

CODE_MAIL = code_mail("anna@example.org", code="123456", site_name="Blog", purpose="sign_in")
CODE_SMS = code_sms("+15550001234", code="123456", site_name="Blog")
AT_ONCE_S = 0.1


@pytest.fixture(autouse=True)
def _quiet_surroundings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    structlog.reset_defaults()
    yield
    structlog.reset_defaults()


@contextlib.asynccontextmanager
async def an_office(
    *, mail: MailSender | None = None, sms: SmsSender | None = None, **options: Any
) -> AsyncIterator[PostOffice]:
    options = {"pauses_s": (0, 0), "drain_s": 0.05, **options}
    office = PostOffice(mail=mail or LogSender(), sms=sms or LogSmsSender(), **options)
    await office.start()
    try:
        yield office
    finally:
        await office.stop()


def smtp(port: int, *, timeout_s: float = 5) -> SmtpSender:
    return SmtpSender(MailSettings(host="127.0.0.1", port=port, security="none", timeout_s=timeout_s))


def twilio(port: int) -> TwilioSender:
    return TwilioSender(
        SmsSettings(url=f"http://127.0.0.1:{port}", account="AC1", password="secret", sender="+15550009999")
    )


def counts(office: PostOffice) -> dict[str, int]:
    return {"sent": office.sent, "failed": office.failed, "dropped": office.dropped}


async def test_mail_and_text_messages_are_delivered_in_the_background() -> None:
    async with (
        mail_server() as sink,
        sms_gateway() as gateway,
        an_office(mail=smtp(sink.port), sms=twilio(gateway.port)) as office,
    ):
        office.send_mail(CODE_MAIL)
        office.send_sms(CODE_SMS)
        assert (sink.received, gateway.posted) == ([], [])
        await office.idle()
    assert [received.rcpt_tos for received in sink.received] == [["anna@example.org"]]
    assert [posted.form["To"] for posted in gateway.posted] == ["+15550001234"]
    assert counts(office) == {"sent": 2, "failed": 0, "dropped": 0}


async def test_a_server_that_is_away_is_tried_three_times_while_the_caller_notices_nothing() -> None:
    async with nobody() as port, an_office(mail=smtp(port)) as office:
        with capture_logs() as lines:
            office.send_mail(CODE_MAIL)
            await office.idle()
    assert [line["event"] for line in lines] == ["message_delayed", "message_delayed", "message_failed"]
    assert lines[-1]["tries"] == 3
    assert counts(office) == {"sent": 0, "failed": 1, "dropped": 0}


async def test_the_log_of_a_failure_tells_neither_the_recipient_nor_the_message() -> None:
    async with mail_server() as sink, sms_gateway() as gateway:
        sink.answers = ["554 anna@example.org does not want 123456"]
        gateway.answers = [("400 Bad Request", '{"code": 21211, "message": "+15550001234 and 123456"}')]
        async with an_office(mail=smtp(sink.port), sms=twilio(gateway.port)) as office:
            with capture_logs() as lines:
                office.send_mail(CODE_MAIL)
                office.send_sms(CODE_SMS)
                await office.idle()
    assert {line["to"] for line in lines} == {"a…@example.org", "…34"}
    for line in lines:
        assert not any(secret in str(line) for secret in ("anna", "123456", "15550001234"))
    assert counts(office) == {"sent": 0, "failed": 2, "dropped": 0}


async def test_a_bad_moment_is_survived() -> None:
    async with mail_server() as sink, an_office(mail=smtp(sink.port)) as office:
        sink.answers = ["451 not now", "451 not now"]
        office.send_mail(CODE_MAIL)
        await office.idle()
    assert len(sink.received) == 1
    assert counts(office) == {"sent": 1, "failed": 0, "dropped": 0}


async def test_a_final_refusal_is_not_tried_again() -> None:
    async with mail_server() as sink, an_office(mail=smtp(sink.port)) as office:
        sink.answers = ["554 never"]
        office.send_mail(CODE_MAIL)
        await office.idle()
        assert sink.in_hand == 1
        office.send_mail(Mail("anna@example.org\r\nBcc: b@example.org", "Hello", "text", "<p>text</p>"))
        await office.idle()
    assert sink.in_hand == 1
    assert counts(office) == {"sent": 0, "failed": 2, "dropped": 0}


async def test_a_fault_of_our_own_is_counted_and_the_next_message_still_leaves() -> None:
    class Faulty:
        async def send(self, sms: Sms) -> None:
            if sms.text == "faulty":
                raise ValueError(sms.to)

    async with an_office(sms=Faulty()) as office:
        with capture_logs() as lines:
            for _ in range(20):
                office.send_sms(Sms("+15550001234", "faulty"))
            office.send_sms(CODE_SMS)
            await office.idle()
    assert {line["why"] for line in lines} == {"ValueError"}
    assert counts(office) == {"sent": 1, "failed": 20, "dropped": 0}


async def test_a_slow_server_does_not_delay_the_caller_nor_the_other_kind_of_message() -> None:
    async with mail_server() as sink, sms_gateway() as gateway:
        sink.may_answer.clear()
        async with an_office(mail=smtp(sink.port), sms=twilio(gateway.port)) as office:
            started = time.monotonic()
            for _ in range(20):
                office.send_mail(CODE_MAIL)
            assert time.monotonic() - started < AT_ONCE_S
            await until(lambda: sink.in_hand > 0, "a mail to be in the server's hands")
            office.send_sms(CODE_SMS)
            await until(lambda: len(gateway.posted) == 1, "the text message to pass the mails")
            assert office.sent <= 1
            sink.may_answer.set()
            await office.idle()
    assert counts(office) == {"sent": 21, "failed": 0, "dropped": 0}


async def test_what_does_not_fit_in_line_is_dropped_and_counted() -> None:
    async with mail_server() as sink, an_office(mail=smtp(sink.port), waiting_at_most=3) as office:
        with capture_logs() as lines:
            for _ in range(5):
                office.send_mail(CODE_MAIL)
            await office.idle()
    assert [(line["event"], line["log_level"], line["to"]) for line in lines] == [
        ("message_dropped", "error", "a…@example.org")
    ] * 2
    assert len(sink.received) == 3
    assert counts(office) == {"sent": 3, "failed": 0, "dropped": 2}


async def test_closing_delivers_what_is_in_line() -> None:
    async with mail_server() as sink:
        async with an_office(mail=smtp(sink.port), drain_s=10) as office:
            for _ in range(20):
                office.send_mail(CODE_MAIL)
        assert len(sink.received) == 20
    assert counts(office) == {"sent": 20, "failed": 0, "dropped": 0}


async def test_closing_does_not_wait_for_a_server_that_says_nothing() -> None:
    async with silent_server() as port:
        async with an_office(mail=smtp(port, timeout_s=60)) as office:
            for _ in range(20):
                office.send_mail(CODE_MAIL)
            started = time.monotonic()
            await office.stop()
            assert time.monotonic() - started < 2
        assert counts(office) == {"sent": 0, "failed": 0, "dropped": 20}
        await office.idle()


async def test_a_closed_office_drops_what_it_is_given_and_an_office_may_open_again() -> None:
    async with mail_server() as sink:
        office = PostOffice(mail=smtp(sink.port), sms=LogSmsSender())
        await office.start()
        await office.stop()
        office.send_mail(CODE_MAIL)
        assert counts(office) == {"sent": 0, "failed": 0, "dropped": 1}
        await office.start()
        office.send_mail(CODE_MAIL)
        await office.stop()
    assert counts(office) == {"sent": 1, "failed": 0, "dropped": 1}


async def test_without_a_mail_server_the_developer_reads_the_code_in_the_log(
    capsys: pytest.CaptureFixture[str],
) -> None:
    settings = Settings(log_format="json", log_level="info")
    logs.configure(settings)
    office = build_office(settings)
    await office.start()
    office.send_mail(CODE_MAIL)
    office.send_sms(CODE_SMS)
    await office.stop()
    lines = {line["event"]: line for line in map(msgspec.json.decode, capsys.readouterr().err.splitlines())}
    assert lines["mail_not_sent"]["to"] == "a…@example.org"
    assert lines["mail_not_sent"]["level"] == "info"
    assert "123456" in lines["mail_not_sent"]["text"]
    assert lines["sms_not_sent"]["to"] == "…34"
    assert "123456" in lines["sms_not_sent"]["text"]


async def test_the_settings_choose_how_messages_leave() -> None:
    async with mail_server() as sink, sms_gateway() as gateway:
        office = build_office(
            Settings(
                mail=MailSettings(host="127.0.0.1", port=sink.port, security="none"),
                sms=SmsSettings(
                    url=f"http://127.0.0.1:{gateway.port}", account="AC1", password="secret", sender="+15550009999"
                ),
            )
        )
        await office.start()
        office.send_mail(CODE_MAIL)
        office.send_sms(CODE_SMS)
        await office.stop()
    assert (len(sink.received), len(gateway.posted)) == (1, 1)
