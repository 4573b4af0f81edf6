"""Names that are not what they seem: reserved words, look-alikes, characters nobody sees. In all scripts; no I/O but data.

`why_unfit` says what is wrong with a name by itself, `is_reserved` whether it is a word for those who run a site, and two
names with one `look_alike_key` look the same to people (UTS 39, "confusable"), whatever they are made of.
"""

import functools
import re
import unicodedata
from collections.abc import Iterable
from importlib import resources

from threadkit.text.hygiene import BLANK_LETTERS, is_visible

MOST_MARKS = 2
MOST_ROUNDS = 5  # until what is capital, small or composed changes nothing more
# Scripts that need more on a letter, such as Greek with its breathings and Hebrew and Arabic with their vowels.
_MOST_MARKS_IN = {
    "GREEK": 3,
    "HEBREW": 3,
    "ARABIC": 3,
    "SYRIAC": 3,
    "TIBETAN": 4,
    "THAI": 3,
    "LAO": 3,
    "MYANMAR": 4,
    "KHMER": 4,
}
# Their letters look alike, and no language mixes them in a word.
_APART = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "GEORGIAN"})
# The joiners change how letters of these are written; elsewhere they only make two names differ unseen.
_JOINED = frozenset(
    {"ARABIC", "SYRIAC", "MONGOLIAN", "DEVANAGARI", "BENGALI", "GURMUKHI", "GUJARATI", "ORIYA", "TAMIL", "TELUGU"}
    | {"KANNADA", "MALAYALAM", "SINHALA", "KHMER", "MYANMAR"}
)
_JOINERS = "\u200c\u200d"
# Category by category; what a newer Unicode than Python's has may be a letter.
_UNSEEN = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})
# Default ignorable, though letters or marks by category.
_IGNORABLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]"
)

# Anywhere in a name, as a word.
_STAFF = """
    admin admins administrator administrators moderator moderators moderation administrador administratrice administrateur
    amministratore administradora moderador moderadora moderateur moderatrice moderatore админ администратор модератор
    管理员 管理員 管理者 版主 站长 站長 モデレーター مدير مشرف
"""
# Only as the whole name.
_WHOLE = """
    owner owners siteowner mod mods staff team support official system root superuser sysadmin webmaster postmaster
    hostmaster security helpdesk threadkit deleted removed erased
    betreiber inhaber propietario proprietaire proprietario geloescht gelöscht eliminado supprime eliminato excluido
    удалено владелец 削除済み 已删除 オーナー محذوف المالك null undefined
"""
# As guests call themselves, and so no member.
_NOBODY = """
    guest anonymous anonym anonyme anonimo nobody gast invité invitado ospite convidado visitante гость аноним ゲスト
    匿名 访客 游客 ضيف مجهول
"""
_AS_LETTERS = str.maketrans("i3457@$", "leastas")
_WORDS = re.compile(r"[^\W_]+")
_NUMBERS_AROUND = re.compile(r"^[\W_]*\d{0,4}[\W_]*|[\W_]*\d{0,4}[\W_]*$")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_EAST_ASIAN = re.compile("[\u3040-\u30ff\u3400-\u9fff]")


def tidy_name(name: str) -> str:
    """Composed, and with one plain space wherever there is any."""
    return " ".join(unicodedata.normalize("NFC", name).split())


def why_unfit(name: str) -> str | None:
    """What is wrong with it in anybody's eyes, as the end of a sentence that begins with "Name"; None for nothing."""
    if not is_visible(name):
        return "must have a character that can be seen"
    if any(character in BLANK_LETTERS or _is_unseen(name, place) for place, character in enumerate(name)):
        return "must not have characters that cannot be seen"
    if _has_towers(name):
        return "must not have more accents than its letters need"
    if any(len(_scripts(word) & _APART) > 1 for word in _WORDS.findall(unicodedata.normalize("NFKC", name))):
        return "must not mix letters of different alphabets in one word"
    return None


