"""The operator tries out the mail server over HTTP, and reads what it said."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from msgspec.structs import replace

from tests.integration.sending.servers import MailSink, mail_server
from tests.people import Person, create
from threadkit.app import Application
from threadkit.ids import UserId
from threadkit.settings import MailSettings, Settings
from threadkit.sites.model import NewSite
from threadkit.sites.roles import Role

PATH = "/v1/admin/server/mail/test"


@pytest.fixture
async def sink() -> AsyncIterator[MailSink]:
    async with mail_server() as found:
        yield found


async def owner_of(app: Application, http: httpx.AsyncClient, site: NewSite, email: str | None) -> Person:
    person = await create(http, site, "olga", email)
    await app.services.roles.grant(site.site.id, UserId(person.id), Role.OWNER)
    return person


async def with_key(http: httpx.AsyncClient, site: NewSite, body: Any) -> httpx.Response:
    return await http.post(PATH, json=body, headers={"projectid": site.secret_key})


class TestWithAMailServer:
    @pytest.fixture
    def settings(self, settings: Settings, sink: MailSink) -> Settings:
        mail = MailSettings(host="127.0.0.1", port=sink.port, security="none", sender="Blog <blog@example.org>")
        return replace(settings, mail=mail)

    async def test_a_mail_goes_to_ones_own_address(
        self, app: Application, http: httpx.AsyncClient, new_site: NewSite, sink: MailSink
    ) -> None:
        olga = await owner_of(app, http, new_site, "olga@example.org")
        for body in (None, {}, {"to": "Olga@example.org"}):
            answer = await olga.call("POST", PATH, body)
            assert (answer.status_code, answer.json()["outcome"]) == (200, "sent"), answer.text
        assert [one.rcpt_tos for one in sink.received] == [["olga@example.org"]] * 3
        assert "can send mail" in sink.received[0].part("plain")

    async def test_only_the_secret_key_sends_elsewhere(
        self, app: Application, http: httpx.AsyncClient, new_site: NewSite, sink: MailSink
    ) -> None:
        olga = await owner_of(app, http, new_site, "olga@example.org")
        refused = await olga.call("POST", PATH, {"to": "victim@example.net"})
        assert (refused.status_code, refused.json()["code"]) == (403, "not_your_address")
        assert (await with_key(http, new_site, {"to": "me@example.net"})).json()["outcome"] == "sent"
        assert (await with_key(http, new_site, {})).json()["code"] == "no_address"
        assert (await with_key(http, new_site, {"to": "a@b\nBcc: c@d"})).json()["code"] == "invalid_email"
        assert [one.rcpt_tos for one in sink.received] == [["me@example.net"]]

    async def test_the_servers_own_words_are_told(
        self, http: httpx.AsyncClient, new_site: NewSite, sink: MailSink
    ) -> None:
        sink.recipient_answers.append("550 5.1.1 No such user here")
        answer = (await with_key(http, new_site, {"to": "me@example.net"})).json()
        assert answer["outcome"] == "refused"
        assert answer["sentence"].endswith("550 5.1.1 No such user here")
        sink.answers.append("451 4.7.1 Come back later")
        assert (
            "451 4.7.1 Come back later" in (await with_key(http, new_site, {"to": "me@example.net"})).json()["sentence"]
        )

    async def test_twenty_an_hour_are_enough(self, http: httpx.AsyncClient, new_site: NewSite) -> None:
        answers = [await with_key(http, new_site, {"to": "me@example.net"}) for _ in range(21)]
        assert [answer.status_code for answer in answers] == [200] * 20 + [429]


class TestWithoutAnAnswer:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return replace(settings, mail=MailSettings(host="127.0.0.1", port=1, security="none"))

    async def test_a_server_that_is_not_there(self, http: httpx.AsyncClient, new_site: NewSite) -> None:
        answer = (await with_key(http, new_site, {"to": "me@example.net"})).json()
        assert answer["outcome"] == "unreachable"


async def test_nothing_set_up_is_said_too(http: httpx.AsyncClient, new_site: NewSite) -> None:
    answer = (await with_key(http, new_site, {"to": "me@example.net"})).json()
    assert answer["outcome"] == "not_configured"
    assert "mail.host" in answer["sentence"]
