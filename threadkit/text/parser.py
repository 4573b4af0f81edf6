"""CommonMark as we read it: no raw HTML, bare addresses become links, `@name` is a mention, and every step is paid for.

When the budget is spent, reading ends there: what was read stays, and the rest comes back as it was typed.
"""

import re
from types import SimpleNamespace
from typing import Any, NamedTuple

import mdurl
from markdown_it import MarkdownIt
from markdown_it.common.normalize_url import normalizeLink, normalizeLinkText
from markdown_it.helpers import parseLinkDestination, parseLinkTitle
from markdown_it.parser_block import ParserBlock
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline, newline
from markdown_it.token import Token
from markdown_it.utils import EnvType

from threadkit.text import budget as price
from threadkit.text.budget import BLOCKS_LEAVE, Budget
from threadkit.text.sanitiser import MAX_HOST

MAX_NESTING = 20
MAX_LINKS = 50
MAX_BARE_URL = 2048

# Only characters at which one of our rules can begin; the library's own list stops at many more.
_TERMINATORS = re.compile(r"[\n!&*:<@\[\\\]_`~]")
_SCHEME = re.compile(r"(?:^|[^a-z0-9.+-])(https?|mailto)$", re.IGNORECASE)
_SCHEME_ENDS = frozenset("oOpPsS")
_NAME_RUN = re.compile(r"[A-Za-z0-9_-]+")
_NAME = re.compile(r"(?=.{1,24}$)[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*")
# How far the library reads before it gives up on a destination: up to a space or the 33rd open bracket.
_TRIED = re.compile(r"(?:[^ \n(]*\(){0,33}[^ \n(]*")
_HOST = re.compile("[^/]*//[^/?#]*|[^/?#]*")
_NOT_ASCII = re.compile("[^\x00-\x7f]")
_NOT_BEFORE_MENTION = frozenset(".+-@/=%#&")
# Thai to Tibetan, Myanmar, Khmer, kana, Han, Hangul: a name or an address may follow a word without a space.
_WITHOUT_SPACES = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"
)
# Where an address ends in such a text. Brackets are part of it when both are.
_URL_ENDS = re.compile("[。，、；：？！…“”‘’「」『』【】《》〈〉〔〕｡､]|（[^）]*$|^[^（]*(?P<closing>）)")


class Reading(NamedTuple):
    tokens: list[Token]
    rest: str
    """What the budget was not enough for, as it was typed."""


class _Blocks(ParserBlock):
    budget = Budget(0)

    def tokenize(self, state: StateBlock, startLine: int, endLine: int) -> None:  # noqa: N803
        self.budget.spend(price.CONTAINER)
        if state.level < MAX_NESTING:
            super().tokenize(state, startLine, endLine)
            return
        # The library would drop the text of deeper levels without a word.
        state.push("paragraph_open", "p", 1)
        inline = state.push("inline", "", 0)
        inline.content = state.getLines(startLine, endLine, state.blkIndent, False).strip()
        inline.map, inline.children = [startLine, endLine], []
        state.push("paragraph_close", "p", -1)
        state.line = endLine


class _Inline(StateInline):
    """The inside of one block. `stopped` is where the budget was spent, `line` the beginning of the line before that."""

    stopped: int | None = None
    line = (0, 0)

    def stop(self) -> None:
        """Leave out the line that was begun, so that the rest is whole lines. A text of one line is cut where it is."""
        self.stopped, kept = self.line if self.line[0] else (self.pos, len(self.tokens))
        del self.tokens[kept:], self.tokens_meta[kept:]
        self.delimiters = [each for each in self.delimiters if each.token < kept]
        self.pending, self.pos = "" if self.line[0] else self.pending, self.posMax


