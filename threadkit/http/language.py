"""In which language somebody is answered."""

from threadkit.http.request import Request
from threadkit.words import Locales, Words


def words_of(request: Request, locales: Locales) -> Words:
    return locales.words_for(request.headers.get("accept-language", ""))


def language_headers(words: Words) -> dict[str, str]:
    return {"Content-Language": words.lang, "Vary": "Accept-Language"}
