"""Attempts to write, as posting hands them to the checks."""

from typing import Any

from threadkit.ids import PageId
from threadkit.moderation.model import Attempt, Facts, Verdict
from threadkit.moderation.outside.checks import OutsideChecks
from threadkit.moderation.outside.model import Visitor
from threadkit.sites.model import Site


def attempt(site: Site, **fields: Any) -> Attempt:
    usual: dict[str, Any] = {
        "author": None,
        "author_name": "Jane",
        "text": "What a fine post!",
        "page_id": PageId("0197b7a2-6f1c-7c3e-8a41-2d9f6c1e5b70"),
        "page_url": "https://blog.example.org/post",
    }
    return Attempt(site=site, **(usual | fields))


async def checked(
    checks: OutsideChecks, asked: Attempt, *, is_known: bool = False, visitor: Visitor | None = None
) -> Verdict | None:
    return await checks.check(asked, Facts(attempt=asked, now_ms=0, is_known=is_known), visitor)
