"""`threadkit spam`: training, testing and looking, as an owner types it."""

import json
from pathlib import Path

import pytest

from tests.integration.outbox.entries import Owner
from tests.stores import url_of
from threadkit.app import Application
from threadkit.errors import InvalidParameter
from threadkit.moderation.labelled import labelled
from threadkit.settings import Settings
from threadkit.sites.model import NewSite
from threadkit.storage.bundled import BundledStore

GOOD = [f"The roses in my garden had {number} buds after the rain of last week" for number in range(60)]
BAD = [f"Best casino bonus here https://luck{number}.example now" for number in range(60)]


@pytest.fixture
def owner(bundled: BundledStore, settings: Settings) -> Owner:
    return Owner(url_of(bundled), settings)


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.csv"
    lines = [f'"{text}",{label}' for texts, label in ((GOOD, 0), (BAD, 1)) for text in texts]
    path.write_text(
        "\ufefftext,spam\r\n" + "\r\n".join(lines) + '\r\n"two\nlines, and ""quotes""",0\r\n', encoding="utf-8"
    )
    return path


async def test_an_owner_trains_tests_and_looks(
    app: Application, new_site: NewSite, owner: Owner, rows: Path, tmp_path: Path
) -> None:
    site = ["--site", "Blog"]
    trained = await owner.reads("spam", "train", *site, str(rows))
    assert (trained["rows"], trained["learnt"]) == (121, 121)
    assert (trained["totals"]["rejected"], trained["totals"]["approved"]) == (60, 61)
    again = await owner.types("spam", "train", *site, str(rows))
    assert "0 of 121 comments were news." in again.stdout
    assert "60 rejected and 61 approved" in again.stdout

    more = tmp_path / "more.jsonl"
    others = [
        ("a casino bonus at https://b.example", "spam"),
        ("Rain in the garden", "ham"),
        ("casino bonus here now", True),
    ]
    more.write_text("\n".join(json.dumps({"content": text, "label": label}) for text, label in others) + "\n\n")
    measured = await owner.reads("spam", "test", *site, str(more))
    assert measured == {
        "precision": 1.0, "recall": 1.0, "is_ready": True,
        "held_spam": 2, "held_others": 0, "passed_spam": 0, "passed_others": 1,
    }  # fmt: skip
    text = (await owner.types("spam", "test", *site, "--first", "2", str(more))).stdout
    assert "precision 100.0%" in text
    assert "recall    100.0%" in text
    shown = (await owner.types("spam", "stats", *site, "--most", "5")).stdout
    assert "Speaks for spam" in shown
    assert "`casino" in shown or "`best" in shown
    facts = await owner.reads("spam", "stats", *site, "--most", "3")
    assert facts["is_ready"] is True
    assert facts["totals"]["rejected"] == 60, "testing teaches nothing"
    assert len(facts["for_spam"]) == 3
    assert facts["against_spam"][0]["weight"] < 0


async def test_a_filter_that_knows_too_little_says_so(
    app: Application, new_site: NewSite, owner: Owner, rows: Path
) -> None:
    await owner.types("spam", "train", "--site", "Blog", "--first", "70", str(rows))
    measured = await owner.reads("spam", "test", "--site", "Blog", str(rows))
    assert (measured["precision"], measured["recall"], measured["is_ready"]) == (None, 0.0, False)
    text = (await owner.types("spam", "test", "--site", "Blog", str(rows))).stdout
    assert "precision –" in text
    assert "50 decisions of both kinds" in text


async def test_a_word_list_comes_from_the_command_line_and_a_catastrophic_one_is_refused(
    app: Application, new_site: NewSite, owner: Owner
) -> None:
    await owner.types("site", "set", "Blog", "screening.words.hold=casino*, free money", "screening.links.others=9")
    changed = await app.services.site_queries.by_id(new_site.site.id)
    assert changed is not None
    assert list(changed.settings.screening.words.hold) == ["casino*", "free money"]
    assert changed.settings.screening.links.others == 9
    for wrong, why in (("(a+)+$", "regular expressions"), ("*", "letters"), ("*a*b*c*d*e*", "at most 4 stars")):
        result = await owner.types("site", "set", "Blog", f"screening.words.hold={wrong}")
        assert result.returncode == 1
        assert why in result.stderr
        assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("gone.csv", None, "No such file"),
        ("a.csv", b"words,label\nhello,1\n", "row 1: needs a text"),
        ("b.csv", b"text,spam\nhello,1\nhello,maybe\n", "row 2: 'maybe' is neither spam (1) nor not (0)"),
        ("c.csv", b"text,spam\nhello\n", "needs a text"),
        ("d.csv", b"text,spam\n\xff\xfe,1\n", "can't decode"),
        ("e.jsonl", b'{"text": "a", "spam": 1}\n{"text": \n', "row 1: Expecting value"),
        ("f.jsonl", b"[1, 2]\n", "must be an object"),
        ("g.jsonl", b'{"text": 5, "spam": 1}\n', "needs a text"),
        ("h.csv", b"text,spam\n" + b"x" * 1_100_000 + b",1\n", "field larger than field limit"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_read_says_what_is_wrong_and_where(
    tmp_path: Path, name: str, content: bytes | None, why: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidParameter) as caught:
        list(labelled(tmp_path / name))
    assert why in str(caught.value)
    assert str(caught.value).startswith(name)


async def test_a_wrong_file_is_one_sentence(app: Application, new_site: NewSite, owner: Owner, tmp_path: Path) -> None:
    result = await owner.types("spam", "test", "--site", "Blog", str(tmp_path / "gone.csv"))
    assert result.returncode == 1
    assert result.stderr == "Error: gone.csv: No such file or directory\n"
