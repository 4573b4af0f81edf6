"""How much a reader downloads before the first comment shows."""

import gzip

from threadkit.web import assets

FIRST = (
    "embed.js",
    "app.js",
    "view.js",
    "thread.js",
    "api.js",
    "dom.js",
    "words.js",
    "style.css",
    "locales/en.json",
)
BUDGET = 25_000


def sizes() -> dict[str, int]:
    return {name: len(gzip.compress(assets.packaged()[name].body, 9, mtime=0)) for name in FIRST}


def test_the_first_comments_need_no_more_than_25_kb() -> None:
    assert sum(sizes().values()) <= BUDGET, sizes()


def test_no_other_module_is_needed_before_them() -> None:
    """What the first modules import at once is on the list; the rest comes with import() when it is needed."""
    for name in FIRST:
        if not name.endswith(".js"):
            continue
        for line in assets.packaged()[name].body.decode().splitlines():
            if line.startswith("import "):
                imported = line.split('"')[1].removeprefix("./").split(".")[0]
                assert f"{imported}.js" in FIRST, line
