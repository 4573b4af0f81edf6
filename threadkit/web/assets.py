"""Files for browsers, read once and kept ready: names that change with their content, imports that follow, gzip bodies.

There is no build step. A module's imports are rewritten to the hashed names of what it imports, dependencies first, so
a file's name changes whenever anything below it does, and browsers may keep every one of them for ever. Comments stay here.
"""

import functools
import gzip
import hashlib
import importlib.resources
import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources.abc import Traversable

import msgspec

from threadkit.errors import CannotStart

FOLDER = "/embed/"
STAFF_FOLDER = "/staff/"
LOADERS = ("embed.js", "count.js")
TOKEN = b"__ASSETS__"
HASH_LENGTH = 10
# The framework names the charset of what begins with text/.
MEDIA_TYPES = {
    ".js": "text/javascript",
    ".css": "text/css",
    ".json": "application/json; charset=utf-8",
    ".svg": "image/svg+xml; charset=utf-8",
}

_HASHED = re.compile(rf"(?P<stem>.+)\.(?P<hash>[0-9a-f]{{{HASH_LENGTH}}})(?P<suffix>\.[a-z]+)")
# What is no code is matched first and left alone: types in comments name modules too.
_IMPORT = re.compile(
    r"""
      (?P<comment>//[^\n]* | /\*.*?\*/)
    | `(?:[^`\\]|\\.)*`
    | (?<=[(,=:\[!&|?{};>\n])\s*/(?![/*])(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/
    | (?P<before>(?<![\w$.])(?:import\s*\(\s*|import\s*|(?:import|export)\b[\s\w$*{},]*?\bfrom\s*)["'])
      (?P<module>\.{1,2}/[^"'\n]*)(?P<after>["'])
    | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*'
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class Asset:
    """One file, ready to be sent."""

    name: str
    body: bytes
    folder: str = FOLDER

    @functools.cached_property
    def hash(self) -> str:
        return hashlib.sha256(self.body).hexdigest()[:HASH_LENGTH]

    @functools.cached_property
    def compressed(self) -> bytes | None:
        """Made when it is first asked for: a worker that starts has better things to do."""
        compressed = gzip.compress(self.body, 9, mtime=0)
        return compressed if len(compressed) < len(self.body) else None

    @property
    def path(self) -> str:
        """Where browsers find it."""
        if self.folder == FOLDER and self.name in LOADERS:
            return f"/{self.name}"
        stem, suffix = posixpath.splitext(self.name)
        return f"{self.folder}{stem}.{self.hash}{suffix}"

    @property
    def media_type(self) -> str:
        return MEDIA_TYPES[posixpath.splitext(self.name)[1]]

    def etag(self, *, is_compressed: bool) -> str:
        """Two bodies are two things to a cache, so they have two names."""
        return f'"{self.hash}-gzip"' if is_compressed else f'"{self.hash}"'


class Assets:
    """All of them, by the names they have in their folder. They may import from a folder beside theirs."""

    def __init__(self, sources: Mapping[str, bytes], *, folder: str = FOLDER, beside: "Assets | None" = None) -> None:
        self.folder = folder
        self._beside = beside
        self._sources = sources
        self._made: dict[str, Asset] = {}
        for name in sources:
            if name not in LOADERS:
                self._make(name, ())
        self.paths = {name: asset.path for name, asset in sorted(self._made.items())}
        for name in LOADERS:
            if name in sources:
                self._make(name, ())

    def __getitem__(self, name: str) -> Asset:
        return self._made[name]

    def __contains__(self, name: str) -> bool:
        return name in self._made

    def find(self, path: str) -> tuple[Asset, bool] | None:
        """What stands under `/embed/…`, and whether the name holds this very content: a page may still have a loader
        that knows older names, or use the plain one."""
        hashed = _HASHED.fullmatch(path)
        name = hashed["stem"] + hashed["suffix"] if hashed else path
        asset = self._made.get(name)
        if asset is None or name in LOADERS:
            return None
        return asset, hashed is not None and hashed["hash"] == asset.hash

    def _make(self, name: str, importers: tuple[str, ...]) -> Asset:
        if name in self._made:
            return self._made[name]
        if name in importers:
            circle = " → ".join([*importers[importers.index(name) :], name])
            raise CannotStart(f"These files of {self.folder} import each other in a circle: {circle}")
        body = self._sources[name]
        if name.endswith(".js"):
            body = self._with_hashed_imports(name, body.decode(), (*importers, name)).encode()
        if name in LOADERS:
            body = body.replace(TOKEN, msgspec.json.encode(self._known_to(body)))
        self._made[name] = Asset(name, body, self.folder)
        return self._made[name]

    def _known_to(self, loader: bytes) -> dict[str, str]:
        """Looks and words, and of the modules those that a loader names: modules find each other by their imports."""
        return {
            name: path
            for name, path in self.paths.items()
            if name.endswith((".css", ".json")) or f'"{name}"'.encode() in loader
        }

    def _with_hashed_imports(self, name: str, source: str, importers: tuple[str, ...]) -> str:
        folder = "/" if name in LOADERS else posixpath.dirname(self.folder + name)

        def rewrite(found: re.Match[str]) -> str:
            if found["comment"] is not None:
                return " "
            if found["module"] is None:
                return found[0]
            wanted = posixpath.normpath(posixpath.join(posixpath.dirname(self.folder + name), found["module"]))
            path = posixpath.relpath(self._imported(wanted, name, importers).path, folder)
            return found["before"] + (path if path.startswith(".") else f"./{path}") + found["after"]

        return _IMPORT.sub(rewrite, source)

    def _imported(self, wanted: str, name: str, importers: tuple[str, ...]) -> Asset:
        """What stands at an address without its hash."""
        own, neighbour = wanted.removeprefix(self.folder), self._beside
        if own in self._sources:
            return self._make(own, importers)
        if neighbour and (theirs := wanted.removeprefix(neighbour.folder)) in neighbour:
            return neighbour[theirs]
        raise CannotStart(f"{name} of {self.folder} imports {wanted}, which is not there")


def read(source: Traversable, *, folder: str = FOLDER, beside: Assets | None = None) -> Assets:
    """The files of a folder and those below it; what is of no type we serve is not for browsers."""
    return Assets(dict(_files(source, "")), folder=folder, beside=beside)


@functools.cache
def packaged() -> Assets:
    """The embed's, which came with the program and do not change while it runs."""
    return read(importlib.resources.files("threadkit.web").joinpath("embed"))


@functools.cache
def packaged_staff() -> Assets:
    """Those of the pages for staff, which share parts with the embed."""
    source = importlib.resources.files("threadkit.web").joinpath("staff")
    return read(source, folder=STAFF_FOLDER, beside=packaged())


def _files(folder: Traversable, front: str) -> Iterator[tuple[str, bytes]]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _files(entry, f"{front}{entry.name}/")
        elif posixpath.splitext(entry.name)[1] in MEDIA_TYPES:
            yield front + entry.name, entry.read_bytes()
