"""Where the server may call, and where it never does."""

import pytest

from threadkit.http.outbound import Answer, Outbound, OutboundFailed, OutboundRefused, is_loopback


def resolving(*addresses: str) -> Outbound:
    async def resolve(_host: str, _port: int) -> list[str]:
        return list(addresses)

    return Outbound(resolve=resolve)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/",
        "http://127.0.0.1/",
        "ftp://example.org/",
        "file:///etc/passwd",
        "https://user:pass@example.org/",
        "https://",
        "https://[::1",
        "https://example.org:99999/",
        "example.org",
    ],
)
async def test_only_https_is_called(url: str) -> None:
    with pytest.raises(OutboundRefused):
        await Outbound().get(url)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "fe80::1",
        "fc00::1",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "64:ff9b::10.0.0.1",
        "2002:7f00:1::",
    ],
)
async def test_a_name_that_leads_into_a_private_network_is_refused_when_it_is_dialled(address: str) -> None:
    """Through the whole client, so that an update which no longer asks us before dialling is noticed."""
    outbound = resolving(address)
    with pytest.raises(OutboundRefused):
        await outbound.get("https://innocent.example/")
    await outbound.close()


async def test_one_private_address_among_public_ones_is_enough_to_refuse() -> None:
    outbound = resolving("93.184.216.34", "10.0.0.1")
    with pytest.raises(OutboundRefused):
        await outbound.get("https://innocent.example/")
    await outbound.close()


async def test_an_address_in_the_url_itself_is_checked_too() -> None:
    outbound = Outbound()
    with pytest.raises(OutboundRefused):
        await outbound.get("https://10.0.0.1/")
    await outbound.close()


@pytest.mark.parametrize(("address", "may"), [("10.0.0.1", True), ("169.254.169.254", False), ("127.0.0.1", False)])
async def test_a_host_that_the_owner_named_may_be_in_a_private_network(address: str, may: bool) -> None:
    async def resolve(_host: str, _port: int) -> list[str]:
        return [address]

    outbound = Outbound(resolve=resolve, trusted_hosts=["Login.Intranet.example"])
    if may:
        assert await outbound._checked_addresses("login.intranet.example", 443) == [address]
    else:
        with pytest.raises(OutboundRefused):
            await outbound._checked_addresses("login.intranet.example", 443)
    with pytest.raises(OutboundRefused):
        await outbound._checked_addresses("elsewhere.example", 443)


async def test_a_host_that_nobody_knows_is_no_answer() -> None:
    with pytest.raises(OutboundFailed, match="not known"):
        await resolving()._checked_addresses("nowhere.example", 443)


@pytest.mark.parametrize(
    ("url", "answer"),
    [
        ("http://127.0.0.1:8000/x", True),
        ("http://localhost", True),
        ("http://a.localhost", True),
        ("http://[::1]:1", True),
        ("http://localhost.example.org", False),
        ("http://127.0.0.1.example.org", False),
        ("https://example.org", False),
        ("", False),
        ("http://[", False),
    ],
)
def test_loopback_is_told_from_what_only_looks_like_it(url: str, answer: bool) -> None:
    assert is_loopback(url) is answer


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"a": "\xff"}', b"[" * 100_000, b"{}"])
def test_an_answer_that_is_not_what_we_expect_is_not_quoted(body: bytes) -> None:
    with pytest.raises(OutboundFailed, match="not the JSON we expect"):
        Answer(200, body).json(list[int])
