"""The scripts in milliseconds, on an imitation; the integration tests run them on the real thing."""

from collections.abc import AsyncIterator

import fakeredis
import pytest
from msgspec.structs import replace

from threadkit.errors import SiteChanged, SiteTaken
from threadkit.ids import SiteId
from threadkit.sites.model import Site
from threadkit.sites.scripts import SaveSite
from threadkit.storage.claims import Claim, Release
from threadkit.storage.keys import Keys

SITE = Site(id=SiteId("s"), name="n", domain="d", api_key_public="p", api_key_secret="x", created_at="t")


@pytest.fixture
async def fake() -> AsyncIterator[fakeredis.FakeAsyncRedis]:
    client = fakeredis.FakeAsyncRedis(decode_responses=True)
    yield client
    await client.aclose()


async def test_a_site_is_saved_once_and_changed_only_from_what_was_read(fake: fakeredis.FakeAsyncRedis) -> None:
    save = SaveSite(fake, Keys())
    await save(SITE, changed_from=0)
    await save(SITE, changed_from=0)  # the same again, after a lost answer
    with pytest.raises(SiteTaken):
        await save(replace(SITE, name="another"), changed_from=0)
    await save(replace(SITE, name="new", version=2), changed_from=1)
    with pytest.raises(SiteChanged):
        await save(replace(SITE, name="late", version=2), changed_from=1)
    assert await fake.hget("site:s:config", "name") == "new"


async def test_a_claim_is_taken_once_and_released_only_by_its_holder(fake: fakeredis.FakeAsyncRedis) -> None:
    claim, release = Claim(fake), Release(fake)
    assert await claim("email:a", "1") == "1"
    assert await claim("email:a", "2") == "1"
    await release("email:a", "2")
    assert await claim("email:a", "2", instead_of="9") == "1"
    assert await claim("email:a", "2", instead_of="1") == "2"
    await release("email:a", "2")
    assert await fake.get("email:a") is None
