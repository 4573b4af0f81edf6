"""Path parameters that are ids."""

from typing import TypeVar

from threadkit.errors import InvalidParameter
from threadkit.ids import is_uuid

Id = TypeVar("Id", bound=str)


def as_id(kind: type[Id], text: str) -> Id:
    """The id, or 400: a path segment that is not a uuid names nothing."""
    if not is_uuid(text):
        raise InvalidParameter(name="id", why="must be a uuid")
    return kind(text)
