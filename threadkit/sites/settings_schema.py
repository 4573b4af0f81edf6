"""All settings of a site described, from the types that check them. No I/O here."""

import functools
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct, inspect

from threadkit.sites.model import SECRET_SETTINGS, SiteSettings, dotted
from threadkit.words import Locales, Words

LOCALES = Locales("threadkit.sites")

# Which settings stand together, by their names or by what these begin with.
GROUPS = {
    "writing": (
        *("moderation_mode", "auto_approve_verified", "require_verification", "posting_disabled"),
        "edit_window_minutes",
    ),
    "screening": ("screening.",),
    "outside": ("content_moderation.", "turnstile.", "akismet.", "webhook."),
    "sign_in": ("staff_second_step", "auth."),
    "display": ("voting", "hot.", "display."),
    "limits": ("rate_limits.",),
    "pages": ("allowed_origins", "drop_tracking_parameters", "errors"),
}
_PLACES = [(group, front) for group, fronts in GROUPS.items() for front in fronts]

Shape = Literal["boolean", "integer", "number", "text", "choice", "list"]


class SettingView(Struct, kw_only=True):
    """One setting. `name` is what `PATCH /v1/admin/sites/{id}` takes, with a dot for each step down. Limits that do not
    apply are null; of a list they are those of its entries, which `max_items` counts."""

    name: str
    group: str
    type: Shape
    default: Any
    explanation: str
    may_be_null: bool
    is_secret: bool
    choices: list[str] | None
    min: float | None
    max: float | None
    max_length: int | None
    pattern: str | None
    max_items: int | None


class GroupView(Struct):
    id: str
    title: str
    explanation: str


class SettingsSchema(Struct):
    """In the order in which a page may show them."""

    groups: list[GroupView]
    settings: list[SettingView]


def settings_schema(words: Words) -> SettingsSchema:
    groups = [GroupView(group, words(f"group_{group}"), words(f"group_{group}_text")) for group in GROUPS]
    settings = [msgspec.structs.replace(setting, explanation=words(setting.name)) for setting in _settings()]
    return SettingsSchema(groups, settings)


@functools.cache
def _settings() -> list[SettingView]:
    """All of them in order, and nothing said about them yet."""
    return sorted(_described(SiteSettings), key=lambda setting: _place(setting.name))


def _place(name: str) -> int:
    return next(
        place
        for place, (_, front) in enumerate(_PLACES)
        if (name.startswith(front) if front.endswith(".") else name == front)
    )


def _described(kind: type[Struct], front: str = "") -> list[SettingView]:
    info = inspect.type_info(kind)
    if not isinstance(info, inspect.StructType):
        raise TypeError(f"{kind} is not a structure")
    hints = get_type_hints(kind)
    found: list[SettingView] = []
    for field in info.fields:
        name = front + field.name
        if isinstance(field.type, inspect.StructType):
            found += _described(field.type.cls, f"{name}.")
        else:
            found.append(_setting(name, field.type, hints[field.name]))
    return found


def _setting(name: str, kind: inspect.Type, hint: Any) -> SettingView:
    may_be_null = isinstance(kind, inspect.UnionType)
    if isinstance(kind, inspect.UnionType):
        kind = next(one for one in kind.types if not isinstance(one, inspect.NoneType))
    is_list = isinstance(kind, inspect.ListType | inspect.VarTupleType)
    item = kind.item_type if isinstance(kind, inspect.ListType | inspect.VarTupleType) else kind
    return SettingView(
        name=name,
        group=_PLACES[_place(name)][0],
        type="list" if is_list else _shape(item),
        default=_DEFAULTS[name],
        explanation="",
        may_be_null=may_be_null,
        is_secret=name in SECRET_SETTINGS,
        choices=_choices(hint) or None,
        min=getattr(item, "ge", None),
        max=getattr(item, "le", None),
        max_length=getattr(item, "max_length", None),
        pattern=getattr(item, "pattern", None),
        max_items=getattr(kind, "max_length", None) if is_list else None,
    )


_SHAPES: dict[type[inspect.Type], Shape] = {
    inspect.BoolType: "boolean",
    inspect.IntType: "integer",
    inspect.FloatType: "number",
    inspect.StrType: "text",
    inspect.LiteralType: "choice",
}


def _shape(kind: inspect.Type) -> Shape:
    return _SHAPES[type(kind)]


def _choices(hint: Any) -> list[str]:
    """In the order in which they were written down, which the types' own description does not keep."""
    if get_origin(hint) is Literal:
        return list(get_args(hint))
    return [choice for part in get_args(hint) for choice in _choices(part)]


_DEFAULTS = dotted(msgspec.to_builtins(SiteSettings()))
