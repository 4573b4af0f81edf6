"""Two servers on one store: each journal holds what both erased."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from msgspec.structs import replace
from redis.asyncio import Redis

from tests.integration.comments.test_comments import write
from tests.integration.users.test_profiles import everything
from tests.make import ManualClock
from tests.people import create
from tests.stores import TestedStore
from threadkit.app import Application, create_app
from threadkit.backup.erasures import ErasureJournal
from threadkit.keyring import Keyring
from threadkit.settings import BackupSettings, Settings
from threadkit.sites.model import NewSite


@pytest.fixture
async def servers(
    redis: Redis, bundled: TestedStore, settings: Settings, keyring: Keyring, clock: ManualClock, tmp_path: Path
) -> AsyncIterator[list[Application]]:
    made = []
    for name in ("one", "two"):
        backup = BackupSettings(enabled=False, folder=str(tmp_path / name))
        made.append(create_app(replace(settings, backup=backup), bundled.address, keyring, clock=clock))
    async with made[0].lifespan(), made[1].lifespan():
        yield made


@pytest.fixture
def app(servers: list[Application]) -> Application:
    return servers[0]


async def test_what_one_server_erased_is_in_the_journal_of_the_other(
    servers: list[Application], http: httpx.AsyncClient, new_site: NewSite, redis: Redis, tmp_path: Path
) -> None:
    ada = await create(http, new_site, "ada")
    comment = await write(ada, "a word")
    await ada.call("DELETE", f"/v1/comments/{comment['i']}")
    assert (await ada.call("DELETE", "/v1/users/me")).status_code == 200
    for _ in range(2):  # a second look adds nothing
        await servers[1].services.erasures.take_over()
    noted = [erasure for erasure in ErasureJournal(tmp_path / "two").since(0) if erasure.server is None]
    assert sorted(str(each.user_id or each.comment_id) for each in noted) == sorted([ada.id, comment["i"]])
    assert ada.id not in await everything(redis), "the store knows nothing of who left"


async def test_a_journal_that_is_not_there_at_a_restore_is_named(servers: list[Application], tmp_path: Path) -> None:
    for server in servers:
        await server.services.erasures.take_over()
    erasures = servers[0].services.erasures
    one, two = (list(ErasureJournal(tmp_path / name).since(0)) for name in ("one", "two"))
    assert await erasures.not_among(one + two) == []
    (missing,) = await erasures.not_among(one)
    assert missing.endswith("two/erased.jsonl")
