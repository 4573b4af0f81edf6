"""Labelled comments from files, to train the filter with and to measure it: CSV with a head line, or JSON by line."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from threadkit.errors import InvalidParameter

MOST_BYTES = 200_000_000
MOST_ROWS = 1_000_000
LONGEST_TEXT = 100_000
TEXT_COLUMNS = ("text", "content", "comment")
LABEL_COLUMNS = ("spam", "label", "is_spam")

_SPAM = {"1", "1.0", "true", "yes", "spam", "rejected", "reject"}
_HAM = {"0", "0.0", "false", "no", "ham", "approved", "approve", "not spam"}


class Labelled(Struct, frozen=True):
    text: str
    is_spam: bool


def labelled(path: Path) -> Iterator[Labelled]:
    """The rows of a file. Raises InvalidParameter that says what is wrong and where."""
    try:
        size = path.stat().st_size
    except OSError as error:
        raise InvalidParameter(name=path.name, why=error.strerror or "cannot be read") from None
    if size > MOST_BYTES:
        raise InvalidParameter(name=path.name, why=f"is larger than {MOST_BYTES // 1_000_000} MB")
    number = 0
    try:
        for number, row in enumerate(_rows(path), start=1):
            if number > MOST_ROWS:
                raise InvalidParameter(name=path.name, why=f"has more than {MOST_ROWS:,} rows")
            yield _labelled(row)
    except (ValueError, csv.Error) as error:  # a wrong encoding is one of them
        raise InvalidParameter(name=f"{path.name}, row {max(1, number)}", why=str(error)[:200]) from None


def _rows(path: Path) -> Iterator[Any]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        if path.suffix.lower() in (".jsonl", ".ndjson", ".json"):
            while line := file.readline(10 * LONGEST_TEXT):
                if line.strip():
                    yield json.loads(line)
        else:
            csv.field_size_limit(10 * LONGEST_TEXT)
            yield from csv.DictReader(file)


def _labelled(row: Any) -> Labelled:
    if not isinstance(row, dict):
        raise ValueError("must be an object with a text and a label")
    text = next((row[name] for name in TEXT_COLUMNS if isinstance(row.get(name), str)), None)
    label = next((row[name] for name in LABEL_COLUMNS if row.get(name) is not None), None)
    if text is None or label is None:
        raise ValueError(f"needs a text ({', '.join(TEXT_COLUMNS)}) and a label ({', '.join(LABEL_COLUMNS)})")
    said = str(label).strip().lower()
    if said not in _SPAM | _HAM:
        raise ValueError(f"{said[:40]!r} is neither spam (1) nor not (0)")
    return Labelled(text[:LONGEST_TEXT], said in _SPAM)
