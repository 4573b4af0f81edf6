"""Where quotas and paces are used: posting, reporting, sending codes, exporting; and `/api/config/usage` (S4-32)."""

import httpx
import pytest
from redis.asyncio import Redis

from tests import people
from tests.make import ManualClock
from tests.wait import until
from threadkit.app import Application
from threadkit.sending.model import Undelivered
from threadkit.settings import ActionLimits, LimitSettings
from threadkit.sites.model import NewSite
from threadkit.sites.roles import Role

PAGE = {"page_url": "https://blog.example.org/post"}


@pytest.fixture
def limits() -> LimitSettings:
    return LimitSettings(
        ip_writes_per_minute=1000,
        user_writes_per_minute=1000,
        reports=ActionLimits(per_day=1),
        exports=ActionLimits(per_minute=1),
    )


async def post(person: people.Person, text: str) -> httpx.Response:
    return await person.call("POST", "/v1/comments", {**PAGE, "content": text})


async def test_members_write_every_five_seconds_and_thirty_in_ten_minutes(
    http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock
) -> None:
    ada = await people.create(http, new_site, "ada")
    assert (await post(ada, "first")).status_code == 200
    refused = await post(ada, "second")
    assert refused.status_code == 429
    assert refused.json()["error"] == "You are writing very quickly. Please wait 5 seconds."
    assert int(refused.headers["retry-after"]) == refused.json()["retry_after"] == 5
    for number in range(29):
        clock.advance(seconds=5)
        assert (await post(ada, f"number {number}")).status_code == 200
    clock.advance(seconds=5)
    refused = await post(ada, "the thirty-first")
    assert (refused.status_code, refused.json()["code"]) == (429, "too_soon")
    clock.advance(seconds=refused.json()["retry_after"])
    assert (await post(ada, "the thirty-first")).status_code == 200


async def test_guests_are_counted_by_address_and_browser(
    http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock
) -> None:
    """A new name every time does not help; another browser behind the same address is somebody else."""
    for number in range(5):
        guest = await people.guest(http, new_site, f"guest{number}")
        assert (await post(guest, f"number {number}")).status_code == 200
        assert (await post(guest, f"again {number}")).status_code == 429
        clock.advance(seconds=15)
    refused = await post(await people.guest(http, new_site), "the sixth")
    assert refused.status_code == 429
    other = {"projectid": new_site.site.api_key_public, "user-agent": "another browser"}
    said = {**PAGE, "content": "hello", "author_name": "neighbour"}
    assert (await http.post("/v1/comments", json=said, headers=other)).status_code == 200


async def test_moderators_may_be_as_quick_as_they_like(
    http: httpx.AsyncClient, new_site: NewSite, app: Application
) -> None:
    mo = await people.create(http, new_site, "mo")
    await app.services.roles.grant(new_site.site.id, mo.id, Role.MODERATOR)  # type: ignore[arg-type]
    for number in range(3):
        assert (await post(mo, f"number {number}")).status_code == 200


async def test_what_is_refused_before_the_costly_step_uses_nothing_up_s4_20(
    http: httpx.AsyncClient, new_site: NewSite, redis: Redis
) -> None:
    ada = await people.create(http, new_site, "ada")
    assert (await post(ada, " ")).status_code == 400
    assert await redis.keys("rate:daily:*") == []
    assert (await post(ada, "at last")).status_code == 200
    (name,) = map(str, await redis.keys("rate:daily:*"))
    assert name.startswith(f"rate:daily:comments.user-{ada.id}:")


async def test_a_repeated_request_is_answered_and_not_counted_again(http: httpx.AsyncClient, new_site: NewSite) -> None:
    ada = await people.create(http, new_site, "ada")
    headers = {
        "projectid": ada.key,
        "authorization": f"Bearer {ada.token}",
        "idempotency-key": "once",
    }
    answers = [await http.post("/v1/comments", json={**PAGE, "content": "hello"}, headers=headers) for _ in range(3)]
    assert {answer.json()["comment"]["i"] for answer in answers} == {answers[0].json()["comment"]["i"]}


async def test_reports_and_exports_have_numbers_of_their_own(
    http: httpx.AsyncClient, new_site: NewSite, clock: ManualClock
) -> None:
    ada, bob = [await people.create(http, new_site, name) for name in ("ada", "bob")]
    ids = []
    for text in ("one", "two"):
        ids.append((await post(ada, text)).json()["comment"]["i"])
        clock.advance(seconds=5)
    reports = [await bob.call("POST", f"/v1/comments/{id_}/report", {"reason": "spam"}) for id_ in ids]
    assert [answer.status_code for answer in reports] == [204, 429]
    assert reports[1].json()["limit_type"] == "daily"
    assert reports[1].json()["retry_after"] == 86_400 - clock.now_ms() // 1000 % 86_400
    exports = [await bob.call("GET", "/v1/users/me/export") for _ in range(2)]
    assert [answer.status_code for answer in exports] == [200, 429]


async def test_a_code_that_cannot_be_sent_is_given_back_s4_20(
    http: httpx.AsyncClient, new_site: NewSite, app: Application, redis: Redis
) -> None:
    office = app.services.office
    office._pauses_s = ()

    class Broken:
        async def send(self, _mail: object) -> None:
            raise Undelivered("the provider is away")

    working, office._mail = office._mail, Broken()
    address = {"projectid": new_site.site.api_key_public}
    assert (await http.post("/v1/auth/send-otp", json={"email": "a@example.org"}, headers=address)).status_code == 200
    await until(lambda: office.failed == 1, "the provider to refuse")

    async def counted() -> list[str]:
        return [str(await redis.get(name)) for name in await redis.keys("rate:daily:codes.*")]

    async def is_given_back() -> bool:
        return await counted() == ["0"]

    await until(is_given_back, "the place to be given back")
    assert [await redis.zcard(name) for name in await redis.keys("rate:window:code-*")] in ([], [0, 0])
    office._mail = working
    assert (await http.post("/v1/auth/send-otp", json={"email": "b@example.org"}, headers=address)).status_code == 200
    assert await counted() == ["1"]


async def test_usage_tells_and_uses_nothing_up_s4_32(
    http: httpx.AsyncClient, new_site: NewSite, app: Application
) -> None:
    quotas = app.services.quotas
    addresses = app.services.addresses
    client = quotas.client(addresses.client_of({"client": ("127.0.0.1", 1), "headers": []}, {}), "tester")
    kept = [await quotas.reserve("comments", client) for _ in range(3)]
    await quotas.release(kept[0])
    for _ in range(2):
        answer = await http.get("/api/config/usage", headers={"user-agent": "tester"})
        assert answer.json() == {
            "action": "comments",
            "daily_count": 2,
            "daily_limit": 1000,
            "per_minute_limit": 20,
        }
    answer = await http.get("/api/config/usage", params={"action": "reports"})
    assert (answer.json()["daily_count"], answer.json()["daily_limit"]) == (0, 1)
    assert (await http.get("/api/config/usage", params={"action": "nonsense"})).status_code == 400
