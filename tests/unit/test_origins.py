"""The origin rule: contract 2.2, done right."""

import pytest
from msgspec.structs import replace

from threadkit.ids import SiteId
from threadkit.sites.model import PageRule, Site, SiteSettings, normal_domain, origin_host, origin_is_allowed
from threadkit.users.oauth.model import page_origin

SITE = Site(
    id=SiteId("01a1e1d5-9217-7000-be42-7b27b41a2a52"),
    name="Blog",
    domain="example.com",
    api_key_public="tk_pub_x",
    api_key_secret="",
    created_at="",
    settings=SiteSettings(allowed_origins=["other.example.org", "*.partner.example", "https://listed.example:8443"]),
)


def allowed(origin: str, site: Site = SITE, *, localhost: bool = False) -> bool:
    host = origin_host(origin)
    return host is not None and origin_is_allowed(host, site, allow_localhost=localhost)


@pytest.mark.parametrize(
    "origin",
    [
        "https://example.com",
        "http://example.com:3000",
        "https://blog.example.com",
        "https://a.b.example.com",
        "HTTPS://EXAMPLE.COM",
        "https://example.com.",
        "https://other.example.org",
        "https://partner.example",
        "https://deep.down.partner.example",
        "https://listed.example:8443",
        "https://listed.example",
    ],
)
def test_the_sites_own_pages_may_speak(origin: str) -> None:
    assert allowed(origin)


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "",
        "https://",
        "https://evil.example",
        "https://example.com.evil.example",
        "https://evilexample.com",
        "https://exampleXcom",
        "https://example.comm",
        "https://example.co",
        "https://com",
        "https://example.com@evil.example",
        "https://evil.example#example.com",
        "https://evil.example/example.com",
        "https://evil.example?example.com",
        "https://evil.example\\example.com",
        "https://example.com%00.evil.example",
        "https://example.com,evil.example",
        "https://evil.example https://example.com",
        "https://*.example.com",
        "https://xn--xample-2of.com",
        "https://еxample.com",
        "https://[::1",
        "https://example.com:notaport",
        "file:///example.com",
        "https://sub.other.example.org",
        "https://partner.example.evil.example",
        "https://evilpartner.example",
        "http://localhost",
        "http://127.0.0.1",
        "data:text/html,example.com",
        "chrome-extension://abcdef",
    ],
)
def test_look_alikes_may_not(origin: str) -> None:
    assert not allowed(origin)


@pytest.mark.parametrize(
    "origin",
    ["http://localhost", "http://localhost:3000", "http://127.0.0.1:5173", "http://[::1]:80", "http://127.0.0.2"],
)
def test_localhost_is_allowed_where_the_setting_says_so(origin: str) -> None:
    assert allowed(origin, localhost=True)
    assert not allowed(origin, localhost=False)


@pytest.mark.parametrize(
    "origin",
    [
        "http://127.0.0.1.evil.example",
        "http://localhost.evil.example",
        "http://notlocalhost",
        "http://2130706433",
        "http://0x7f.1",
    ],
)
def test_what_only_looks_like_localhost_is_not(origin: str) -> None:
    assert not allowed(origin, localhost=True)


def test_a_site_on_an_address_has_no_subdomains() -> None:
    site = replace(SITE, domain="192.0.2.7")
    assert allowed("http://192.0.2.7:8000", site)
    assert not allowed("http://evil.192.0.2.7", site)


@pytest.mark.parametrize(
    ("text", "domain"),
    [
        ("Example.COM", "example.com"),
        ("https://Blog.Example.com:8443", "blog.example.com"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("localhost", "localhost"),
        ("192.0.2.7", "192.0.2.7"),
        ("a/b", None),
        ("", None),
        ("ex ample.com", None),
        ("user@example.com", None),
    ],
)
def test_domains_are_stored_in_one_form(text: str, domain: str | None) -> None:
    assert normal_domain(text) == domain


@pytest.mark.parametrize(
    ("page", "is_allowed"),
    [
        ("https://comments.example.org", True),
        ("https://COMMENTS.example.org:443/embed/frame?project=x", True),
        ("https://blog.example.com/post", True),
        ("http://comments.example.org", False),
        ("https://comments.example.org:8443", False),
        ("https://below.comments.example.org", False),
        ("ftp://comments.example.org", False),
        ("comments.example.org", False),
        ("null", False),
    ],
)
def test_our_own_origin_counts_as_a_whole(page: str, is_allowed: bool) -> None:
    rule = PageRule.of("https://comments.example.org/", allow_localhost=False)
    assert rule.allows(page, SITE) is is_allowed
    assert (page_origin(page, SITE, rule) is not None) is is_allowed
