"""A store that hangs: people are told, instead of being kept waiting."""

import time

import httpx
import msgspec
import pytest
from redis.asyncio import Redis

from tests.integration.comments.test_comments import URL
from tests.people import create
from tests.wait import until
from threadkit.settings import Settings, StoreTuning
from threadkit.sites.model import NewSite


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return msgspec.structs.replace(settings, store=StoreTuning(silent_after_s=0.2, command_timeout_s=30))


async def test_people_get_503_at_once_while_the_store_says_nothing(
    http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    ada = await create(http, new_site, "ada")
    body = {"page_url": URL, "content": "a word"}
    await redis.client_pause(1500)
    began = time.monotonic()
    for _ in range(3):
        answer = await ada.call("POST", "/v1/comments", body)
        assert (answer.status_code, answer.json()["code"]) == (503, "store_unavailable")
        assert answer.headers["retry-after"]
    assert time.monotonic() - began < 1.4, "it was waited for"

    async def is_posted() -> bool:
        return (await ada.call("POST", "/v1/comments", body)).status_code == 200

    await until(is_posted, "the store to be asked again", seconds=10)
