"""Passwords: argon2id, off the event loop, and never more at once than there are cores."""

import asyncio
import os
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from threadkit.errors import Invalid
from threadkit.settings import Accounts
from threadkit.users.common_passwords import is_common

T = TypeVar("T")

SHORTEST, LONGEST = 8, 256


class WeakPassword(Invalid):
    """{why}"""

    code = "weak_password"


# The cores of the passwords that people choose most; digits and signs around them do not help.
_COMMON = frozenset(
    [
        "password",
        "passwort",
        "motdepasse",
        "contraseña",
        "qwerty",
        "qwertyuiop",
        "azerty",
        "asdfgh",
        "asdfghjkl",
        "zxcvbn",
        "zxcvbnm",
        "iloveyou",
        "letmein",
        "welcome",
        "monkey",
        "dragon",
        "sunshine",
        "princess",
        "football",
        "baseball",
        "basketball",
        "superman",
        "batman",
        "trustno",
        "master",
        "admin",
        "administrator",
        "login",
        "access",
        "shadow",
        "michael",
        "jordan",
        "hunter",
        "killer",
        "pokemon",
        "charlie",
        "computer",
        "internet",
        "whatever",
        "starwars",
        "freedom",
        "secret",
        "summer",
        "winter",
        "spring",
        "autumn",
        "cheese",
        "butterfly",
        "flower",
        "hello",
        "hallo",
        "lovely",
        "jesus",
        "ninja",
        "mustang",
        "chocolate",
        "samsung",
        "google",
        "facebook",
        "liverpool",
        "chelsea",
        "arsenal",
        "barcelona",
        "juventus",
        "passw",
        "pass",
        "abc",
        "abcd",
        "abcdef",
        "abcdefg",
        "abcdefgh",
        "test",
        "testing",
        "guest",
        "changeme",
        "default",
        "root",
        "user",
        "qazwsx",
        "qwe",
        "qweasd",
        "qweasdzxc",
        "asd",
        "zxc",
        "aaa",
        "love",
        "threadkit",
        "comments",
        "comment",
        "website",
    ]
)
_SEQUENCES = (
    "01234567890123456789",
    "98765432109876543210",
    "abcdefghijklmnopqrstuvwxyz",
    "qwertzuiopasdfghjklyxcvbnm",
)
_LEET = str.maketrans("013457@$!", "oieastasi")


def check_password(password: str, *, about: tuple[str, ...] = ()) -> str:
    """The password, unless it is among the first that anybody would try."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise WeakPassword(why=f"A password has {SHORTEST} to {LONGEST} characters.")
    lower = password.lower()
    core = re.sub(r"^[\d\W_]+|[\d\W_]+$", "", lower)
    own = {part for text in about for part in re.split(r"[@.\s_-]", text.lower()) if len(part) > 3}
    whole = {lower, lower.translate(_LEET)}
    candidates = {*whole, core, core.translate(_LEET)}
    if (
        len(set(lower)) < 4
        or any(lower in sequence for sequence in _SEQUENCES)
        or re.fullmatch(r"(.{1,4})\1+", lower)
        or candidates & (_COMMON | own)
        or any(map(is_common, whole))
        or (core == "" and len(password) < 10)
    ):
        raise WeakPassword(why="This password is among the first that others would try. Choose another.")
    return password


class Passwords:
    def __init__(self, accounts: Accounts) -> None:
        self._hasher = PasswordHasher(
            time_cost=accounts.argon2_time_cost,
            memory_cost=accounts.argon2_memory_kib,
            parallelism=accounts.argon2_parallelism,
        )
        self._threads = ThreadPoolExecutor(max_workers=os.cpu_count() or 1, thread_name_prefix="argon2")
        self._nobodys_hash: str | None = None

    async def hash(self, password: str) -> str:
        return await self._in_thread(self._hasher.hash, password)

    async def verify(self, stored: str | None, password: str) -> bool:
        """Whether it is right. Takes as long for somebody who does not exist (`stored` is None)."""
        if len(password) > LONGEST:
            return False
        if stored is None:
            if self._nobodys_hash is None:
                self._nobodys_hash = await self.hash("nobody has this password")
            await self._in_thread(self._check, self._nobodys_hash, password)
            return False
        return await self._in_thread(self._check, stored, password)

    def needs_rehash(self, stored: str) -> bool:
        return self._hasher.check_needs_rehash(stored)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _check(self, stored: str, password: str) -> bool:
        try:
            return self._hasher.verify(stored, password)
        except (VerificationError, InvalidHashError):
            return False

    async def _in_thread(self, work: Callable[..., T], *arguments: str) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)
