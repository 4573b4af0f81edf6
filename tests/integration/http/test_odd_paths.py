"""Addresses that are almost one of ours."""

import httpx
import pytest

from threadkit.sites.model import NewSite


@pytest.mark.parametrize("path", ["//v1/site", "/v1//site", "/v1/site//", "//health", "//", "/v1/comments//preview"])
async def test_a_path_with_two_slashes_is_not_found(http: httpx.AsyncClient, new_site: NewSite, path: str) -> None:
    answer = await http.get(f"http://comments.test{path}", headers={"projectid": new_site.site.api_key_public})
    assert answer.status_code == 404, answer.text
