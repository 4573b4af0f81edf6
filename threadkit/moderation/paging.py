"""Reading a list that others shorten meanwhile: a place in it is a member and its score, never a number of members."""

import re
from collections.abc import Callable

from msgspec import Struct

from threadkit.errors import InvalidParameter
from threadkit.storage.client import Commands

LONGEST = 120
SPARE = 100

_CURSOR = re.compile(r"(\d{1,15}):([0-9a-f:-]{36,73})")


class Slice(Struct, frozen=True):
    members: list[str]
    next: str | None
    """The place behind the last one, while more follow."""


async def read_behind(
    redis: Commands, key: str, cursor: str | None, *, offset: int, limit: int, name: Callable[[str], str] = str
) -> Slice:
    """The lowest scores first. Of members with one score, `name` must sort as their texts do."""
    score, last = _place(cursor)
    found: list[tuple[str, int]] = []
    while len(found) <= limit:
        some = await redis.zrange(key, score, "+inf", byscore=True, offset=offset, num=limit + SPARE, withscores=True)
        found += [(member, int(at)) for member, at in some if (int(at), name(member)) > (score, last)]
        offset += len(some)
        if len(some) < limit + SPARE:
            break
    page = found[:limit]
    goes_on = len(found) > limit and page
    return Slice([member for member, _ in page], f"{page[-1][1]}:{name(page[-1][0])}" if goes_on else None)


def _place(cursor: str | None) -> tuple[int, str]:
    if cursor is None:
        return 0, ""
    found = _CURSOR.fullmatch(cursor)
    if found is None:
        raise InvalidParameter(name="cursor", why="is not one from an answer", field="cursor")
    return int(found[1]), found[2]
