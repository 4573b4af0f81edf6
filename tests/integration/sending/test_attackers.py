"""Somebody wants ThreadKit to bomb an address, to smuggle headers and recipients, or to carry their links. T19, G28."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from msgspec.structs import replace
from redis.asyncio import Redis

from tests.integration.sending.servers import MailSink, mail_server
from tests.integration.sending.test_mail import HEADERS, hostile_texts
from tests.make import ManualClock
from tests.people import post
from threadkit.app import Application, create_app
from threadkit.keyring import Keyring
from threadkit.settings import MailSettings, Settings
from threadkit.sites.model import AuthSettings, NewSite, SiteSettings
from threadkit.storage.bundled import BundledStore

VICTIM = "victim@example.net"
LINK = "https://evil.example/click"
AT_ONCE = 50


@contextlib.asynccontextmanager
async def mailing(
    settings: Settings, store: BundledStore, keyring: Keyring, clock: ManualClock
) -> AsyncIterator[tuple[Application, httpx.AsyncClient, MailSink]]:
    async with mail_server() as sink:
        mail = MailSettings(host="127.0.0.1", port=sink.port, security="none", sender="comments@example.com")
        application = create_app(replace(settings, mail=mail), store.address, keyring, clock=clock)
        async with application.lifespan():
            transport = httpx.ASGITransport(application, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://comments.test") as http:
                yield application, http, sink


async def two_sites(app: Application) -> list[NewSite]:
    every_way = SiteSettings(auth=AuthSettings(email=True, password=True))
    return [await app.services.sites.create(name, f"{name}.example", settings=every_way) for name in ("one", "two")]


def wishes(address: str, name: str) -> list[tuple[str, dict[str, Any]]]:
    return [
        ("/v1/auth/send-otp", {"email": address}),
        ("/v1/auth/forgot", {"email": address}),
        ("/v1/auth/register", {"email": address, "name": name, "password": "correct horse battery"}),
        ("/v1/auth/verify-otp", {"email": address, "name": name, "code": "000000"}),
        ("/v1/staff/code", {"email": address}),
    ]


async def asked(http: httpx.AsyncClient, sites: list[NewSite], wanted: list[tuple[str, dict[str, Any]]]) -> int:
    """Each from another address, on one site and the other, many at once; says how many there were."""
    for start in range(0, len(wanted), AT_ONCE):
        some = enumerate(wanted[start : start + AT_ONCE], start)
        answers = await asyncio.gather(
            *(
                post(
                    http, sites[number % 2], path, body, **{"x-forwarded-for": f"198.51.{number // 250}.{number % 250}"}
                )
                for number, (path, body) in some
            )
        )
        assert max(answer.status_code for answer in answers) < 500
    return len(wanted)


def nothing_smuggled(sink: MailSink) -> None:
    for mail in sink.received:
        assert mail.message.keys() == HEADERS
        assert mail.rcpt_tos == [mail.message["To"]]
        for form in ("plain", "html"):
            assert not [word for word in ("http:", "https:", "www.", "href", "evil.example") if word in mail.part(form)]


@pytest.mark.timeout(300)
async def test_an_address_gets_three_mails_an_hour_whoever_asks_for_however_many(
    redis: Redis, bundled: BundledStore, settings: Settings, keyring: Keyring, clock: ManualClock
) -> None:
    spellings = (VICTIM, VICTIM.upper(), f" {VICTIM} ", "Victim@Example.Net")
    wanted = [wish for address in spellings for name in (f"n{LINK}", "nobody") for wish in wishes(address, name)]
    async with mailing(settings, bundled, keyring, clock) as (app, http, sink):
        sites, number = await two_sites(app), 0
        for _ in range(13):
            number += await asked(http, sites, wanted * 2)
            clock.advance(seconds=270)
    assert {str(mail.message["To"]) for mail in sink.received} == {VICTIM}
    assert 1 <= len(sink.received) <= 3
    nothing_smuggled(sink)
    print(f"\nG28: {number} requests of an hour, {len(sink.received)} mails, no link")


@pytest.mark.timeout(300)
async def test_hostile_addresses_and_names_smuggle_nothing_in(
    redis: Redis, bundled: BundledStore, settings: Settings, keyring: Keyring, clock: ManualClock
) -> None:
    wanted = []
    for number, text in enumerate(hostile_texts()):
        clean = text.encode("utf-8", "replace").decode()
        for address in (
            f"a{number}@example.org{clean}",
            f"a{number}{clean}@example.org",
            f'"a{number}{clean}"@example.org',
        ):
            wanted += wishes(address, f"n{number}{clean}"[:200])[:3]
        wanted += wishes(f"b{number}@example.org", f"n{number}{clean}{LINK}")[:3]
    async with mailing(settings, bundled, keyring, clock) as (app, http, sink):
        number = await asked(http, await two_sites(app), wanted)
    assert sink.received
    nothing_smuggled(sink)
    assert VICTIM not in {to for mail in sink.received for to in mail.rcpt_tos}
    print(f"\nG28: {number} hostile addresses and names, {len(sink.received)} mails, 0 injected headers")
