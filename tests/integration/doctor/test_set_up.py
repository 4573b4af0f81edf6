"""Mail, ways in, outside services, clocks, disk, versions, backups."""

import importlib.metadata
import shutil
import time
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from tests.integration.doctor.clinic import Open
from tests.integration.sending.servers import PASSWORD, USER, mail_server, nobody, silent_server
from tests.make import ManualClock
from threadkit.backup.folder import BackupFolder
from threadkit.backup.model import Failure
from threadkit.backup.service import BackupService
from threadkit.clock import SystemClock
from threadkit.doctor.checks import mail as mail_check
from threadkit.settings import BackupSettings, MailSettings, ProviderSettings, SmsSettings
from threadkit.sites.model import AuthSettings

SENDER = "Comments <comments@example.org>"


def mail_at(port: int, **more: Any) -> MailSettings:
    settings = MailSettings(host="127.0.0.1", port=port, security="none", sender=SENDER)
    return msgspec.structs.replace(settings, **more)


async def test_mail_is_red_without_a_server_and_green_with_one_that_answers(clinic: Open) -> None:
    async with clinic() as here:
        assert await here.state("mail") == "bad"
    async with clinic(public_url=None) as here:
        assert await here.state("mail") == "warning", "codes are in the log, which will do at home"
    async with mail_server() as sink:
        async with clinic(mail=mail_at(sink.port)) as here:
            assert await here.state("mail") == "ok"
        async with clinic(mail=mail_at(sink.port, sender="ThreadKit <noreply@localhost>")) as here:
            assert await here.state("mail") == "warning"
        assert (sink.received, sink.in_hand) == ([], 0), "nothing was sent"
    async with nobody() as port, clinic(mail=mail_at(port)) as here:
        assert await here.state("mail") == "bad"


async def test_a_wrong_mail_password_is_red(clinic: Open) -> None:
    async with mail_server(login=True) as sink:
        async with clinic(mail=mail_at(sink.port, username=USER, password="wrong")) as here:
            found = await here.ask()
            assert found["mail"]["state"] == "bad"
            assert "wrong" not in found["mail"]["found"]
        async with clinic(mail=mail_at(sink.port, username=USER, password=PASSWORD)) as here:
            assert await here.state("mail") == "ok"


async def test_a_silent_mail_server_holds_nobody_up(clinic: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mail_check, "LONGEST_S", 0.2)
    async with silent_server() as port, clinic(mail=mail_at(port)) as here:
        started = time.monotonic()
        assert await here.state("mail") == "bad"
        assert time.monotonic() - started < 5


async def test_ways_in_that_are_on_must_be_set_up(clinic: Open) -> None:
    wanted = AuthSettings(google=True, phone=True, sso=True)
    async with clinic(auth=wanted) as here:
        found = (await here.ask())["sign_in"]
        assert found["state"] == "bad"
        assert found["found"] == "Switched on, but not set up: google, phone, sso."
        assert "google.client_id" in found["fix"]
    google = ProviderSettings(client_id="id", client_secret="secret")
    sms = SmsSettings(account="AC1", password="secret", sender="+15550001234")
    async with clinic(auth=wanted, google=google, sms=sms) as here:
        await here.app.services.sites.rotate_sso_secret(here.site.site.id, by=None)
        assert await here.state("sign_in") == "ok"
    async with clinic(auth=AuthSettings(email=False)) as here:
        assert (await here.ask())["sign_in"]["found"] == "Nobody can sign in."


async def test_outside_services_that_are_on_must_be_set_up(clinic: Open) -> None:
    async with clinic() as here:
        assert await here.state("services") == "ok"
        changes = {"akismet.enabled": True, "turnstile.enabled": True, "webhook.enabled": True}
        await here.app.services.sites.change(here.site.site.id, settings=changes)
        found = (await here.ask())["services"]
        assert (found["state"], found["found"]) == ("bad", "Switched on, but not set up: turnstile, akismet, webhook.")


async def test_a_machine_whose_clock_is_wrong_is_told_although_we_go_by_the_stores(
    clinic: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    ahead_ms = SystemClock.machine_ms() + 7_200_000
    async with clinic() as here:
        monkeypatch.setattr(SystemClock, "machine_ms", lambda: ahead_ms)
        assert await here.state("clock") == "bad"


async def test_clocks_that_differ_are_red(clinic: Open) -> None:
    async with clinic(clock=ManualClock()) as here:
        assert await here.state("clock") == "bad"
    now_ms = SystemClock().now_ms()
    async with clinic() as here:
        assert await here.state("clock", browser_ms=now_ms) == "ok"
        assert await here.state("clock", browser_ms=now_ms - 300_000) == "warning"


class _Usage(NamedTuple):
    total: int
    used: int
    free: int


@pytest.mark.parametrize(("free", "state"), [(5, "bad"), (15, "warning"), (50, "ok")])
async def test_a_full_disk_is_red(clinic: Open, monkeypatch: pytest.MonkeyPatch, free: int, state: str) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: _Usage(100 * 10**9, (100 - free) * 10**9, free * 10**9))
    async with clinic() as here:
        assert await here.state("disk") == state


async def test_a_disk_without_room_for_the_journal_is_red(clinic: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: _Usage(1000, 500, 500))
    async with clinic() as here:
        assert await here.state("disk") == "bad", "half is free, and still less than twice the journal"


async def test_parts_with_known_holes_are_red(clinic: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    async with clinic() as here:
        assert await here.state("version") == "ok"
        real = importlib.metadata.version
        monkeypatch.setattr(importlib.metadata, "version", lambda name: "2.19.1" if name == "litestar" else real(name))
        found = (await here.ask())["version"]
        assert found["state"] == "bad"
        assert "litestar 2.19.1" in found["found"]


async def test_the_age_of_the_newest_backup_counts(clinic: Open, tmp_path: Path) -> None:
    clock, folder = ManualClock(SystemClock().now_ms()), BackupFolder(tmp_path)
    async with clinic(clock=clock, backup=BackupSettings(folder=str(tmp_path))) as here:
        services = here.app.services
        assert await here.state("backups") == "ok", "a new store waits for its first night"
        clock.advance(seconds=3 * 86_400)
        assert await here.state("backups") == "bad"
        backups = BackupService(
            store=services.store, keys=services.keys, clock=clock, fingerprint=services.keyring.fingerprint
        )
        await backups.create(folder)
        assert await here.state("backups") == "ok"
        for days, state in ((3, "warning"), (7, "bad")):
            clock.advance(seconds=days * 86_400)
            assert await here.state("backups") == state
        await backups.create(folder)
        folder.note_failure(Failure(at_ms=clock.now_ms(), why="the disk is full"))
        found = (await here.ask())["backups"]
        assert (found["state"], found["found"]) == ("bad", "The last one failed: the disk is full.")


async def test_a_server_that_makes_no_backups_is_red(clinic: Open, tmp_path: Path) -> None:
    none = BackupSettings(enabled=False, folder=str(tmp_path))
    async with clinic(backup=none) as here:
        assert await here.state("backups") == "bad"
    async with clinic(backup=none, public_url=None) as here:
        assert await here.state("backups") == "warning"
