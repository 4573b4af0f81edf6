"""`make quick`: the unit tests, and the integration tests of what changed since main, within forty seconds.

A test belongs to a change when it lies in the folder of the slice that changed, or when it, or a helper it imports,
imports the module that changed or has changed itself. What does not fit into the time is named; `make test` runs it.
"""

import ast
import functools
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.timings import expected_s

ROOT = Path(__file__).parents[1]
MOST_S = 45.0  # one after the other; together with the unit tests on two cores in half of it
UNKNOWN_S = 3.0


def main() -> int:
    changed = changed_files()
    chosen, left_out = fitting(tests_of(changed))
    print(f"{len(changed)} changed files, {len(chosen)} files of integration tests beside the unit tests")
    for file in left_out:
        print(f"left out, it would take too long: {file}")
    sys.stdout.flush()
    words = ["-n", "auto", "-q", "-m", "not prove", *sys.argv[1:], "tests/unit", *chosen]
    return subprocess.run([sys.executable, "-m", "pytest", *words], cwd=ROOT, env=_on_a_fake_store()).returncode


def _on_a_fake_store() -> dict[str, str]:
    return {"THREADKIT_TEST_STORE": "fake", **os.environ}


def changed_files() -> list[str]:
    """Committed since the branch left main, not committed, or new."""
    names = [name for name in ("origin/main", "main") if _git("rev-parse", "--verify", "--quiet", name)]
    base = _git("merge-base", "HEAD", names[0])[0] if names else "HEAD"
    return sorted({*_git("diff", "--name-only", base), *_git("ls-files", "--others", "--exclude-standard")})


def _git(*words: str) -> list[str]:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.split() if done.returncode == 0 else []


def tests_of(changed: Iterable[str]) -> list[str]:
    """The integration tests that these changes can break."""
    changed = set(changed)
    slices = {Path(file).parts[1] for file in changed if file.startswith("threadkit/") and len(Path(file).parts) > 2}
    return [
        file
        for file in sorted(str(path.relative_to(ROOT)) for path in (ROOT / "tests/integration").rglob("test_*.py"))
        if Path(file).parts[2] in slices or not changed.isdisjoint(_stands_on(file))
    ]


def _stands_on(file: str) -> set[str]:
    """A file of tests, the helpers it imports however far, and the modules of the program that any of them names."""
    found, new = {file}, [file]
    while new:
        for imported in _imports(new.pop()):
            if imported not in found:
                found.add(imported)
                if imported.startswith("tests/"):
                    new.append(imported)
    return found


@functools.cache
def _imports(file: str) -> frozenset[str]:
    return frozenset(_files_of(ast.parse((ROOT / file).read_text(encoding="utf-8"))))


def _files_of(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        for name in names:
            for path in (f"{name.replace('.', '/')}.py", f"{name.replace('.', '/')}/__init__.py"):
                if (ROOT / path).is_file():
                    yield path


def fitting(files: list[str]) -> tuple[list[str], list[str]]:
    """As many as there is time for, the quickest first; and the others."""
    took, chosen, sum_s = expected_s("test"), [], 0.0
    for file in sorted(files, key=lambda file: took.get(file, UNKNOWN_S)):
        sum_s += took.get(file, UNKNOWN_S)
        if sum_s > MOST_S:
            break
        chosen.append(file)
    return chosen, sorted(set(files) - set(chosen))


if __name__ == "__main__":
    sys.exit(main())
