"""Names that are not what they seem, in all scripts."""

import unicodedata

import pytest

from threadkit.text.names import is_reserved, look_alike_key, tidy_name, why_unfit

CYRILLIC_PAUL = "pаul"


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("paul", CYRILLIC_PAUL),
        ("Paul", "PauI"),
        ("paul", "pau1"),
        ("modern", "rnodern"),
        ("Bob", "B0B"),
        ("Ада", "Aдa"),
        ("paul", "pa\u200bul"),
        ("paul", "pa\u00adu\u034fl"),
        ("paul", "ｐａｕｌ"),
        ("paul", "𝓹𝓪𝓾𝓵"),
        ("paul", "ΡΑUL"),
        ("josé", "jose\u0301"),
    ],
)
def test_names_that_look_alike_have_one_key(name: str, other: str) -> None:
    assert look_alike_key(name) == look_alike_key(other)


@pytest.mark.parametrize(
    ("name", "other"), [("paul", "pavel"), ("josé", "jose"), ("ada", "adah"), ("李雷", "李蕾"), ("Анна", "Инна")]
)
def test_names_that_differ_to_the_eye_have_keys_of_their_own(name: str, other: str) -> None:
    assert look_alike_key(name) != look_alike_key(other)


def test_a_key_is_that_of_itself_whatever_the_letter() -> None:
    for code in range(0x21, 0x30000):
        letter = chr(code)
        if unicodedata.category(letter)[0] in "LN":
            assert look_alike_key(look_alike_key(letter)) == look_alike_key(letter), hex(code)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "admin",
            "ADMIN",
            "Administrator",
            "moderator",
            "Moderators",
            "owner",
            "deleted",
            "[deleted]",
            "mod",
            "staff",
        ),
        *("аdmin", "adm1n", "4dmin", "@dmin", "m0derat0r", "rnoderator", "𝐀𝐝𝐦𝐢𝐧", "ａｄｍｉｎ", "Ádmîn", "ad\u200bmin"),
        *("admin2", "_admin_", "the-admin", "Site Admin", "SiteAdmin", "moderator-paul", "a.d.m.i.n", "Ad Min"),
        *("админ", "Модератор", "管理员", "管理员小王", "gelöscht", "Удалено", "مدير", "モデレーター"),
    ],
)
def test_words_for_those_who_run_a_site_are_reserved_however_they_are_written(name: str) -> None:
    assert is_reserved(name)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "badminton",
            "modesty",
            "homeowner",
            "Maddy Minister",
            "Adminah",
            "Ada",
            "Teamo",
            "Rootbert",
            "Эдмин",
            "李明",
        ),
        *("Admiral", "moderno", "Owen", "Guesthouse", "moderator-8f3a21c0", "owner-20391827", "Łukasz", "नमस्ते", ""),
    ],
)
def test_names_that_only_contain_such_a_word_are_free(name: str) -> None:
    assert not is_reserved(name)


def test_guests_are_called_what_guests_are_called_and_members_are_not() -> None:
    for name in ("Guest", "anonymous", "Nobody", "Gast", "匿名", "gu3st"):
        assert is_reserved(name)
        assert not is_reserved(name, for_guest=True)
    assert is_reserved("admin", for_guest=True)


def test_a_sites_own_name_is_reserved_on_it() -> None:
    site = ("The Daily Bugle", "bugle.example.org")
    for name in ("thedailybugle", "The-Daily-Bugle", "Thе Dаily Buglе", "bugle.example.org", "TheDai1yBugle"):
        assert is_reserved(name, also=site)
    assert not is_reserved("bugler", also=site)
    assert not is_reserved("ada", also=("", "—"))


@pytest.mark.parametrize(
    "name",
    [
        *(
            "Ada",
            "O'Neill",
            "Łukasz",
            "Nguyễn Thị Ánh",
            "Ὀδυσσεύς",
            "Вася",
            "Ada Вася",
            "שָׁלוֹם",
            "مُحَمَّد",
            "می\u200cخواهم",
        ),
        *("नमस्ते दुनिया", "ગુજરાતી", "தமிழ்", "ภาษาไทย", "ཀྵྲ", "한국어", "日本語カナ", "李雷", "ქართული", "አማርኛ"),
        *("👩\u200d💻 Ada", "❤\ufe0f Ada", "R2-D2", "7"),
    ],
)
def test_names_of_all_scripts_are_fit(name: str) -> None:
    assert why_unfit(tidy_name(name)) is None


@pytest.mark.parametrize(
    ("name", "why"),
    [
        *(
            (blank, "can be seen")
            for blank in ("", " ", "\u3164", "\u115f\u1160", "\u2800", "\u200b", "\u0301", "\ufe0f")
        ),
        *(
            (f"ad{hidden}a", "cannot be seen")
            for hidden in "\u200b\u200d\u200e\u202e\u2066\u00ad\u034f\u2060\ufeff\u3164\ufe0f\u0000\u007f\ue000\U000e0041"
        ),
        ("a\u0301\u0302\u0303da", "accents"),
        ("a\u0336\u0336da", "accents"),
        ("Z\u0337\u0322\u031ba\u0338\u031b", "accents"),
        (CYRILLIC_PAUL, "alphabets"),
        ("Αdmin", "alphabets"),
    ],
)
def test_what_nobody_can_read_is_unfit(name: str, why: str) -> None:
    assert why in (why_unfit(name) or "")


def test_the_data_is_small_and_made_of_one_character_each() -> None:
    """What `python -m tests.lists confusables` writes; the skeleton replaces character by character."""
    from threadkit.text.names import _prototypes

    assert len(_prototypes()) > 2000
    assert all(len(character) == 1 for character in _prototypes())
