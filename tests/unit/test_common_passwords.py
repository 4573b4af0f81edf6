"""The bundled filter of common passwords."""

import random
import string

import pytest

from threadkit.users import common_passwords
from threadkit.users.common_passwords import is_common, make
from threadkit.users.passwords import WeakPassword, check_password

OFTEN_CHOSEN = """
    1q2w3e4r5t trustno1 michelle1 sunshine1 football1 qwerty123 iloveyou2 1qaz2wsx q1w2e3r4 zaq12wsx passw0rd
    charlie1 jennifer1 metallica blink182 liverpool1 cocacola christine marlboro thunder1 mercedes
"""


@pytest.mark.parametrize("password", OFTEN_CHOSEN.split())
def test_what_many_people_choose_is_refused_whatever_its_case(password: str) -> None:
    for spelled in (password, password.upper(), password.capitalize()):
        with pytest.raises(WeakPassword, match="first that others would try"):
            check_password(spelled)


def test_what_nobody_chose_before_is_taken() -> None:
    chance = random.Random(1)
    letters = string.ascii_letters + string.digits
    for _ in range(20_000):
        check_password("".join(chance.choices(letters, k=12)))
    for phrase in (
        "correct horse battery",
        "die Katze tritt die Treppe krumm",
        "9 Lives & a Tea-Cosy",
        "яблоко под ёлкой",
    ):
        check_password(phrase)


def test_the_filter_holds_a_hundred_thousand_in_300_kb() -> None:
    bits = common_passwords._bits()
    assert len(bits) <= 300_000
    share = sum(byte.bit_count() for byte in bits) / common_passwords.BITS
    filled = 1 - (1 - 1 / common_passwords.BITS) ** (common_passwords.HASHES * 100_000)
    assert abs(share - filled) < 0.01, "as full as that number makes it"
    assert share**common_passwords.HASHES < 1e-5, "how often another password is taken for one of these"


def test_a_filter_knows_all_that_it_was_made_of(monkeypatch: pytest.MonkeyPatch) -> None:
    made = make(["some", "other", "пароль", "\ud800"])
    monkeypatch.setattr(common_passwords, "_bits", lambda: made)
    assert all(map(is_common, ["some", "other", "пароль", "\ud800"]))
    assert not is_common("none")
