import tomllib
from pathlib import Path

import pytest

from threadkit.errors import CannotStart
from threadkit.keyring import open_keyring
from threadkit.settings import OLDER_NAMES, WITHOUT_EFFECT, Settings, env_name, flat, is_secret, load

EXAMPLE = Path(__file__).parents[2] / "config" / "threadkit.example.toml"


def test_flags_win_over_environment_and_environment_over_file(tmp_path: Path) -> None:
    file = tmp_path / "threadkit.toml"
    file.write_text('port = 1\nworkers = 2\nhost = "file"\n')
    loaded = load(file=file, environment={"THREADKIT_WORKERS": "3", "THREADKIT_HOST": "env"}, flags={"host": "flag"})
    assert (loaded.settings.port, loaded.settings.workers, loaded.settings.host) == (1, 3, "flag")
    assert loaded.sources == {"port": "threadkit.toml", "workers": "THREADKIT_WORKERS", "host": "flag"}


def test_all_problems_are_reported_at_once_with_name_and_what_is_allowed(tmp_path: Path) -> None:
    file = tmp_path / "threadkit.toml"
    file.write_text('prot = 1\ndurability = "maybe"\n[store]\nconnections = "many"\n')
    with pytest.raises(CannotStart) as raised:
        load(file=file, environment={"THREADKIT_PORT": "99999", "THREADKIT_ACCESS_LOG": "perhaps"})
    text = str(raised.value)
    assert "prot (threadkit.toml): there is no such setting; did you mean port?" in text
    assert "durability (threadkit.toml): must be one of relaxed, strict, not 'maybe'" in text
    assert "store.connections (threadkit.toml): must be a whole number from 2 to 1024" in text
    assert "port (THREADKIT_PORT): must be a whole number from 0 to 65535, not '99999'" in text
    assert "access_log (THREADKIT_ACCESS_LOG): must be true or false" in text


def test_the_names_of_an_older_server_are_understood() -> None:
    environment = {
        "REDIS_URL": "redis://elsewhere",
        "HTTP_PORT": "81",
        "SITE_NAME": "Old blog",
        "SITE_DOMAIN": "old.example.org",
        "MODERATION_MODE": "pre",
        "PROJECT_ID_PUBLIC": "tk_pub_from_before",
        "THREADKIT_SECRET_KEY": "tk_sec_from_before",
    }
    settings = load(environment=environment).settings
    assert settings.redis_url == "redis://elsewhere"
    assert settings.port == 81
    assert (settings.site.name, settings.site.domain) == ("Old blog", "old.example.org")
    assert (settings.site.public_key, settings.site.secret_key) == ("tk_pub_from_before", "tk_sec_from_before")
    assert settings.site.moderation_mode == "pre"


def test_every_older_name_is_either_a_setting_or_explained() -> None:
    assert set(OLDER_NAMES.values()) <= flat(Settings()).keys()
    assert not OLDER_NAMES.keys() & WITHOUT_EFFECT.keys()


def test_a_thing_named_twice_with_two_values_is_refused() -> None:
    with pytest.raises(CannotStart, match="THREADKIT_REDIS_URL and REDIS_URL disagree"):
        load(environment={"THREADKIT_REDIS_URL": "redis://a", "REDIS_URL": "redis://b"})


def test_what_has_no_effect_is_said() -> None:
    notices = load(environment={"WS_PORT": "8081", "THREADKIT_PROT": "1"}).notices
    assert any(notice.startswith("WS_PORT has no effect") for notice in notices)
    assert "THREADKIT_PROT is not a setting of ThreadKit; did you mean port?" in notices


def test_a_secret_is_never_repeated_in_an_error() -> None:
    with pytest.raises(CannotStart) as raised:
        load(environment={"JWT_SECRET": "hush"})
    assert "hush" not in str(raised.value)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("THREADKIT_PUBLIC_URL", "comments.example.org"),
        ("THREADKIT_TRUSTED_PROXIES", "not-an-address"),
        ("THREADKIT_KEY_PREFIX", "a*b"),
        ("THREADKIT_JWT_SECRET", "your-secret-here-your-secret-here-your"),
        ("SITE_ID", "42"),
        ("PROJECT_ID_PUBLIC", "tk_sec_wrong_kind"),
    ],
)
def test_values_that_cannot_be_meant_are_refused(variable: str, value: str) -> None:
    with pytest.raises(CannotStart):
        load(environment={variable: value})


def test_a_missing_settings_file_is_only_a_problem_when_it_was_named(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match="there is no such file"):
        load(file=tmp_path / "none.toml", environment={})


def test_the_example_explains_every_setting_with_its_default() -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    # Settings without a default stand there as comments: uncommented, the whole file must still load.
    live = "\n".join(line[2:] if line.startswith("# ") and " = " in line else line for line in text.splitlines())
    named = set()
    section = ""
    for line in live.splitlines():
        if line.startswith("["):
            section = line.strip("[]") + "."
        elif " = " in line and not line.startswith("#"):
            named.add(section + line.split(" = ")[0])
    assert named == set(flat(Settings()))
    defaults = flat(load(file=EXAMPLE, environment={}).settings)
    assert defaults == flat(Settings()), "an example value that is not commented out must be the default"
    tomllib.loads(live)


def test_a_generated_secret_is_private_and_stays_the_same(tmp_path: Path) -> None:
    settings = Settings(data=str(tmp_path / "data"))
    first = open_keyring(settings)
    assert (tmp_path / "data" / "secret.key").stat().st_mode & 0o777 == 0o600
    assert open_keyring(settings).fingerprint == first.fingerprint
    assert open_keyring(Settings(data=str(tmp_path / "other"))).fingerprint != first.fingerprint


def test_secrets_are_known_as_such() -> None:
    assert is_secret("site.secret_key")
    assert is_secret("redis_url"), "it may hold a password"
    assert not is_secret("port")
    assert env_name("site.secret_key") == "THREADKIT_SITE_SECRET_KEY"
