"""Text messages over real HTTP, to a gateway that speaks like Twilio."""

import base64

import pytest

from tests.integration.sending.servers import Gateway, nobody, silent_server, sms_gateway
from threadkit.errors import CannotStart
from threadkit.sending.model import Sms, Undelivered, Unsendable
from threadkit.sending.sms import TwilioSender
from threadkit.sending.templates import code_sms
from threadkit.settings import SmsSettings

CODE_SMS = code_sms("+15550001234", code="123456", site_name="Café & Friends")


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def to_port(port: int, *, timeout_s: float = 5) -> TwilioSender:
    return TwilioSender(
        SmsSettings(
            url=f"http://127.0.0.1:{port}/",
            account="AC/1",
            password="a password of the gateway",
            sender="+15550009999",
            timeout_s=timeout_s,
        )
    )


def to_gateway(gateway: Gateway) -> TwilioSender:
    return to_port(gateway.port)


async def test_a_message_arrives_at_the_right_place_with_the_right_words() -> None:
    async with sms_gateway() as gateway:
        await to_gateway(gateway).send(CODE_SMS)
    [posted] = gateway.posted
    assert (posted.method, posted.path) == ("POST", "/2010-04-01/Accounts/AC%2F1/Messages.json")
    assert posted.headers["authorization"] == "Basic " + base64.b64encode(b"AC/1:a password of the gateway").decode()
    assert posted.headers["content-type"] == "application/x-www-form-urlencoded"
    assert posted.form == {
        "From": "+15550009999",
        "To": "+15550001234",
        "Body": "123456 is your code for Café & Friends. It is valid for 10 minutes.",
    }


@pytest.mark.parametrize(
    ("status", "error"),
    [
        ("400 Bad Request", Unsendable),
        ("401 Unauthorized", Unsendable),
        ("429 Too Many Requests", Undelivered),
        ("500 Internal Server Error", Undelivered),
        ("503 Service Unavailable", Undelivered),
    ],
)
async def test_an_answer_tells_whether_another_try_may_help(status: str, error: type[Exception]) -> None:
    async with sms_gateway() as gateway:
        gateway.answers = [(status, "<p>sorry</p>")]
        with pytest.raises(error, match=rf"^the gateway answered {status[:3]}$"):
            await to_gateway(gateway).send(CODE_SMS)


async def test_a_refusal_gives_its_number_and_repeats_no_recipient() -> None:
    async with sms_gateway() as gateway:
        gateway.answers = [("400 Bad Request", '{"code": 21211, "message": "+15550001234 is not a number"}')]
        with pytest.raises(Unsendable, match=r"^the gateway answered 400, error 21211$"):
            await to_gateway(gateway).send(CODE_SMS)


async def test_a_redirect_is_not_followed_so_the_password_stays_here() -> None:
    async with sms_gateway() as gateway:
        gateway.answers = [("307 Temporary Redirect", "")]
        with pytest.raises(Unsendable, match="307"):
            await to_gateway(gateway).send(CODE_SMS)
    assert len(gateway.posted) == 1


async def test_a_gateway_that_is_away_is_worth_another_try() -> None:
    async with nobody() as port:
        with pytest.raises(Undelivered):
            await to_port(port).send(CODE_SMS)


async def test_a_gateway_that_says_nothing_is_left_after_the_timeout() -> None:
    async with silent_server() as port:
        with pytest.raises(Undelivered):
            await to_port(port, timeout_s=0.05).send(CODE_SMS)


@pytest.mark.parametrize(
    "number", ["", "15550001234", "+0555000123", "+1555000\r\n1234", "+15550001234,+15550005678", "+١٢٣٤٥٦٧٨"]
)
async def test_what_is_not_one_number_is_refused(number: str) -> None:
    async with sms_gateway() as gateway:
        with pytest.raises(Unsendable, match=r"^recipient: "):
            await to_gateway(gateway).send(Sms(number, "Hello"))
    assert gateway.posted == []


@pytest.mark.parametrize("missing", ["account", "password", "sender"])
def test_an_account_that_lacks_something_is_told_at_the_start(missing: str) -> None:
    given = {"account": "AC1", "password": "secret", "sender": "+15550009999", missing: None}
    with pytest.raises(CannotStart, match=r"sms\.account"):
        TwilioSender(SmsSettings(**given))  # type: ignore[arg-type]
