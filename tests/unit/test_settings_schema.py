"""Every setting of a site is described, and described truly."""

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

import threadkit
from tests.locales import strings
from threadkit.sites.model import SECRET_SETTINGS, SiteSettings, changed_settings, dotted
from threadkit.sites.settings_schema import GROUPS, LOCALES, SettingView, settings_schema

NAMES = dotted(msgspec.to_builtins(SiteSettings()))
SCHEMA = {setting.name: setting for setting in settings_schema(LOCALES.words_for("en")).settings}
SENTENCES = dict(strings(Path(threadkit.__file__).parent / "sites" / "locales" / "en.json"))


def test_no_setting_lacks_a_sentence_and_no_sentence_a_setting() -> None:
    groups = [f"group_{group}{more}" for group in GROUPS for more in ("", "_text")]
    assert sorted(SENTENCES) == sorted([*groups, *NAMES])
    assert sorted(NAMES) == sorted(SCHEMA)


@pytest.mark.parametrize("name", sorted(NAMES))
def test_sentences_are_sentences(name: str) -> None:
    assert re.fullmatch(r"[A-Za-z].{20,}\.", SCHEMA[name].explanation), SCHEMA[name].explanation


def test_every_group_has_settings_and_they_stand_together() -> None:
    groups = [setting.group for setting in SCHEMA.values()]
    assert list(dict.fromkeys(groups)) == list(GROUPS)
    assert groups == sorted(groups, key=list(GROUPS).index)


def wrong_values(setting: SettingView) -> list[Any]:
    wrong: list[Any] = [{"boolean": "perhaps", "text": 7, "list": "x"}.get(setting.type, [])]
    if setting.type == "choice":
        wrong.append("nothing of the kind")
    if setting.type in ("integer", "number"):
        wrong += [limit for limit in (_below(setting.min), _above(setting.max)) if limit is not None]
    if setting.type == "list" and setting.max_items:
        wrong.append(["entry"] * (setting.max_items + 1))
    if not setting.may_be_null:
        wrong.append(None)
    return wrong


def _below(limit: float | None) -> float | None:
    return None if limit is None else limit - 1


def _above(limit: float | None) -> float | None:
    return None if limit is None else limit + 1


@pytest.mark.parametrize("name", sorted(SCHEMA))
def test_what_the_description_excludes_is_refused_and_what_it_offers_is_taken(name: str) -> None:
    setting = SCHEMA[name]
    for value in wrong_values(setting):
        with pytest.raises(msgspec.ValidationError):
            changed_settings(SiteSettings(), {name: value}, strict=True)
    offered = [*(setting.choices or []), setting.min, setting.max] if setting.type != "list" else []
    for value in [setting.default, *(one for one in offered if one is not None)]:
        changed_settings(SiteSettings(), {name: value}, strict=True)


def test_secrets_are_marked_and_choices_keep_their_order() -> None:
    assert {name for name, setting in SCHEMA.items() if setting.is_secret} == set(SECRET_SETTINGS)
    assert SCHEMA["moderation_mode"].choices == ["none", "pre", "post"]
    assert SCHEMA["errors"].may_be_null
    assert SCHEMA["screening.order"].type == "list"
