"""A text as the learning filter reads it: words, their stems, pairs of words, and a few features.

Addresses of people and numbers are features only, never tokens: what is kept must not name anybody.
"""

import html
import re
import unicodedata
from urllib.parse import urlsplit

from msgspec import Struct

from threadkit.moderation.words import is_unspaced, normal, words_of

LONGEST_READ = 10_000
MOST_TOKENS = 600
LONGEST_TOKEN = 40
STEM = 5
LETTERS_TO_JUDGE = 10

_TAG = re.compile(r"<[^<>]{1,500}>")
_LINK_IN_TAG = re.compile(r"""\bhref\s{0,3}=\s{0,3}["']?https?://""", re.IGNORECASE)
_URL = re.compile(r"""(?:https?://|\bwww\.)[^\s<>"]+""", re.IGNORECASE)
# Written out without a scheme, and perhaps with spaces so that it is not seen. Only endings that are no usual words.
_DOMAIN = re.compile(
    r"\b[a-z0-9][a-z0-9-]{1,60}\s?\.\s?(?:com|net|org|info|biz|co|ru|tk|io|tv|ly|xyz|top|shop|online|site)\b(?:/\S*)?",
    re.IGNORECASE,
)
_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}\.[\w.-]{2,63}")
_PHONE = re.compile(r"\+?\d[\d ()./-]{7,20}\d")
# Years and prices say something; longer numbers may be somebody's.
_LONG_NUMBER = re.compile(r"\d{5,40}")


class Reading(Struct, frozen=True):
    """Distinct tokens in the order of the text, features, and what they say to people."""

    tokens: list[str]
    features: dict[str, str]

    @property
    def all(self) -> list[str]:
        return [*self.tokens, *self.features]


def read(text: str, *, is_new: bool | None = None) -> Reading:
    """`is_new` tells whether the author is new on the site; None where that is not known."""
    source = html.unescape(text[:LONGEST_READ])[:LONGEST_READ]
    links = len(_LINK_IN_TAG.findall(source))
    source = _TAG.sub(" ", source)
    has_email = _EMAIL.search(source) is not None
    source = _EMAIL.sub(" ", source)
    addresses = _URL.findall(source)
    source = _URL.sub(" ", source)
    bare = _DOMAIN.findall(source)
    source = _DOMAIN.sub(" ", source)
    features = _features(source, max(links, len(addresses)) + len(bare))
    if has_email:
        features["#email"] = "an e-mail address"
    if is_new is not None:
        features |= {"#new": "new author"} if is_new else {"#known": "known author"}
    words = [part for word in words_of(normal(_LONG_NUMBER.sub(" ", source))) for part in _pieces(word)]
    hosts = [f"host:{host}" for address in [*addresses, *bare] if (host := _host(address))]
    return Reading(_distinct(words, hosts), features)


def shown(token: str) -> str:
    """A token in words."""
    name = token.removeprefix("host:").replace("`", "")
    return f"`{name[:-1]}…`" if name.endswith("~") else f"`{name}`"


def _features(source: str, links: int) -> dict[str, str]:
    found = {f"#links:{min(links, 2)}": "no links" if not links else "1 link" if links == 1 else f"{links} links"}
    letters = list(filter(str.isalpha, source))
    if len(letters) >= LETTERS_TO_JUDGE:
        if sum(map(str.isupper, letters)) > 0.6 * len(letters):
            found["#capitals"] = "mostly capitals"
        if len({_script(char) for char in set(letters)} - {""}) > 1:
            found["#mixed"] = "mixed alphabets"
    if source.count("!") >= 3:
        found["#shouting"] = "many exclamation marks"
    if _PHONE.search(source):
        found["#phone"] = "a phone number"
    return found


def _script(char: str) -> str:
    """The alphabet of a letter that could be taken for another alphabet's."""
    name = unicodedata.name(char, "").partition(" ")[0]
    return name if name in ("LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE") else ""


def _pieces(word: str) -> list[str]:
    word = word[:LONGEST_TOKEN]
    if not is_unspaced(word) or len(word) < 3:
        return [word]
    return [word[at : at + 2] for at in range(len(word) - 1)]


def _host(address: str) -> str:
    text = "".join(address.lower().split())
    try:
        host = urlsplit(text if "://" in text else f"http://{text}").hostname or ""
    except ValueError:
        return ""
    return host.removeprefix("www.")[:LONGEST_TOKEN]


def _distinct(words: list[str], hosts: list[str]) -> list[str]:
    found = dict.fromkeys(hosts[:20])
    before = ""
    for word in words:
        found[word] = None
        if len(word) > STEM:
            found[f"{word[:STEM]}~"] = None
        if before:
            found[f"{before} {word}"] = None
        before = word
        if len(found) >= MOST_TOKENS:
            break
    return list(found)[:MOST_TOKENS]
