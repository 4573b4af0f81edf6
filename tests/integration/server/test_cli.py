"""The command line: what owners type, and what scripts read."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.folders import quick_folder
from tests.integration.server.program import command, environment, program, run


@pytest.fixture(scope="module")
def data() -> Iterator[str]:
    with quick_folder() as folder:
        yield folder


def json_of(*words: str) -> object:
    result = run(*words, "--json")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_the_life_of_a_site_without_a_server(data: str) -> None:
    site = json_of("site", "create", "Blog", "Blog.Example.org", "moderation_mode=pre", "--data", data)
    assert isinstance(site, dict)
    assert site["domain"] == "blog.example.org"
    assert site["settings"]["moderation_mode"] == "pre"
    assert site["api_key_secret"].startswith("tk_sec_")

    shown = json_of(
        "site", "set", "Blog", "allowed_origins=a.example,*.b.example", "auth.anonymous=yes", "--data", data
    )
    assert isinstance(shown, dict)
    assert shown["settings"]["allowed_origins"] == ["a.example", "*.b.example"]
    assert "api_key_secret" not in shown

    rotated = json_of("key", "rotate", site["id"], "secret", "--data", data)
    assert isinstance(rotated, dict)
    assert rotated["api_key_secret"] != site["api_key_secret"]
    public = json_of("key", "rotate", site["id"], "public", "--data", data)
    assert isinstance(public, dict)
    assert public["api_key_public"] != site["api_key_public"]


@pytest.mark.parametrize(
    "words",
    [
        ["site", "delete", "Twin", "--yes"],
        ["site", "delete", "twin.example", "--yes"],
        ["key", "rotate", "Twin", "secret"],
    ],
)
def test_a_name_that_several_sites_share_is_refused_with_their_ids(data: str, words: list[str]) -> None:
    there = json_of("site", "list", "--data", data)
    twins = [site for site in there if site["name"] == "Twin"]  # type: ignore[attr-defined]
    for domain in ("twin.example", "other.example", "twin.example")[len(twins) :]:
        twins.append(json_of("site", "create", "Twin" if len(twins) < 2 else "Third", domain, "--data", data))
    before = json_of("site", "list", "--data", data)
    refusal = run(*words, "--data", data)
    assert refusal.returncode == 1
    assert "say which one by its id" in refusal.stderr
    assert twins[0]["id"] in refusal.stderr
    assert json_of("site", "list", "--data", data) == before


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["site", "create", "X", "not a host"], "is not a host name such as blog.example.org"),
        (["site", "create", "", "x.example"], "must have 1 to 100 printable characters"),
        (["site", "create", "X", "x.example", "colour=red"], "colour"),
        (["site", "set", "nope", "name=x"], "There is no site 'nope'."),
        (["role", "list", "nope"], "There is no site 'nope'."),
    ],
)
def test_a_wrong_word_is_one_sentence_and_exit_1(data: str, words: list[str], sentence: str) -> None:
    result = run(*words, "--data", data)
    assert result.returncode == 1
    assert result.stderr.startswith("Error: ")
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr


def test_settings_are_shown_with_their_source_and_without_secrets(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("port = 9000\n")
    env = environment(THREADKIT_SECRET="a secret that is long enough to be one")
    result = run("config", "show", "--config", str(file), "--json", env=env)
    shown = json.loads(result.stdout)
    assert shown["port"] == {"value": 9000, "source": "settings.toml"}
    assert shown["secret"] == {"value": "(hidden)", "source": "THREADKIT_SECRET"}
    assert "long enough" not in result.stdout
    assert run("config", "check", "--config", str(file)).stdout == "The settings are fine.\n"


def test_the_schema_and_the_versions_can_be_printed() -> None:
    schema = json_of("keys")
    assert isinstance(schema, list)
    assert {"key", "type", "ttl_s", "writers", "meaning"} == set(schema[0])
    versions = json_of("version")
    assert isinstance(versions, dict)
    assert versions["store"].startswith("valkey")
    parts = json.loads(run("version", "--sbom").stdout)
    assert {"litestar", "redis"} < {part["name"] for part in parts["components"]}


def test_no_server_starts_on_parts_with_known_holes(tmp_path: Path) -> None:
    old = tmp_path / "packages" / "h11-0.14.0.dist-info"
    old.mkdir(parents=True)
    (old / "METADATA").write_text("Metadata-Version: 2.1\nName: h11\nVersion: 0.14.0\n")
    env = environment()
    env["PYTHONPATH"] = f"{old.parent}{os.pathsep}{env.get('PYTHONPATH', '')}"
    for name in ("serve", "worker"):
        result = program(name, "--data", str(tmp_path / "data"), env=env)
        assert result.returncode == 1
        assert result.stderr.startswith("Error: Known security holes: h11 0.14.0 (requests hide in other requests")
        assert "pip install 'h11>=0.16.0'" in result.stderr
    assert not (tmp_path / "data").exists()


@pytest.fixture(scope="module")
def blog(data: str) -> str:
    return command("site", "create", "Blog", "groups.example.org", "--data", data).split()[-1]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("backup create", ".backup"),
        ("backup list", ".backup"),
        ("config check", "The settings are fine."),
        ("doctor", "store"),
        ("key rotate groups.example.org public", "tk_pub_"),
        ("limits", "Nobody"),
        ("loadgen --site groups.example.org --comments 2", "2"),
        ("memory", "comment"),
        ("outbox show", "Everything has been carried out."),
        ("owner-link", "/setup"),
        ("page list --site groups.example.org", "Story 1"),
        ("rebuild --check", "Everything agrees"),
        ("rerender", "0"),
        ("role list groups.example.org", "Blog has no staff yet."),
        ("site list", "groups.example.org"),
        ("spam stats --site groups.example.org", "0"),
        ("user show nobody-here", "nobody-here"),
    ],
)
def test_every_group_of_commands_works_as_a_program(data: str, blog: str, words: str, sentence: str) -> None:
    """All other tests of commands call them in their own process."""
    result = program(*words.split(), "--data", data)
    assert sentence in result.stdout + result.stderr
    assert "Traceback" not in result.stderr


def test_help_is_there_for_every_command() -> None:
    assert "Start the server" in run("--help").stdout
    for words in (["serve"], ["site"], ["site", "create"], ["key", "rotate"], ["role", "grant"], ["config"], ["keys"]):
        result = run(*words, "--help")
        assert result.returncode == 0
        assert "Usage: " in result.stdout
