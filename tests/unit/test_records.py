"""G-10: booleans are words, absent is absent."""

from msgspec import Struct

from threadkit.sites.model import Site, SiteSettings
from threadkit.storage.records import from_hash, to_hash


class Inner(Struct, frozen=True):
    deep: bool = False


class Thing(Struct, frozen=True):
    id: str
    is_good: bool
    count: int = 0
    ratio: float = 0.0
    nickname: str | None = None
    inner: Inner = Inner()
    names: list[str] | None = None


def test_a_record_survives_the_hash_g_10() -> None:
    thing = Thing("42", True, 7, 0.1, None, Inner(deep=True), ["a", "b"])
    fields = to_hash(thing)
    assert fields["is_good"] == "true"
    assert "nickname" not in fields
    assert all(isinstance(value, str) for value in fields.values())
    assert from_hash(Thing, fields) == thing


def test_text_that_looks_like_something_else_stays_text() -> None:
    for text in ("true", "null", "12", "1e5", "", "[1]"):
        assert from_hash(Thing, to_hash(Thing(text, False))).id == text


def test_unknown_fields_of_a_newer_version_are_left_alone() -> None:
    assert from_hash(Thing, {"id": "1", "is_good": "false", "later": "x"}) == Thing("1", False)


def test_a_site_survives_the_hash() -> None:
    settings = SiteSettings(moderation_mode="pre", allowed_origins=["a.example"])
    site = Site(id="s", name="n", domain="d", api_key_public="p", api_key_secret="x", created_at="t", settings=settings)  # type: ignore[arg-type]
    assert from_hash(Site, to_hash(site)) == site
