"""Markdown to safe HTML, within a budget."""

import re
import threading
from collections.abc import Iterator, Mapping, Sequence

from markdown_it.common.utils import unescapeAll
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from msgspec import Struct

from threadkit.ids import is_uuid
from threadkit.text.budget import Budget, TooComplex
from threadkit.text.hygiene import drop_unwanted
from threadkit.text.parser import MAX_LINKS, MAX_NESTING, Parser
from threadkit.text.sanitiser import is_language_class, is_outside_link, sanitize, sanitize_plain

RENDER_VERSION = 2
"""Stored beside the HTML; raise it when the same source would give other HTML, and `threadkit rerender` does the rest."""

MAX_MENTIONS = 10

_PERHAPS_MENTION = re.compile("@[A-Za-z0-9]")
_BLANK_LINES = re.compile(r"\n[ \t]*\n\s*?(?=[^\n]|$)")
_SURROGATES = re.compile("[\ud800-\udfff]")


class Rendered(Struct, frozen=True):
    html: str
    text: str
    """What is left without markup, for excerpts and for judging whether anything can be seen."""
    mentioned: list[str]
    """Names in lower case, each once, in order; those not in `mentions` are still to be resolved."""
    links: int


def render(source: str, *, mentions: Mapping[str, str] | None = None) -> Rendered:
    """Safe HTML for Markdown source. `mentions` gives user ids for names in lower case.

    HTML is at most 4 × the source in bytes + 2 kB, with at most 50 links. What would take too long is shown as it was
    typed. TooComplex is raised when even so the HTML would be too long, as for thousands of `&`.
    """
    source = _SURROGATES.sub("\ufffd", source)
    tokens, rest = _parser().read(source, Budget())
    page = _Page(mentions or {})
    page.shape(tokens)

    limit = 4 * len(source.encode()) + 2048
    html = _writer.render(tokens, _parser().options, {})
    plain = _plain(rest)
    if len(html.encode()) + len(plain.encode()) > limit:
        page, html, plain = _Page({}), "", _plain(source)
        rest = source
        if len(plain.encode()) > limit:
            raise TooComplex
    html = sanitize(html) + sanitize_plain(plain)
    text = f"{page.text}\n{rest}".strip()
    return Rendered(html=html, text=text, mentioned=page.mentioned, links=page.links)


def find_mentions(source: str) -> list[str]:
    """Who is mentioned, in lower case, each once, in order, ten at most."""
    if not _PERHAPS_MENTION.search(source):
        return []
    page = _Page({})
    page.shape(_parser().read(source, Budget()).tokens)
    return page.mentioned


def warm_up() -> None:
    """Compile what would otherwise slow down the first comment, and let both sanitisers show that they work."""
    render("**a** `b` http://example.org mailto:a@example.org [c](https://example.org)")


class _Page:
    """One text on its way from tokens to HTML: decides what becomes of links, images and mentions."""

    def __init__(self, mentions: Mapping[str, str]) -> None:
        self._user_ids = {name: user_id for name, user_id in mentions.items() if is_uuid(user_id)}
        self._parts: list[str] = []
        self.mentioned: list[str] = []
        self.links = 0

    @property
    def text(self) -> str:
        return "".join(self._parts).strip()

    def shape(self, tokens: list[Token]) -> None:
        for token in tokens:
            if token.type == "inline":
                token.children = list(self._shape_inline(token.children or []))
                self._parts.append("\n")
            elif token.type in ("fence", "code_block"):
                self._parts.append(token.content)

    def _shape_inline(self, tokens: list[Token]) -> Iterator[Token]:
        is_open: list[bool] = []
        in_link = False
        for token in tokens:
            if token.nesting == 1:
                # Deeper emphasis is nobody's meaning, but browsers and sanitisers would have to carry it.
                keep = len(is_open) < MAX_NESTING
                if token.type == "link_open":
                    keep = in_link = keep and self._is_counted(str(token.attrs.get("href", "")))
                is_open.append(keep)
                if keep:
                    yield token
            elif token.nesting == -1:
                if token.type == "link_close":
                    in_link = False
                if is_open.pop():
                    yield token
            elif token.type == "image":
                yield from self._image(token, in_link=in_link)
            elif token.type == "mention":
                yield self._mention(token)
            else:
                self._parts.append("\n" if token.type.endswith("break") else token.content)
                yield token

    def _is_counted(self, href: str) -> bool:
        is_one = is_outside_link(href) and self.links < MAX_LINKS
        self.links += is_one
        return is_one

    def _image(self, token: Token, *, in_link: bool) -> Iterator[Token]:
        """A link in its place: showing it would tell a stranger's server who reads this page."""
        source = str(token.attrs.get("src", ""))
        words = Token("text", "", 0, content=_words(token.children or []) or source)
        self._parts.append(words.content)
        if in_link or not self._is_counted(source):
            yield words
            return
        title = {"title": token.attrs["title"]} if "title" in token.attrs else {}
        yield Token("link_open", "a", 1, attrs={"href": source, **title})
        yield words
        yield Token("link_close", "a", -1)

    def _mention(self, token: Token) -> Token:
        name = token.content.lower()
        if name not in self.mentioned and len(self.mentioned) < MAX_MENTIONS:
            self.mentioned.append(name)
        self._parts.append(f"@{token.content}")
        token.meta["user_id"] = self._user_ids.get(name) if name in self.mentioned else None
        return token


class _Writer(RendererHTML):
    """The library's HTML without the entities and line ends that nobody needs: the sanitiser pays dearly for each."""

    def renderToken(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:  # noqa: N802
        token = tokens[idx]
        if token.hidden:
            return ""
        return f"</{token.tag}>" if token.nesting == -1 else f"<{token.tag}{self.renderAttrs(token)}>"

    def softbreak(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return "<br>"

    hardbreak = softbreak

    def text(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return _escape(tokens[idx].content)

    def code_inline(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return f"<code>{_escape(tokens[idx].content)}</code>"

    def code_block(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return f"<pre><code>{_escape(tokens[idx].content)}</code></pre>"

    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        words = unescapeAll(tokens[idx].info).split()
        language = f"language-{words[0]}" if words else ""
        opening = f'<code class="{language}">' if is_language_class(language) else "<code>"
        return f"<pre>{opening}{_escape(tokens[idx].content)}</code></pre>"

    def mention(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        token = tokens[idx]
        user_id = token.meta.get("user_id")
        return f'<span data-user="{user_id}">@{token.content}</span>' if user_id else f"@{token.content}"


_writer = _Writer()
_local = threading.local()


def _parser() -> Parser:
    parser: Parser | None = getattr(_local, "parser", None)
    if parser is None:
        parser = _local.parser = Parser()
    return parser


def _escape(text: str) -> str:
    return drop_unwanted(text).replace("&", "&amp;").replace("<", "&lt;")


def _plain(text: str) -> str:
    """Text as it was typed: its paragraphs and its lines."""
    paragraphs = [part.strip("\n") for part in _BLANK_LINES.split(text)]
    return "".join(f"<p>{_escape(part).replace(chr(10), '<br>')}</p>" for part in paragraphs if part)


def _words(tokens: list[Token]) -> str:
    parts = []
    for token in tokens:
        match token.type:
            case "image":
                parts.append(_words(token.children or []))
            case "mention":
                parts.append(f"@{token.content}")
            case "softbreak" | "hardbreak":
                parts.append(" ")
            case _:
                parts.append(token.content)
    return "".join(parts)
