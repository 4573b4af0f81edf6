"""What we take away from the framework must be what we think it is."""

import inspect

from litestar.handlers import base


def test_the_library_copies_handlers_for_guards_and_for_nothing_else() -> None:
    used = [line.strip() for line in inspect.getsource(base).splitlines() if "copy(" in line]
    assert used == ["await guard(connection, copy(self))  # type: ignore[misc]"]
