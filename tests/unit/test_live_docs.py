"""Every message and close code of live pages is in the guide for those who write clients."""

import re
from pathlib import Path

import threadkit

LIVE = Path(threadkit.__file__).parent / "live"
GUIDE = (Path(__file__).parents[2] / "docs" / "reading-threads.md").read_text(encoding="utf-8")
SOURCE = "".join((LIVE / name).read_text() for name in ("hub.py", "room.py", "sockets.py", "streams.py", "message.py"))


def test_every_message_is_in_the_guide() -> None:
    said = set(re.findall(r'[Mm]essage\("(\w+)"', SOURCE))
    for cases in re.findall(r'case ((?:"\w+"(?: \| )?)+)', (LIVE / "room.py").read_text()):
        said |= set(re.findall(r"\w+", cases))
    assert {"presence", "author_gone", "overloaded", "restart"} <= said
    assert [method for method in sorted(said) if f"`{method}`" not in GUIDE] == []


def test_every_error_is_in_the_guide() -> None:
    codes = set(re.findall(r'error\("(\w+)"', SOURCE)) | set(re.findall(r'"code": "(\w+)"', SOURCE))
    assert {"unavailable", "user_banned"} <= codes
    assert [code for code in sorted(codes) if f"`{code}`" not in GUIDE] == []


def test_every_close_code_is_in_the_guide() -> None:
    codes = set(re.findall(r"(?:close|end)\((\d{4})", SOURCE))
    assert {"1012", "1013", "4401"} <= codes
    assert [code for code in sorted(codes) if f"| {code} |" not in GUIDE] == []