def is_reserved(name: str, *, also: Iterable[str] = (), for_guest: bool = False) -> bool:
    """Whether it is a word for those who run a site or for nobody at all, or one of `also`, however it is written. Guests
    may be called what guests are called."""
    staff, others, nobody = (_plain_words(words) for words in (_STAFF, _WHOLE, _NOBODY))
    if _plain(name) & (staff | others | frozenset[str]().union(*map(_plain, also))):
        return True
    if not for_guest and _plain(name) & nobody:
        return True
    if any(word in whole for whole in _plain(name) for word in staff if _EAST_ASIAN.search(word)):
        return True
    words = _WORDS.findall(_HUMP.sub(" ", unicodedata.normalize("NFKC", name)))
    # `moderator-8f3a21c0` is nobody's title; whoever makes names by program may do it so.
    is_numbered = any(len(word) > 4 and any(map(str.isdigit, word)) and not _plain(word) & staff for word in words)
    return not is_numbered and any(_plain(word) & staff for word in words)


def look_alike_key(name: str) -> str:
    """Equal for names that look alike: the skeleton of UTS 39, whatever the case."""
    key = unicodedata.normalize("NFKC", name)
    for _ in range(MOST_ROUNDS):
        before, key = key, _skeleton(_skeleton(key).casefold())
        if key == before:
            break
    return key


def _skeleton(text: str) -> str:
    """UTS 39, 4: decomposed, without what is not seen, each character replaced by the one it stands for."""
    prototypes = _prototypes()
    seen = _IGNORABLE.sub("", unicodedata.normalize("NFD", text))
    kept = [prototypes.get(character, character) for character in seen if unicodedata.category(character) != "Cf"]
    return unicodedata.normalize("NFD", "".join(kept))


def _plain(text: str) -> frozenset[str]:
    """Letters alone, without accents, and digits and signs that stand for letters as those: the whole of it, and without
    the numbers around it, each as it looks in capitals and in small letters."""
    whole = unicodedata.normalize("NFKC", text)
    forms = [form for one in (whole, _NUMBERS_AROUND.sub("", whole)) for form in (one, one.casefold())]
    keys = (look_alike_key(form).translate(_AS_LETTERS) for form in forms)
    return frozenset("".join(letter for letter in key if letter.isalnum()) for key in keys) - {""}


def _is_unseen(name: str, place: int) -> bool:
    character = name[place]
    if character in _JOINERS:
        around = name[place - 1 : place] + name[place + 1 : place + 2]
        return len(around) < 2 or not (
            all(_script(one) in _JOINED for one in around) or all(unicodedata.category(one) == "So" for one in around)
        )
    if character == "\ufe0f":  # asks for the coloured form of the sign before it
        return place == 0 or unicodedata.category(name[place - 1]) not in ("So", "Sm", "Po")
    return unicodedata.category(character) in _UNSEEN or _IGNORABLE.match(character) is not None


def _has_towers(name: str) -> bool:
    marks, last, most = 0, "", MOST_MARKS
    for character in unicodedata.normalize("NFD", name):
        if unicodedata.category(character) in ("Mn", "Me"):
            marks += 1
            if marks > most or character == last:
                return True
            last = character
        elif character not in _JOINERS:
            marks, last, most = 0, "", _MOST_MARKS_IN.get(_script(character), MOST_MARKS)
    return False


def _scripts(text: str) -> set[str]:
    return {_script(character) for character in text if character.isalpha()}


@functools.lru_cache(maxsize=2048)
def _script(character: str) -> str:
    """By the first word of its name in Unicode, which is the script for letters and marks of all scripts asked for here."""
    return unicodedata.name(character, "").partition(" ")[0]


@functools.cache
def _plain_words(words: str) -> frozenset[str]:
    return frozenset[str]().union(*map(_plain, words.split()))


@functools.cache
def _prototypes() -> dict[str, str]:
    """What each character that looks like others stands for."""
    lines = resources.files("threadkit.text").joinpath("confusables.txt").read_text(encoding="utf-8").splitlines()
    pairs = (line.split("\t") for line in lines if line and not line.startswith("#"))
    return {character: prototype for prototype, characters in pairs for character in characters}
