"""CommonMark as we read it: no raw HTML, bare addresses become links, `@name` is a mention, and every step is paid for."""

import re
from types import SimpleNamespace
from typing import Any

import mdurl
from markdown_it import MarkdownIt
from markdown_it.common.normalize_url import normalizeLink, normalizeLinkText
from markdown_it.helpers import parseLinkDestination, parseLinkTitle
from markdown_it.parser_block import ParserBlock
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from threadkit.text import budget as price
from threadkit.text.budget import Budget, TooComplex
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


class _Blocks(ParserBlock):
    budget = Budget(0)

    def tokenize(self, state: StateBlock, startLine: int, endLine: int) -> None:  # noqa: N803
        # The library would drop the text of deeper levels without a word.
        if state.level >= MAX_NESTING:
            raise TooComplex("nested too deeply")
        self.budget.spend(price.CONTAINER)
        super().tokenize(state, startLine, endLine)


class Parser(MarkdownIt):
    """One per thread: it carries the budget of the text it is reading."""

    def __init__(self) -> None:
        self._budget = Budget()
        self._bare_urls = 0
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
        self.linkify.set({"fuzzy_link": False, "fuzzy_email": False, "fuzzy_ip": False})  # type: ignore[union-attr]

        containers = ["paragraph", "reference", "blockquote", "list"]
        self.block.ruler.before("table", "budget", self._pay_line, {"alt": containers})
        self.inline.terminator_re = _TERMINATORS
        self.inline.ruler.at("text", self._text)
        self.inline.ruler.at("linkify", self._bare_url)
        self.inline.ruler.after("linkify", "mention", self._mention)
        self.inline.ruler2.before("balance_pairs", "budget", self._pay_tokens)
        self.helpers = SimpleNamespace(  # type: ignore[assignment]
            parseLinkLabel=self._label_end,
            parseLinkDestination=self._destination,
            parseLinkTitle=self._title,
        )

    def read(self, source: str, budget: Budget) -> list[Token]:
        self._budget = self._blocks.budget = budget
        self._bare_urls = 0
        budget.spend(len(source) * price.CHARACTER)
        return self.parse(source)

    def normalizeLink(self, url: str) -> str:  # noqa: N802
        foreign = 0 if url.isascii() else len(_NOT_ASCII.findall(_HOST.match(url)[0]))  # type: ignore[index]
        self._budget.spend(price.URL + len(url) * price.URL_CHARACTER + foreign * price.HOST_CHARACTER)
        return mdurl.encode(url) if _loses_its_host(url) else normalizeLink(url)

    def normalizeLinkText(self, link: str) -> str:  # noqa: N802
        return link if _loses_its_host(link) else normalizeLinkText(link)

    def _pay_line(self, state: StateBlock, startLine: int, endLine: int, silent: bool) -> bool:  # noqa: N803
        self._budget.spend(price.LINE)
        return False

    def _pay_tokens(self, state: StateInline) -> None:
        self._budget.spend(price.BLOCK + len(state.tokens) * price.TOKEN)

    def _text(self, state: StateInline, silent: bool) -> bool:
        """Pass over plain text. Asked first at every position, so this is where a step is paid for."""
        self._budget.spend(price.STEP)
        start = state.pos
        found = _TERMINATORS.search(state.src, start, state.posMax)
        end = found.start() if found else state.posMax
        if end == start:
            if state.src[start] in "*_~":
                self._budget.spend(price.PAIR)
            return False
        if not silent:
            state.append_pending(state.src[start:end])
        state.pos = end
        return True

    def _bare_url(self, state: StateInline, silent: bool) -> bool:
        """`https://…` and `mailto:…` in running text. The library's rule looks back over the whole text each time."""
        start = state.pos
        if silent or state.linkLevel or state.src[start] != ":" or state.src[start - 1 : start] not in _SCHEME_ENDS:
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
        url = match.raw.rstrip("*_~")
        href = self.normalizeLink(url)
        if not self.validateLink(href):
            return False
        self._bare_urls += 1
        if self._bare_urls > MAX_LINKS:
            raise TooComplex(f"more than {MAX_LINKS} links")
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
        if before.isalnum() or before in _NOT_BEFORE_MENTION or after.isalnum() or after == "@":
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
        while state.pos < state.posMax:
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
