"""Reading our HTML as a browser or a crawler would: strictly, and with another parser than the one that cleaned it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx

from threadkit.sites.model import NewSite

URL = "https://blog.example.org/post"
VOID = {"base", "br", "hr", "input", "link", "meta"}
OURS = set(
    "html head meta title base link style body header main section nav h1 h2 h3 h4 h5 h6 ol ul li article time p a "  # noqa: SIM905
    "strong span div footer form input label textarea button em s code pre blockquote br hr".split()
)


@dataclass
class Node:
    tag: str
    attrs: dict[str, str] = field(default_factory=dict)
    children: list["Node | str"] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    def walk(self) -> Iterator["Node"]:
        yield self
        for child in self.children:
            if isinstance(child, Node):
                yield from child.walk()

    def all(self, tag: str, **attrs: str) -> list["Node"]:
        """`class_` asks for one of the classes."""
        wanted = {name.rstrip("_"): value for name, value in attrs.items()}
        return [
            node
            for node in self.walk()
            if node.tag == tag
            and all(
                value in node.attrs.get(name, "").split() if name == "class" else node.attrs.get(name) == value
                for name, value in wanted.items()
            )
        ]

    def one(self, tag: str, **attrs: str) -> "Node":
        found = self.all(tag, **attrs)
        assert len(found) == 1, f"{len(found)} × <{tag} {attrs}>"
        return found[0]


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = Node("")
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in OURS, tag
        assert len({name for name, _ in attrs}) == len(attrs), f"an attribute twice: {attrs}"
        for name, _ in attrs:
            assert not name.startswith("on"), name
            assert name not in ("style", "srcdoc", "src", "formaction"), name
        node = Node(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        raise AssertionError(f"<{tag}/>")

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> ends <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data!r}")

    handle_pi = unknown_decl = handle_comment


def parsed(html: str) -> Node:
    """The tree, after checking what holds for all of our HTML."""
    builder = _Builder()
    builder.feed(html)
    builder.close()
    assert builder.open == [builder.root], "something was left open"
    ids = [node.attrs["id"] for node in builder.root.walk() if "id" in node.attrs]
    assert len(ids) == len(set(ids)), "an id twice"
    for node in builder.root.walk():
        for name in ("href", "action"):
            if name in node.attrs:
                assert urlsplit(node.attrs[name]).scheme in ("", "http", "https", "mailto"), node.attrs[name]
        for name in ("for", "aria-labelledby", "aria-describedby"):
            for wanted in node.attrs.get(name, "").split():
                assert wanted in ids, f"{name}={wanted} leads nowhere"
    return builder.root


def items(node: Node, prop: str | None = None) -> list[dict[str, Any]]:
    """Microdata: the items of a property below a node that belong to the node itself."""
    found: list[dict[str, Any]] = []
    waiting = [child for child in node.children if isinstance(child, Node)]
    while waiting:
        child = waiting.pop(0)
        if "itemscope" in child.attrs:
            if prop is None or child.attrs.get("itemprop") == prop:
                found.append(item(child))
            continue
        waiting = [inner for inner in child.children if isinstance(inner, Node)] + waiting
    return found


def item(scope: Node) -> dict[str, Any]:
    """One item with its properties; a property that is an item is a list."""
    result: dict[str, Any] = {"@type": scope.attrs["itemtype"].removeprefix("https://schema.org/")}
    waiting = [child for child in scope.children if isinstance(child, Node)]
    while waiting:
        child = waiting.pop(0)
        prop = child.attrs.get("itemprop")
        if "itemscope" in child.attrs:
            if prop:
                result.setdefault(prop, []).append(item(child))
            continue
        if prop:
            named = child.attrs.get("content") or child.attrs.get("datetime") or child.attrs.get("href")
            result[prop] = named if named is not None else child.text.strip()
        waiting = [inner for inner in child.children if isinstance(inner, Node)] + waiting
    return result


class Browser:
    """Somebody without JavaScript: follows links and sends forms, with what a browser sends along."""

    def __init__(self, http: httpx.AsyncClient, site: NewSite) -> None:
        self.http = http
        self.key = site.site.api_key_public
        self.url = ""
        self.answer = httpx.Response(0)

    async def open(self, *, status: int = 200, **params: str) -> Node:
        given = {"key": self.key, "page_url": URL} | params
        return await self.go(str(httpx.URL("/v1/render", params={n: v for n, v in given.items() if v})), status=status)

    async def go(self, address: str, *, status: int = 200) -> Node:
        self.url = urljoin(self.url or "http://comments.test/", address)
        self.answer = await self.http.get(self.url, headers={"accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
        return self._page(status)

    async def send(self, page: Node, *, status: int = 200, origin: str = "http://comments.test", **values: str) -> Node:
        """Fill in the form of a page and press the button."""
        form = page.one("form")
        fields = {node.attrs["name"]: node.attrs.get("value", "") for node in form.all("input")}
        # A browser drops one line break after <textarea>.
        fields |= {node.attrs["name"]: node.text.removeprefix("\n") for node in form.all("textarea")}
        assert set(values) <= set(fields)
        self.url = urljoin(self.url, form.attrs["action"])
        headers = {"accept": "text/html"} | ({"origin": origin} if origin else {})
        self.answer = await self.http.post(self.url, data=fields | values, headers=headers)
        if self.answer.status_code == 303:
            return await self.go(self.answer.headers["location"], status=status)
        return self._page(status)

    def _page(self, status: int) -> Node:
        assert self.answer.status_code == status, self.answer.text
        assert self.answer.headers["content-type"] == "text/html; charset=utf-8"
        return parsed(self.answer.text)


def authors(page: Node) -> list[str]:
    """Whose comments a page shows, from top to bottom."""
    return [node.text for node in page.all("h3", class_="tk-author")]
