"""The operator sees over HTTP who has to wait."""

from typing import Any

import httpx
import pytest

from tests.people import post
from tests.wait import until
from threadkit.ratelimit import operator_routes
from threadkit.settings import LimitSettings
from threadkit.sites.model import NewSite


@pytest.fixture
def limits() -> LimitSettings:
    return LimitSettings(ip_writes_per_minute=2)


async def limited(http: httpx.AsyncClient, site: NewSite) -> Any:
    answer = await http.get("/v1/admin/server/limits", headers={"projectid": site.secret_key})
    assert answer.status_code == 200, answer.text
    return answer.json()["limited"]


async def test_who_has_to_wait_is_shown_as_a_hash(http: httpx.AsyncClient, new_site: NewSite) -> None:
    assert await limited(http, new_site) == []
    statuses = [(await post(http, new_site, "/v1/comments/preview", {"content": "x"})).status_code for _ in range(3)]
    assert statuses == [200, 200, 429]

    async def is_shown() -> bool:
        return bool(await limited(http, new_site))

    await until(is_shown, "the counts to reach the store")
    [one] = await limited(http, new_site)
    assert (one["what"], one["site_id"], one["used"], one["limit"]) == ("writes of one ip", new_site.site.id, 2, 2)
    assert len(one["who"]) == 16
    assert one["until"].endswith("Z")


async def test_a_large_store_is_not_looked_through(
    http: httpx.AsyncClient, new_site: NewSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operator_routes, "MOST_KEYS", 1)
    answer = await http.get("/v1/admin/server/limits", headers={"projectid": new_site.secret_key})
    assert (answer.status_code, answer.json()["code"]) == (409, "store_too_large")