class Parser(MarkdownIt):
    """One per thread: it carries the budget of the text it is reading."""

    def __init__(self) -> None:
        self._budget = Budget()
        self._bare_urls = 0
        self._unread_line: int | None = None
        self._rest = ""
        super().__init__()
        self.block = self._blocks = _Blocks()
        self.configure(
            "commonmark",
            options_update={"html": False, "linkify": True, "breaks": True, "maxNesting": MAX_NESTING},
        )
        self.enable(["linkify", "strikethrough"])
        self.disable(["html_block", "html_inline"])
        # Our inline rule finds all that may become a link; the library's pass over finished text would find too much.
        self.core.ruler.disable("linkify")
        self.core.ruler.at("inline", self._read_blocks)
        self.linkify.set({"fuzzy_link": False, "fuzzy_email": False, "fuzzy_ip": False})  # type: ignore[union-attr]

        containers = ["paragraph", "reference", "blockquote", "list"]
        self.block.ruler.before("table", "budget", self._pay_line, {"alt": containers})
        self.inline.terminator_re = _TERMINATORS
        self.inline.ruler.at("text", self._text)
        self.inline.ruler.at("newline", self._newline)
        self.inline.ruler.at("linkify", self._bare_url)
        self.inline.ruler.after("linkify", "mention", self._mention)
        self.inline.ruler2.before("balance_pairs", "budget", self._pay_tokens)
        self.helpers = SimpleNamespace(  # type: ignore[assignment]
            parseLinkLabel=self._label_end,
            parseLinkDestination=self._destination,
            parseLinkTitle=self._title,
        )

    def read(self, source: str, budget: Budget) -> Reading:
        self._budget = self._blocks.budget = budget
        self._bare_urls, self._unread_line, self._rest = 0, None, ""
        budget.spend(len(source) * price.CHARACTER)
        return Reading(self.parse(source), self._rest)

    def normalizeLink(self, url: str) -> str:  # noqa: N802
        foreign = 0 if url.isascii() else len(_NOT_ASCII.findall(_HOST.match(url)[0]))  # type: ignore[index]
        self._budget.spend(price.URL + len(url) * price.URL_CHARACTER + foreign * price.HOST_CHARACTER)
        return mdurl.encode(url) if _loses_its_host(url) else normalizeLink(url)

    def normalizeLinkText(self, link: str) -> str:  # noqa: N802
        return link if _loses_its_host(link) else normalizeLinkText(link)

    def _pay_line(self, state: StateBlock, startLine: int, endLine: int, silent: bool) -> bool:  # noqa: N803
        self._budget.spend(price.LINE)
        if self._budget.left > BLOCKS_LEAVE:
            return False
        if not silent:
            if self._unread_line is None:
                self._unread_line = startLine
            state.line = endLine
        return True

    def _read_blocks(self, core: StateCore) -> None:
        """Read the inside of one block after the other, until the budget is spent."""
        lines = core.src.split("\n")
        rest = [] if self._unread_line is None else lines[self._unread_line :]
        for index, token in enumerate(core.tokens):
            self._budget.spend(price.of_block(token))
            stopped = self._read_inside(token, core.env) if token.type == "inline" else None
            if self._budget.is_spent and token.map and token.nesting == 0:
                first, after = token.map
                rest = [token.content[stopped:], *lines[after:]] if stopped else lines[first:]
                core.tokens = _closed(core.tokens[: index + 1 if stopped else index])
                break
        self._rest = "\n".join(rest)

    def _read_inside(self, token: Token, env: EnvType) -> int | None:
        """Where the budget was spent."""
        inline = _Inline(token.content, self, env, [])
        self.inline.tokenize(inline)
        for finish in self.inline.ruler2.getRules(""):
            finish(inline)
        self._budget.spend(price.of_code(inline.tokens))
        token.children = inline.tokens
        return inline.stopped

    def _pay_tokens(self, state: StateInline) -> None:
        self._budget.spend(price.BLOCK + len(state.tokens) * price.TOKEN)

    def _text(self, state: StateInline, silent: bool) -> bool:
        """Pass over plain text. Asked first at every position, so this is where a step is paid for."""
        self._budget.spend(price.STEP)
        start = state.pos
        if self._budget.is_spent:
            if not silent and isinstance(state, _Inline) and state.posMax == len(state.src):
                state.stop()
                return True
            end = state.posMax
        else:
            found = _TERMINATORS.search(state.src, start, state.posMax)
            end = found.start() if found else state.posMax
        if end == start:
            self._budget.spend(price.OF_CHARACTER.get(state.src[start], 0))
            return False
        if not silent:
            state.append_pending(state.src[start:end])
        state.pos = end
        return True

    def _newline(self, state: StateInline, silent: bool) -> bool:
        is_one = newline(state, silent)
        if is_one and not silent and isinstance(state, _Inline) and state.level == 0:
            state.line = (state.pos, len(state.tokens) - 1)
        return is_one

    def _bare_url(self, state: StateInline, silent: bool) -> bool:
        """`https://…` and `mailto:…` in running text. The library's rule looks back over the whole text each time."""
        start = state.pos
        if silent or state.linkLevel or state.src[start] != ":" or state.src[start - 1 : start] not in _SCHEME_ENDS:
            return False
        if self._bare_urls == MAX_LINKS:
            return False
        scheme = _SCHEME.search(state.pending[-8:])
        if not scheme:
            return False
        length = len(scheme[1])
        window = state.src[start - length : min(start + MAX_BARE_URL, state.posMax)]
        match = self.linkify.match_at_start(window)  # type: ignore[union-attr]
        self._budget.spend(price.URL + (match.last_index if match else len(window)) * price.URL_TRIED)
        if match is None or (match.last_index == len(window) and len(window) >= MAX_BARE_URL):
            return False
        url = _without_what_follows(match.raw.rstrip("*_~"))
        href = self.normalizeLink(url)
        if not self.validateLink(href):
            return False
        self._bare_urls += 1
        state.pending = state.pending[:-length]
        state.push("link_open", "a", 1).attrs = {"href": href}
        state.push("text", "", 0).content = self.normalizeLinkText(url)
        state.push("link_close", "a", -1)
        state.pos += len(url) - length
        return True

    def _mention(self, state: StateInline, silent: bool) -> bool:
        start = state.pos
        if state.linkLevel or state.src[start] != "@":
            return False
        run = _NAME_RUN.match(state.src, start + 1, state.posMax)
        if not run:
            return False
        name = run[0].rstrip("-_")
        end = start + 1 + len(name)
        before = state.src[max(0, start - 8) : start].rstrip("_")[-1:]
        after = state.src[run.end() : min(run.end() + 1, state.posMax)]
        if _is_of_a_word(before) or before in _NOT_BEFORE_MENTION or _is_of_a_word(after) or after == "@":
            return False
        if not _NAME.fullmatch(name):
            return False
        if not silent:
            state.push("mention", "", 0).content = name
        state.pos = end
        return True

    def _label_end(self, state: StateInline, start: int, disableNested: bool = False) -> int:  # noqa: N803
        """The library's own function, with every step paid for: it is what makes brackets expensive."""
        before = state.pos
        state.pos = start + 1
        level = 1
        end = -1
        while state.pos < state.posMax and not self._budget.is_spent:
            self._budget.spend(price.SKIP)
            marker = state.src[state.pos]
            if marker == "]":
                level -= 1
                if level == 0:
                    end = state.pos
                    break
            position = state.pos
            self.inline.skipToken(state)
            if marker == "[":
                if position == state.pos - 1:
                    level += 1
                elif disableNested:
                    break
        state.pos = before
        return end

    def _destination(self, string: str, pos: int, maximum: int) -> Any:
        found = parseLinkDestination(string, pos, maximum)
        tried = _TRIED.match(string, pos, maximum)
        end = found.pos if found.ok or not tried else tried.end()
        self._budget.spend((end - pos) * price.SCAN)
        return found

    def _title(self, string: str, start: int, maximum: int, prev_state: Any = None) -> Any:
        end = string.find(string[start], start + 1, maximum) if start < maximum else start
        self._budget.spend(((end if end >= 0 else maximum) - start) * price.SCAN)
        return parseLinkTitle(string, start, maximum, prev_state)


def _loses_its_host(url: str) -> bool:
    """Whether the library would empty the host for its length, and with it the text of the link."""
    return len(url) > MAX_HOST and mdurl.parse(url, slashes_denote_host=True).hostname == ""


def _closed(tokens: list[Token]) -> list[Token]:
    """Cut-off tokens, with what is open in them closed."""
    while tokens and tokens[-1].nesting == 1:
        tokens.pop()
    is_open: list[Token] = []
    for token in tokens:
        if token.nesting == 1:
            is_open.append(token)
        elif token.nesting == -1:
            is_open.pop()
    for token in reversed(is_open):
        close = Token(token.type.replace("_open", "_close"), token.tag, -1, block=True, hidden=token.hidden)
        tokens.append(close)
    return tokens


def _without_what_follows(url: str) -> str:
    """An address in a text without spaces ends where the sentence goes on."""
    end = _URL_ENDS.search(url)
    if not end:
        return url
    return url[: end.start("closing") if end["closing"] else end.start()]


def _is_of_a_word(character: str) -> bool:
    return character.isalnum() and not _WITHOUT_SPACES.match(character)
