"""What others wrote, on a terminal and in the log."""

import io
import json
import sys

import pytest
import structlog

from threadkit import logs
from threadkit.cli.common import Terminal, print_json, print_table
from threadkit.settings import Settings
from threadkit.terminal import printable, printable_json

HOSTILE = "[red]a[/x] :smile: \x1b]0;owned\x07\x1b[31m\x9b2J\r\u202etxt\ud800"


def test_names_keep_their_letters_and_lose_their_commands() -> None:
    assert printable("Zoë 谢谢 می‌خواهم 👩‍👩‍👧") == "Zoë 谢谢 می‌خواهم 👩‍👩‍👧"
    assert printable(HOSTILE) == r"[red]a[/x] :smile: \x1b]0;owned\x07\x1b[31m\x9b2J\r\u202etxt\ud800"
    assert printable("one\nline") == r"one\nline"


def test_json_means_what_it_meant() -> None:
    text = "\x9b2J\u202e \U000e0001 Zoë"
    safe = printable_json(json.dumps(text, ensure_ascii=False))
    assert json.loads(safe) == text
    assert all(character.isprintable() for character in safe)


def test_a_sentence_is_printed_as_it_is_and_keeps_its_lines() -> None:
    terminal = Terminal()
    terminal.file = io.StringIO()
    terminal.print(f"\nOf {HOSTILE}")
    assert terminal.file.getvalue() == f"\nOf {printable(HOSTILE)}\n"


def test_a_table_is_never_cut(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["Name", "Key"], [[HOSTILE, "k" * 200], ["谢谢", "short"]], empty="")
    head, first, second = capsys.readouterr().out.splitlines()
    assert first == f"{printable(HOSTILE)}  {'k' * 200}"
    assert head.index("Key") == first.index("kkk") == second.index("short") + 2, "two signs of 谢谢 are four wide"
    print_json({"name": HOSTILE.replace("\ud800", "")})
    assert "\x9b" not in capsys.readouterr().out


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_no_log_line_moves_the_cursor(monkeypatch: pytest.MonkeyPatch, log_format: str) -> None:
    written = io.StringIO()
    monkeypatch.setattr(sys, "stderr", written)
    logs.configure(Settings(log_format=log_format))  # type: ignore[arg-type]
    log = structlog.get_logger()
    log.warning("seen", name="a\x9b2J\u202eb", seen=["\x1b[31m", {"x": "\x9b"}])
    try:
        raise ValueError("\x1b[31m\x9b2J")
    except ValueError:
        log.exception("failed")
    assert not set(written.getvalue()) & set("\x1b\x9b\u202e\x07")
