"""What the doctor says, in the language of whoever asks."""

import re

import msgspec
import pytest

from tests.integration.doctor.clinic import Clinic, Found, Open
from tests.integration.sending.servers import mail_server, nobody, silent_server
from tests.locales import CATEGORIES
from threadkit.doctor.checks import mail as mail_check
from threadkit.settings import MailSettings
from threadkit.sites.model import AuthSettings


async def in_language(here: Clinic, lang: str) -> Found:
    answer = await here.answer(headers={"accept-language": lang})
    return {check["id"]: check for check in answer["checks"]}


async def test_titles_findings_and_fixes_are_german_for_who_reads_german(clinic: Open) -> None:
    async with clinic(auth=AuthSettings(google=True, sso=True)) as here:
        response = await here.response(headers={"accept-language": "de-CH, en;q=0.5"})
        assert response.headers["content-language"] == "de"
        assert "accept-language" in response.headers["vary"].lower()
        found = {check["id"]: check for check in response.json()["checks"]}
    assert found["store"]["title"] == "Datenspeicher"
    assert found["mail"]["found"] == "Es ist kein Mailserver eingestellt, Codes stehen also nur im Log."
    assert found["mail"]["fix"] == "Setze mail.host und mail.sender."
    assert found["sign_in"]["found"] == "Eingeschaltet, aber nicht eingerichtet: google, sso."
    assert found["sign_in"]["fix"].startswith("setze google.client_id, google.client_secret; erstelle das Geheimnis: ")
    assert re.fullmatch(r"[\d.]+,\d GB \(\d+ %\) sind frei, das Journal hat \d+,\d+ GB\.", found["disk"]["found"])


async def test_english_is_for_everybody_whose_language_we_lack(clinic: Open) -> None:
    async with clinic() as here:
        for wanted in ("xx, yy;q=0.3", "", "*"):
            response = await here.response(headers={"accept-language": wanted})
            assert response.headers["content-language"] == "en"
            assert "No mail server is set" in response.text


@pytest.mark.parametrize("lang", CATEGORIES)
async def test_no_language_leaves_a_gap(clinic: Open, lang: str) -> None:
    async with clinic(auth=AuthSettings(github=True, ethereum=True)) as here:
        changes = {"akismet.enabled": True, "turnstile.enabled": True}
        await here.app.services.sites.change(here.site.site.id, settings=changes)
        found, english = await in_language(here, lang), await in_language(here, "en")
    assert list(found) == list(english)
    for name, check in found.items():
        assert check["state"] == english[name]["state"]
        assert bool(check.get("fix")) == bool(english[name].get("fix"))
        said = check["title"] + check["found"] + check.get("fix", "")
        assert not re.search(r"[{}]|: [.。]|\(\)", said), said


async def test_what_the_mail_server_did_is_told_in_words_of_ours(clinic: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mail_check, "LONGEST_S", 0.2)
    settings = MailSettings(host="127.0.0.1", security="none", sender="Blog <blog@example.org>")

    async def found_at(port: int, **more: str) -> str:
        async with clinic(mail=msgspec.structs.replace(settings, port=port, **more)) as here:
            return str((await in_language(here, "de"))["mail"]["found"])

    async with mail_server(login=True) as sink:
        refused = await found_at(sink.port, username="somebody", password="wrong")
    assert re.fullmatch(r"Der Mailserver \S+ nimmt unsere E-Mails nicht an: Er hat 535 geantwortet\.", refused)
    async with silent_server() as port:
        assert (await found_at(port)).endswith("hat zu lange gebraucht.")
    async with nobody() as port:
        assert "nimmt unsere E-Mails nicht an: " in await found_at(port)


async def test_a_backup_that_was_not_put_back_is_told_with_its_name(clinic: Open) -> None:
    async with clinic() as here:
        await here.app.services.store.redis.hset("threadkit:restoring", "file", "night.backup")
        found = (await in_language(here, "fr"))["stamp"]
        await here.app.services.store.redis.delete("threadkit:restoring")
    assert found["state"] == "bad"
    assert "night.backup" in found["found"]
    assert found["fix"].startswith("Relancez")
