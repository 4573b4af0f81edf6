"""What can be told from the request itself: proxies, addresses, names, HTTPS, sockets, origins."""

import pytest

from tests.integration.doctor.clinic import PUBLIC, VISITOR, Clinic, Open
from threadkit.sites.model import SiteSettings

PROXY = "10.0.0.5"
FORWARDED = {"x-forwarded-for": VISITOR, "x-forwarded-proto": "https"}


async def test_a_proxy_that_is_not_trusted_is_red_until_it_is(clinic: Open) -> None:
    async with clinic() as here:
        found = await here.ask(peer=PROXY, headers=FORWARDED)
        assert (found["proxy"]["state"], found["client_address"]["state"]) == ("bad", "bad")
        assert f'trusted_proxies = ["127.0.0.1", "::1", "{PROXY}"]' in found["proxy"]["fix"]
    async with clinic(trusted_proxies=["127.0.0.1", "::1", PROXY]) as here:
        found = await here.ask(peer=PROXY, headers=FORWARDED)
        assert (found["proxy"]["state"], found["client_address"]["state"]) == ("ok", "ok")
        assert VISITOR in found["client_address"]["found"]


async def test_a_proxy_that_says_nothing_of_the_visitor_is_red(clinic: Open) -> None:
    async with clinic() as here:
        found = await here.ask(peer="127.0.0.1")
        assert (found["proxy"]["state"], found["client_address"]["state"]) == ("bad", "bad")
        found = await here.ask(peer="127.0.0.1", headers=FORWARDED)
        assert (found["proxy"]["state"], found["client_address"]["state"]) == ("ok", "ok")
        found = await here.ask()
        assert (found["proxy"]["state"], found["client_address"]["state"]) == ("ok", "ok"), "without a proxy"


async def test_a_stranger_who_makes_up_a_header_makes_no_alarm(clinic: Open) -> None:
    async with clinic() as here:
        found = await here.ask(headers={"x-forwarded-for": "192.0.2.1"})
        assert found["proxy"]["state"] == "warning"
        assert (found["client_address"]["state"], found["forged_header"]["state"]) == ("ok", "ok")
        assert VISITOR in found["client_address"]["found"]
        assert "was not believed" in found["forged_header"]["found"]


async def test_a_proxy_that_hands_on_made_up_addresses_is_red(clinic: Open) -> None:
    async with clinic() as here:
        tries = (await here.answer())["tries"]
        made_up = {tries["header"].lower(): tries["header_value"]}
        assert await here.state("forged_header", peer="127.0.0.1", headers=made_up) == "bad"
        appended = {"x-forwarded-for": f"{tries['header_value']}, {VISITOR}"}
        assert await here.state("forged_header", peer="127.0.0.1", headers=appended) == "ok"
    async with clinic(trusted_proxies=["0.0.0.0/0"]) as here:
        assert await here.state("forged_header") == "bad", "everybody is trusted"


async def test_another_name_than_the_public_one_is_red(clinic: Open) -> None:
    async with clinic() as here:
        found = await here.ask(headers={"host": "10.1.2.3:8080"}, page_origin="http://10.1.2.3:8080")
        assert found["public_url"]["state"] == "bad"
        assert 'public_url = "http://10.1.2.3:8080"' in found["public_url"]["fix"]
        assert await here.state("public_url") == "ok"
        assert await here.state("public_url", headers={"host": "inner:1"}, page_origin=PUBLIC) == "ok"
    async with clinic(public_url=None) as here:
        assert await here.state("public_url") == "bad", "nobody has set it"
        assert await here.state("public_url", peer="127.0.0.1", headers={"host": "127.0.0.1:8080"}) == "ok"


async def test_without_https_it_is_red(clinic: Open) -> None:
    async with clinic(public_url="http://comments.example.org") as here:
        assert await here.state("https") == "bad"
    async with clinic() as here:
        said = {"x-forwarded-for": VISITOR, "x-forwarded-proto": "http"}
        assert await here.state("https", peer="127.0.0.1", headers=said) == "bad"
        assert await here.state("https", page_origin="http://comments.example.org") == "bad"
        assert await here.state("https", peer="127.0.0.1", headers=FORWARDED) == "ok"


async def test_the_browser_says_whether_a_socket_opened(clinic: Open) -> None:
    async with clinic() as here:
        answer = await here.answer()
        assert answer["tries"]["websocket_url"] == (
            f"wss://comments.example.org/v1/ws?project_id={here.site.site.api_key_public}"
        )
        assert await here.state("websocket") == "unknown"
        assert await here.state("websocket", websocket="failed") == "bad"
        assert await here.state("websocket", websocket="open") == "ok"


@pytest.mark.parametrize(
    ("entries", "state"),
    [
        (["www.example.org", "*.example.net", "https://example.com"], "ok"),
        (["*.com"], "bad"),
        (["www.example.org/blog"], "bad"),
        (["www.*.org"], "bad"),
        (["192.168.1.7"], "warning"),
    ],
)
async def test_origins_that_fit_everybody_or_nobody_are_red(clinic: Open, entries: list[str], state: str) -> None:
    async with clinic() as here:
        settings = SiteSettings(allowed_origins=entries)  # as they may stand in the data of another server
        other = await here.app.services.sites.create("Other", "other.example", settings=settings)
        assert await Clinic(here.app, other).state("origins") == state


async def test_a_site_that_is_still_on_localhost_is_red(clinic: Open) -> None:
    async with clinic() as here:
        await here.app.services.sites.change(here.site.site.id, domain="localhost")
        assert await here.state("origins") == "bad"
    async with clinic(public_url=None) as here:
        await here.app.services.sites.change(here.site.site.id, domain="localhost")
        assert await here.state("origins") == "ok", "it is only tried out"


async def test_pages_on_localhost_are_a_warning_in_public(clinic: Open) -> None:
    async with clinic() as here:
        assert await here.state("localhost_origin") == "warning"
    async with clinic(allow_localhost_origin=False) as here:
        assert await here.state("localhost_origin") == "ok"
