"""Records to hashes and back: booleans are `true` and `false`, and what is absent is absent."""

import functools
from collections.abc import Mapping
from typing import Any, TypeVar, get_args

import msgspec

T = TypeVar("T", bound=msgspec.Struct)


def to_hash(record: msgspec.Struct) -> dict[str, str]:
    """A record as fields of a hash. Nested structures, lists and dicts become JSON."""
    fields = {}
    for name, encoded in _names(type(record)):
        value = getattr(record, name)
        if value is not None:
            fields[encoded] = value if type(value) is str else _text(value)
    return fields


def from_hash(kind: type[T], fields: Mapping[str, str]) -> T:
    """A record from the fields of its hash; fields it does not know are left alone."""
    nested = _nested_fields(kind)
    values: dict[str, Any] = dict(fields)
    for name in nested & values.keys():
        values[name] = msgspec.json.decode(values[name])
    return msgspec.convert(values, kind, strict=False)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return repr(value)
    return msgspec.json.encode(value).decode()


@functools.cache
def _names(kind: type[msgspec.Struct]) -> list[tuple[str, str]]:
    return [(field.name, field.encode_name) for field in msgspec.structs.fields(kind)]


@functools.cache
def _nested_fields(kind: type[msgspec.Struct]) -> frozenset[str]:
    return frozenset(field.encode_name for field in msgspec.structs.fields(kind) if _is_nested(field.type))


def _is_nested(kind: Any) -> bool:
    options = [option for option in get_args(kind) or (kind,) if option is not type(None)]
    return any(
        getattr(option, "__origin__", option) in (list, dict)
        or (isinstance(option, type) and issubclass(option, msgspec.Struct))
        for option in [*options, kind]
    )
