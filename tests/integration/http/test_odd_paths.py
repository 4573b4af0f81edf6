"""Addresses that are almost one of ours, and requests that name two servers."""

import asyncio

import httpx
import pytest

from tests.integration.live.ears import serving
from threadkit.app import Application
from threadkit.sites.model import NewSite


@pytest.mark.parametrize("path", ["//v1/site", "/v1//site", "/v1/site//", "//health", "//", "/v1/comments//preview"])
async def test_a_path_with_two_slashes_is_not_found(http: httpx.AsyncClient, new_site: NewSite, path: str) -> None:
    answer = await http.get(f"http://comments.test{path}", headers={"projectid": new_site.site.api_key_public})
    assert answer.status_code == 404, answer.text


async def test_a_request_that_names_two_servers_is_refused(app: Application, new_site: NewSite) -> None:
    """Each path of the server: what lies ready is answered by the protocol itself."""
    async with serving(app) as live:
        thread = f"/v1/comments?key={new_site.site.api_key_public}&page_url=https://blog.example.org/"
        for path in ("/health", thread, thread):
            reader, writer = await asyncio.open_connection("127.0.0.1", live.port)
            for hosts, status in (("Host: a.example", b"200"), ("Host: a.example\r\nhOST: a.example", b"400")):
                writer.write(f"GET {path} HTTP/1.1\r\n{hosts}\r\n\r\n".encode())
                head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 10)
                assert head.split()[1] == status, head
                if b"content-length: 0" not in head:
                    length = int(head.lower().partition(b"content-length: ")[2].split()[0])
                    await reader.readexactly(length)
            writer.close()
