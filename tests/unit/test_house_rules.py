"""Rules of the house that a program can check."""

import ast
import importlib
import pkgutil
import re
from pathlib import Path
from typing import Any

import pytest

import threadkit
from threadkit import errors
from threadkit.storage.lua import LuaScript

PACKAGE = Path(threadkit.__file__).parent
MODULES = [
    module.name for module in pkgutil.walk_packages([str(PACKAGE)], "threadkit.") if "__main__" not in module.name
]


def all_subclasses(kind: type[Any]) -> set[type[Any]]:
    children: list[type[Any]] = kind.__subclasses__()
    return {kind}.union(*(all_subclasses(child) for child in children))


def imported_by(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}


def test_every_module_says_what_it_is_for() -> None:
    silent = [name for name in MODULES if not importlib.import_module(name).__doc__]
    assert silent == []


def test_error_codes_are_unique() -> None:
    for name in MODULES:
        importlib.import_module(name)
    kinds = all_subclasses(errors.ThreadKitError)
    codes = [kind.code for kind in kinds]
    assert len(codes) == len(set(codes))


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path: Path) -> None:
    """routes → service → scripts, queries → storage; what is pure does no I/O."""
    forbidden = {
        "model.py": ("litestar", "redis", ".routes", ".service", ".queries", ".scripts", "threadkit.storage"),
        "scoring.py": ("litestar", "redis", "threadkit.storage"),
        "text.py": ("litestar", "redis", "threadkit.storage"),
        "scripts.py": ("litestar", ".routes", ".service"),
        "queries.py": ("litestar", ".routes", ".service"),
        "service.py": ("litestar", ".routes"),
    }.get(path.name, ())
    if path.parent.name == "storage":
        forbidden = ("litestar", ".routes", ".service")
    wrong = [module for module in imported_by(path) if any(word in module for word in forbidden)]
    assert wrong == []


def scripts() -> list[type[LuaScript]]:
    for name in MODULES:
        importlib.import_module(name)
    return sorted((kind for kind in all_subclasses(LuaScript) if hasattr(kind, "file")), key=lambda kind: kind.__name__)


@pytest.mark.parametrize("script", scripts(), ids=lambda script: script.__name__)
def test_a_script_and_its_wrapper_share_a_name_and_its_header_names_all_it_takes(script: type[LuaScript]) -> None:
    snake = re.sub(r"(?<!^)(?=[A-Z])", "_", script.__name__).lower()
    assert script.file == f"{snake}.lua"
    source = script.source()
    header, body = source.split("\n\n", 1)
    assert header.startswith("-- "), "a script opens with what it does"
    assert "Returns" in header
    for kind in ("KEYS", "ARGV"):
        used = {int(number) for number in re.findall(rf"{kind}\[(\d+)\]", body)}
        named = {int(number) for number in re.findall(rf"^-- {kind}\[(\d+)\]", header, re.MULTILINE)}
        assert used <= named, f"{kind} {used - named} are used but not explained"


def test_every_lua_file_has_a_wrapper() -> None:
    files = {path.name for path in PACKAGE.rglob("*.lua")}
    shared = {name for script in scripts() for name in script.uses}
    assert files == {script.file for script in scripts()} | shared
