"""G-01, G-02: one place for keys, and its page."""

import re
from pathlib import Path

import pytest

from threadkit.ids import SiteId
from threadkit.storage import keys as keys_module
from threadkit.storage.keys import SCHEMA, Keys, Kind, schema_entries, schema_markdown

PACKAGE = Path(keys_module.__file__).parents[1]


def test_the_page_of_keys_is_the_registry() -> None:
    assert (PACKAGE / "storage" / "KEYS.md").read_text(encoding="utf-8") == schema_markdown(), "run: make keys"


def test_no_two_entries_share_a_pattern() -> None:
    # A channel may be named like a key: they are different things to the store.
    patterns = [(entry.pattern, entry.kind is Kind.CHANNEL) for entry in SCHEMA]
    assert len(patterns) == len(set(patterns))


def test_a_prefix_stands_in_front_of_everything_g_02() -> None:
    keys = Keys("x:")
    assert keys.shared.sites() == "x:sites:index"
    assert keys.site(SiteId("s")).config() == "x:site:s:config"


def test_keys_of_one_site_share_a_hash_tag_in_a_cluster_only() -> None:
    site = SiteId("01a1e1d5-9217-7000-be42-7b27b41a2a52")
    assert Keys().site(site).admins() == f"site:{site}:admins"
    assert Keys(tagged=True).site(site).admins() == f"{{{site}}}site:{site}:admins"
    assert Keys("x:", tagged=True).site(site).admins() == f"x:{{{site}}}site:{site}:admins"


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("apikey:tk_pub_abc", "api_key"),
        ("apikey:tk_pub_abc:site", "api_key_site"),
        ("{s1}site:s1:config", "config"),
        ("site:s1:config", "config"),
    ],
)
def test_every_key_finds_its_one_entry(key: str, name: str) -> None:
    assert [entry.name for entry in schema_entries(key)] == [name]


def test_a_strange_key_finds_none() -> None:
    assert schema_entries("something:else") == []


def test_no_other_module_spells_a_key() -> None:
    families = {entry.pattern.split(":")[0].strip("{}") for entry in SCHEMA} - {"threadkit"}
    spelt = re.compile(rf"""f?["'](?:{"|".join(families)}):[{{a-z]""")
    offenders = [
        f"{path.relative_to(PACKAGE)}: {line.strip()}"
        for path in PACKAGE.rglob("*.py")
        if path.name != "keys.py"
        for line in path.read_text(encoding="utf-8").splitlines()
        if spelt.search(line)
    ]
    assert offenders == []
