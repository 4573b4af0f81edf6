"""Account deletion and what is left: contract 4.4 and 5.2, gdpr_tests of 14.1."""

import httpx
import msgspec
import pytest
from redis.asyncio import Redis

from tests.integration.comments.test_comments import outline, read, write
from tests.integration.comments.test_votes import vote
from tests.integration.users.test_profiles import everything
from tests.people import create
from tests.wait import until
from threadkit.app import create_app
from threadkit.keyring import Keyring
from threadkit.settings import Settings
from threadkit.sites.model import NewSite
from threadkit.storage.bundled import BundledStore

DELETED = "d0000000-0000-0000-0000-000000000000"


async def test_leaving_anonymises_comments_and_keeps_texts_votes_and_replies(
    http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    ada, eve = await create(http, new_site, "ada", "ada@example.org"), await create(http, new_site, "eve")
    root = await write(eve, "root")
    middle = await write(ada, "middle", under=[str(root["i"])])
    await write(eve, "leaf", under=[str(root["i"]), str(middle["i"])])
    for number in range(4):
        await write(ada, f"another {number}")
    await vote(ada, root["i"], "up")
    await vote(eve, middle["i"], "up")

    async def settled() -> bool:
        return not await redis.exists(f"site:{new_site.site.id}:outbox") or not await redis.xlen(
            f"site:{new_site.site.id}:outbox"
        )

    await until(settled, "the outbox to be empty")
    answer = await ada.call("DELETE", "/v1/users/me")
    assert answer.json() == {"comments_deleted": 5, "votes_deleted": 1}
    thread = await read(http, new_site)
    assert outline(thread)[0] == ("root", [("middle", ["leaf"])])
    node = thread["tree"]["c"][0]["r"][0]
    assert (node["a"], node["n"], node["p"], node["t"], node["u"]) == (DELETED, "[deleted]", None, "middle", 1)
    assert thread["tree"]["c"][0]["u"] == 1, "counts stay"
    traces = await everything(redis)
    for trace in (ada.id, "ada@example.org"):
        assert trace not in traces


@pytest.fixture
async def erasing(redis: Redis, bundled: BundledStore, settings: Settings, keyring: Keyring) -> object:
    accounts = msgspec.structs.replace(settings.accounts, on_deletion="erase")
    return create_app(msgspec.structs.replace(settings, accounts=accounts), bundled.address, keyring)


async def test_an_owner_can_choose_to_erase_the_texts_too(erasing: object) -> None:
    async with erasing.lifespan():  # type: ignore[attr-defined]
        site = await erasing.services.sites.create("Blog", "blog.example.org")  # type: ignore[attr-defined]
        transport = httpx.ASGITransport(erasing)  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=transport, base_url="http://t") as http:
            ada, eve = await create(http, site, "ada"), await create(http, site, "eve")
            root = await write(ada, "my words")
            await write(eve, "answer", under=[str(root["i"])])
            await write(ada, "more words")
            assert (await ada.call("DELETE", "/v1/users/me")).json()["comments_deleted"] == 2
            assert outline(await read(http, site)) == [("[deleted]", ["answer"])]


async def test_an_export_has_comments_and_votes(http: httpx.AsyncClient, new_site: NewSite) -> None:
    ada, eve = await create(http, new_site, "ada"), await create(http, new_site, "eve")
    mine, hers = await write(ada, "mine"), await write(eve, "hers")
    await vote(ada, hers["i"], "down")
    export = (await ada.call("GET", "/v1/users/me/export")).json()
    assert [comment["content"] for comment in export["comments"]] == ["mine"]
    assert export["comments"][0]["page_url"] == "https://blog.example.org/post"
    assert export["votes"] == [{"site_id": new_site.site.id, "comment_id": hers["i"], "vote": "down"}]
    assert mine["i"] == export["comments"][0]["id"]
