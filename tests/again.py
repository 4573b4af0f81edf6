"""What failed, by the names under which it can be run again."""

import re

import pytest

_LAST_FAILED = "cache/lastfailed"
_GROUP = re.compile(r"@[^@\]]+$")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Workers put a test's group behind its name; by that `--last-failed` finds nothing, and then it runs everything."""
    cache: pytest.Cache | None = getattr(session.config, "cache", None)
    if cache is None or hasattr(session.config, "workerinput"):
        return
    failed: dict[str, bool] = cache.get(_LAST_FAILED, {})
    if any(_GROUP.search(name) for name in failed):
        cache.set(_LAST_FAILED, {_GROUP.sub("", name): True for name in failed})
