"""What the messages say, and what a log may show of their recipients."""

import re
from email import message_from_bytes
from email.policy import SMTP
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from threadkit.sending.mail import SmtpSender
from threadkit.sending.model import masked
from threadkit.sending.templates import Purpose, code_mail, code_sms, notice_mail
from threadkit.settings import MailSettings

SENDER = SmtpSender(MailSettings(host="mail.example.org", security="none"))
PURPOSES: tuple[Purpose, ...] = get_args(Purpose)


@pytest.mark.parametrize("purpose", PURPOSES)
def test_a_code_mail_says_what_it_is_for_in_both_forms(purpose: Purpose) -> None:
    mail = code_mail("anna@example.org", code="123456", site_name="Blog", purpose=purpose)
    assert mail.subject == "123456 is your code for Blog"
    for body in (mail.text, mail.html):
        assert "123456" in body
        assert "Blog" in body
        assert "valid for 10 minutes" in body
        assert "If you did not ask for it, ignore this mail" in body


def test_every_purpose_has_words_of_its_own() -> None:
    texts = {code_mail("a@example.org", code="1", site_name="Blog", purpose=purpose).text for purpose in PURPOSES}
    assert len(texts) == len(PURPOSES)


def test_the_name_of_a_site_is_text_and_never_markup() -> None:
    name = '<img src="https://example.net/x.png"><a href=x>{code}</a> & "friends"'
    mail = code_mail("anna@example.org", code="123456", site_name=name, purpose="verify")
    assert not re.search(r"<(a|img|script|link)\b", mail.html)
    assert "{code}" in mail.html
    assert "&amp; &quot;friends&quot;" in mail.html
    assert name in mail.text


def test_a_mail_of_ours_has_no_links_and_loads_nothing() -> None:
    mail = code_mail("anna@example.org", code="123456", site_name="Blog", purpose="sign_in")
    for body in (mail.text, mail.html):
        assert not re.search(r"https?:|//|\bhref\b|\bsrc\b|url\(|@import", body)


@settings(deadline=None)
@given(name=st.text(max_size=200))
def test_any_name_of_a_site_makes_a_mail_with_only_our_headers(name: str) -> None:
    mail = code_mail("anna@example.org", code="123456", site_name=name, purpose="sign_in")
    sent = message_from_bytes(SENDER.message(mail).as_bytes(), policy=SMTP)
    assert sent.keys() == [
        "From",
        "To",
        "Subject",
        "Date",
        "Message-ID",
        "Auto-Submitted",
        "MIME-Version",
        "Content-Type",
    ]
    assert sent["To"] == "anna@example.org"
    assert sent["Subject"].startswith("123456 is your code for ")
    assert not sent.defects


@settings(deadline=None)
@given(name=st.text(max_size=200))
def test_a_text_message_stays_short_and_on_one_line_whatever_the_site_is_called(name: str) -> None:
    text = code_sms("+15550001234", code="123456", site_name=name).text
    assert text.startswith("123456 is your code for ")
    assert len(text) <= 100
    assert len(text.splitlines()) == 1


@pytest.mark.parametrize(
    ("recipient", "shown"),
    [
        ("anna@example.org", "a…@example.org"),
        ("+15550001234", "…34"),
        ("", "…"),
        ("anna", "…"),
        ("a@b@example.org", "…"),
        ("anna@example.org\r\nBcc: victim@example.net", "…"),
    ],
)
def test_a_log_shows_little_of_a_recipient(recipient: str, shown: str) -> None:
    assert masked(recipient) == shown


def test_a_notice_says_what_happened_and_holds_no_link() -> None:
    mail = notice_mail("anna@example.org", site_name="Tom & Jo", sentence="A passkey was added to your account.")
    assert mail.subject == "The sign-in of your account on Tom & Jo has changed"
    assert "A passkey was added" in mail.text
    assert "Tom &amp; Jo" in mail.html
    assert not re.search(r"https?:|<a\b", mail.text + mail.html)
