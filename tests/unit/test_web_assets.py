"""The embed's files: names from content, imports that follow, circles refused."""

import gzip
import json
import re
from pathlib import Path

import pytest

from threadkit.errors import CannotStart
from threadkit.web.assets import Assets, packaged, read

APP = b'import { ask } from "./api.js";\nexport const later = () => import("./auth.js");\nask();\n'
SOURCES = {
    "app.js": APP,
    "api.js": b"export const ask = () => 1;\n",
    "auth.js": b'export { ask } from "./api.js";\n',
    "locales/de.json": b"{}",
    "style.css": b":host{}",
    "icon.svg": b"<svg/>",
    "embed.js": b'const assets = __ASSETS__;\nload("app.js");\n',
}


def assets(**changed: str) -> Assets:
    return Assets(SOURCES | {f"{name}.js": source.encode() for name, source in changed.items()})


def test_a_name_holds_ten_digits_of_its_content() -> None:
    made = assets()
    assert re.fullmatch(r"/embed/app\.[0-9a-f]{10}\.js", made["app.js"].path)
    assert re.fullmatch(r"/embed/locales/de\.[0-9a-f]{10}\.json", made["locales/de.json"].path)
    assert made["embed.js"].path == "/embed.js"


def test_imports_lead_to_the_hashed_names() -> None:
    made = assets()
    body = made["app.js"].body.decode()
    assert f'from "./{Path(made["api.js"].path).name}"' in body
    assert f'import("./{Path(made["auth.js"].path).name}")' in body
    assert Path(made["api.js"].path).name in made["auth.js"].body.decode()


def test_every_import_of_a_line_leads_there() -> None:
    made = assets(app='all([import("./api.js"), import("./auth.js")]);')
    names = [Path(made[name].path).name for name in ("api.js", "auth.js")]
    assert made["app.js"].body.decode() == f'all([import("./{names[0]}"), import("./{names[1]}")]);'


def test_a_name_changes_with_everything_below_it_and_nothing_else() -> None:
    before, after = assets(), assets(api="export const ask = () => 2;\n")
    changed = {name for name in SOURCES if before[name].hash != after[name].hash}
    assert changed == {"api.js", "app.js", "auth.js", "embed.js"}


def test_the_loader_knows_looks_words_and_the_modules_that_it_names() -> None:
    made = assets()
    body = made["embed.js"].body.decode()
    known = json.loads(body.splitlines()[0].removeprefix("const assets = ").removesuffix(";"))
    assert known == {name: made[name].path for name in ("app.js", "locales/de.json", "style.css")}


def test_modules_in_folders_and_loaders_import_relatively() -> None:
    sources = {"deep/a.js": b'import "../b.js";', "b.js": b"", "embed.js": b'import("./deep/a.js");'}
    made = Assets(sources)
    assert made["deep/a.js"].body.decode() == f'import "../{Path(made["b.js"].path).name}";'
    assert made["embed.js"].body.decode() == f'import(".{made["deep/a.js"].path}");'


@pytest.mark.parametrize(
    "source",
    [
        "const text = 'import(\"./nowhere.js\")';",
        'const text = `import("./nowhere.js")`;',
        "const later = (name) => import(address(name));",
        'import { a } from "https://elsewhere.example/a.js";',
        'object.import("./nowhere.js");',
    ],
)
def test_what_is_no_import_of_ours_stays_as_it_is(source: str) -> None:
    assert assets(api=source)["api.js"].body.decode() == source


@pytest.mark.parametrize(
    ("source", "sent"),
    [
        ('/** @typedef {import("./nowhere.js").Comment} Comment */', " "),
        ('// import { a } from "./nowhere.js";', " "),
        ("const a = 1; // one\nconst b = /* two */ 2;", "const a = 1;  \nconst b =   2;"),
        ("const url = 'https://a.example/*x*/'; // it's", "const url = 'https://a.example/*x*/';  "),
        ("const found = /[/*]/.test(a) || `//${b} /* c */`;", "const found = /[/*]/.test(a) || `//${b} /* c */`;"),
    ],
)
def test_comments_are_not_sent(source: str, sent: str) -> None:
    assert assets(api=source)["api.js"].body.decode() == sent


@pytest.mark.parametrize(
    "before",
    [
        "const quotes = /[\"'`]/g;",
        "const found = text.replace(/`/g, '');",
        "const address = 'https://example.org';",
        "const nested = `a ${list.map((one) => `b ${one}`)} c`;",
        "const half = a / 2; const third = b / 3;",
    ],
)
def test_an_import_is_found_after_hard_to_read_code(before: str) -> None:
    body = assets(app=f'{before}\nimport {{\n  ask,\n}} from "./api.js";\n')["app.js"].body.decode()
    assert body.startswith(before)
    assert '"./api.js"' not in body
    commented = assets(app=f'{before} // it\'s `one\nimport {{ ask }} from "./api.js";\n')["app.js"].body.decode()
    assert commented.startswith(before)
    assert '"./api.js"' not in commented


def test_a_circle_is_refused_and_named() -> None:
    with pytest.raises(CannotStart, match=r"api\.js → auth\.js → api\.js"):
        assets(api='import "./auth.js";')


def test_an_import_of_nothing_is_refused_and_named() -> None:
    with pytest.raises(CannotStart, match=r"app\.js of /embed/ imports /embed/gone\.js"):
        assets(app='import "./gone.js";')


def test_older_and_plain_names_are_found_but_not_for_ever() -> None:
    made = assets()
    asset = made["app.js"]
    assert made.find(asset.path.removeprefix("/embed/")) == (asset, True)
    assert made.find("app.0000000000.js") == (asset, False)
    assert made.find("app.js") == (asset, False)
    for unknown in ("", "nothing.js", "embed.js", "app.0000000000.css", "../assets.py", "a" * 5000):
        assert made.find(unknown) is None


def test_what_gets_smaller_is_kept_compressed() -> None:
    asset = Assets({"long.js": b"// the same again\n" * 100})["long.js"]
    assert asset.compressed is not None
    assert gzip.decompress(asset.compressed) == asset.body
    assert Assets({"short.js": b"1"})["short.js"].compressed is None


def test_only_files_for_browsers_are_read(tmp_path: Path) -> None:
    (tmp_path / "locales").mkdir()
    for name in ("app.js", "README.md", "notes.txt", "locales/en.json"):
        (tmp_path / name).write_text("")
    assert set(read(tmp_path).paths) == {"app.js", "locales/en.json"}


def test_the_embed_that_comes_with_the_program_can_be_loaded() -> None:
    made = packaged()
    assert {"app.js", "style.css", "frame.js", "frame.css", "locales/en.json"} <= set(made.paths)
    assert b"__ASSETS__" not in made["embed.js"].body + made["count.js"].body
    for name in made.paths:
        if name.endswith(".js"):
            assert not re.search(rb'^import .*"\./[a-z_]+\.js"', made[name].body, re.MULTILINE)
