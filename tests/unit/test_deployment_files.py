"""The files that owners run ThreadKit with say what the code expects, and what the guide promises."""

import configparser
import ipaddress
import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from threadkit.errors import CannotStart
from threadkit.health import container
from threadkit.settings import ENV_PREFIX, Settings, env_name, flat, load
from threadkit.storage.bundled import write_config
from threadkit.storage.client import parse_url
from threadkit.storage.stamp import SCHEMA_VERSION

ROOT = Path(__file__).resolve().parents[2]
DOCKER = ROOT / "docker"
ANSWERS = {"DOMAIN": "comments.example.org", "STORE_PASSWORD": "0123456789abcdef0123456789abcdef"}

Instruction = tuple[str, str]


def dockerfile() -> list[Instruction]:
    """The instructions in order, with continued lines joined and comments left out."""
    lines = (DOCKER / "Dockerfile").read_text().splitlines()
    text = "\n".join(line for line in lines if not line.lstrip().startswith("#"))
    joined = re.sub(r"\\\n\s*", "", text).splitlines()
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in joined if line.strip())]


def final_stage() -> list[Instruction]:
    steps = dockerfile()
    last_from = max(at for at, (word, _) in enumerate(steps) if word == "FROM")
    return steps[last_from:]


def last(instruction: str) -> str:
    return [rest for word, rest in final_stage() if word == instruction][-1]


def image_environment() -> dict[str, str]:
    pairs = " ".join(rest for word, rest in final_stage() if word == "ENV").split()
    return dict(pair.split("=", 1) for pair in pairs)


def compose() -> dict[str, Any]:
    """The file as Compose sees it, with the variables of an owner's .env filled in."""

    def value(found: re.Match[str]) -> str:
        return ANSWERS.get(found[1]) or (found[3] if found[2] == ":-" else f"missing {found[1]}")

    text = re.sub(r"(?<!\$)\$\{(\w+)(:[-?])([^}]*)\}", value, (DOCKER / "compose.yml").read_text())
    loaded: dict[str, Any] = yaml.safe_load(text)
    return loaded


def services() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = compose()["services"]
    return found


def store_directives(path: Path) -> dict[str, str]:
    lines = [line for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")]
    return dict(line.split(maxsplit=1) for line in lines)


def unit() -> configparser.ConfigParser:
    # Not strict: systemd allows a key several times.
    parser = configparser.ConfigParser(strict=False, interpolation=None, delimiters=("=",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(DOCKER / "threadkit.service")
    return parser


@pytest.fixture(autouse=True)
def no_settings_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A developer's own threadkit.toml is none of these tests' business."""
    monkeypatch.chdir(tmp_path)


class TestTheImage:
    def test_it_runs_as_a_numbered_user_who_is_not_root(self) -> None:
        user, _, group = last("USER").partition(":")
        assert int(user) > 0
        assert int(group) > 0

    def test_nothing_after_the_user_needs_root(self) -> None:
        words = [word for word, _ in final_stage()]
        assert not {"RUN", "COPY", "ADD"} & set(words[words.index("USER") :])

    def test_it_exposes_the_port_it_listens_on(self) -> None:
        port = int(last("EXPOSE"))
        assert port == Settings().port

    def test_its_health_check_is_a_module_that_is_there(self) -> None:
        command = json.loads(last("HEALTHCHECK").partition("CMD ")[2])
        assert command == ["python", "-m", container.__name__]

    def test_it_serves_on_all_addresses_with_its_data_in_the_volume(self) -> None:
        loaded = load(environment=image_environment())
        assert loaded.settings.host == "0.0.0.0"
        assert loaded.settings.data == last("VOLUME") == "/data"
        assert loaded.notices == []

    def test_it_starts_the_server(self) -> None:
        assert json.loads(last("CMD")) == ["threadkit", "serve"]

    def test_its_dependencies_are_those_of_the_lock_file_and_no_others(self) -> None:
        installs = [
            step for word, rest in dockerfile() if word == "RUN" for step in rest.split("&&") if " install " in step
        ]
        of_packages = [step for step in installs if step.strip().startswith("pip")]
        locked = [step for step in of_packages if "--require-hashes" in step and "-r requirements.lock" in step]
        own = [step for step in of_packages if "--no-deps" in step and "--no-index" in step]
        assert len(locked) == len(own) == 1
        assert len(of_packages) == 2

    def test_its_base_is_the_python_that_the_project_asks_for(self) -> None:
        assert {rest.split()[0] for word, rest in dockerfile() if word == "FROM"} == {"python:3.11-slim"}

    def test_only_what_is_copied_can_enter_the_build(self) -> None:
        rules = (DOCKER / "Dockerfile.dockerignore").read_text().split("\n")
        rules = [rule for rule in rules if rule and not rule.startswith("#")]
        allowed = {rule[1:] for rule in rules if rule.startswith("!")}
        copies = [rest.split()[:-1] for word, rest in dockerfile() if word == "COPY" and "--from" not in rest]
        copied = {source.rstrip("/") for sources in copies for source in sources}
        assert rules[0] == "*"
        assert allowed == copied
        assert all((ROOT / source).exists() for source in copied)


class TestCompose:
    def test_threadkit_finds_its_store_by_the_name_of_the_service(self) -> None:
        address = parse_url(services()["threadkit"]["environment"]["REDIS_URL"])
        assert address.hosts == (("valkey", 6379),)
        assert "valkey" in services()

    def test_threadkit_knows_the_password_that_the_store_asks_for(self) -> None:
        address = parse_url(services()["threadkit"]["environment"]["REDIS_URL"])
        command = services()["valkey"]["command"]
        assert command[command.index("--requirepass") + 1] == address.password == ANSWERS["STORE_PASSWORD"]

    def test_its_environment_holds_only_settings_that_exist_and_can_be_used(self) -> None:
        environment = {**image_environment(), **services()["threadkit"]["environment"]}
        loaded = load(environment=environment)
        assert loaded.notices == []
        assert loaded.settings.public_url == "https://comments.example.org"

    def test_an_owner_who_forgets_the_domain_or_the_password_is_told(self) -> None:
        text = (DOCKER / "compose.yml").read_text()
        for name in ANSWERS:
            uses = re.findall(rf"(?<!\$)\$\{{{name}\b([^}}]*)\}}", text)
            assert uses
            assert all(use.startswith(":?") for use in uses)

    def test_only_the_private_network_of_the_proxy_is_trusted(self) -> None:
        trusted = load(environment=services()["threadkit"]["environment"]).settings.trusted_proxies
        (shared,) = set(services()["caddy"]["networks"]) & set(services()["threadkit"]["networks"])
        (subnet,) = compose()["networks"][shared]["ipam"]["config"]
        assert trusted == [subnet["subnet"]]
        assert ipaddress.ip_network(trusted[0]).is_private

    def test_nobody_but_threadkit_shares_a_network_with_the_store(self) -> None:
        (network,) = services()["valkey"]["networks"]
        assert {name for name, service in services().items() if network in service["networks"]} == {
            "threadkit",
            "valkey",
        }
        assert compose()["networks"][network]["internal"] is True

    def test_only_the_proxy_can_be_reached_from_outside(self) -> None:
        assert [name for name, service in services().items() if "ports" in service] == ["caddy"]

    @pytest.mark.parametrize("name", ["threadkit", "valkey", "caddy"])
    def test_no_log_grows_for_ever(self, name: str) -> None:
        logging = compose()["services"][name]["logging"]
        assert set(logging["options"]) == {"max-size", "max-file"}

    @pytest.mark.parametrize("name", ["threadkit", "valkey", "caddy"])
    def test_every_service_comes_back_by_itself_and_shows_its_health(self, name: str) -> None:
        service = services()[name]
        assert service["restart"] == "unless-stopped"
        assert "healthcheck" in service or service["build"]["dockerfile"] == "docker/Dockerfile"

    def test_a_container_waits_until_the_one_it_needs_is_healthy(self) -> None:
        needs = {name: service.get("depends_on", {}) for name, service in services().items()}
        assert needs["threadkit"] == {"valkey": {"condition": "service_healthy"}}
        assert needs["caddy"] == {"threadkit": {"condition": "service_healthy"}}

    def test_images_are_pinned_to_a_series_that_only_gets_repairs(self) -> None:
        images = [service["image"] for service in services().values() if "image" in service]
        assert images
        assert all(re.fullmatch(r"[a-z/]+:\d+\.\d+(\.\d+)?(-[\w.]+)?", image) for image in images)

    def test_what_must_survive_lies_in_named_volumes(self) -> None:
        volumes = set(compose()["volumes"])
        kept = {name: [mount.split(":") for mount in service["volumes"]] for name, service in services().items()}
        for name in ("threadkit", "valkey", "caddy"):
            assert next(mount[0] for mount in kept[name] if mount[1] == "/data") in volumes

    def test_mounted_files_exist_and_cannot_be_changed_from_inside(self) -> None:
        mounts = [mount.split(":") for service in services().values() for mount in service["volumes"]]
        files = [mount for mount in mounts if mount[0].startswith(".")]
        assert len(files) == 2
        for source, _, mode in files:
            assert (DOCKER / source).is_file()
            assert mode == "ro"

    def test_the_build_finds_its_files(self) -> None:
        build = services()["threadkit"]["build"]
        context = (DOCKER / build["context"]).resolve()
        assert context == ROOT
        assert (context / build["dockerfile"]).is_file()

    def test_caddy_serves_the_domain_and_passes_it_on_to_threadkit(self) -> None:
        lines = (DOCKER / "Caddyfile").read_text().splitlines()
        statements = [line.strip() for line in lines if line.strip() and not line.strip().startswith("#")]
        assert statements[0] == "{$DOMAIN} {"
        assert f"reverse_proxy threadkit:{Settings().port} {{" in statements
        assert sum(line.endswith("{") for line in statements) == statements.count("}")
        assert "DOMAIN" in services()["caddy"]["environment"]


class TestTheConfigurationOfAnOutsideStore:
    def test_it_keeps_every_confirmed_write_and_never_evicts(self) -> None:
        directives = store_directives(ROOT / "config" / "valkey.conf")
        assert directives["appendonly"] == "yes"
        assert directives["appendfsync"] == "always"
        assert directives["no-appendfsync-on-rewrite"] == "no"
        assert directives["aof-load-truncated"] == "yes"
        assert directives["maxmemory-policy"] == "noeviction"

    def test_it_promises_what_the_bundled_store_promises(self, tmp_path: Path) -> None:
        ours = store_directives(ROOT / "config" / "valkey.conf")
        bundled = store_directives(write_config(tmp_path))
        shared = ours.keys() & bundled.keys()
        assert {name: ours[name] for name in shared} == {name: bundled[name] for name in shared}
        assert ours.keys() - shared == {"protected-mode"}

    def test_it_lets_nobody_in_from_outside_without_a_password(self) -> None:
        assert store_directives(ROOT / "config" / "valkey.conf")["protected-mode"] == "yes"

    def test_every_line_says_why_it_is_there(self) -> None:
        lines = (ROOT / "config" / "valkey.conf").read_text().splitlines()
        for above, line in itertools.pairwise(lines):
            if line and not line.startswith("#"):
                assert above.startswith("# "), line


class TestTheSystemdUnit:
    def test_it_runs_the_server_as_its_own_user(self) -> None:
        service = unit()["Service"]
        assert service["User"] == service["Group"] == "threadkit"
        assert service["ExecStart"] == "/opt/threadkit/.venv/bin/threadkit serve"

    def test_it_starts_again_after_a_crash_and_waits_longer_each_time(self) -> None:
        service = unit()["Service"]
        assert service["Restart"] == "always"
        assert 0 < int(service["RestartSec"]) < int(service["RestartMaxDelaySec"])
        assert int(service["RestartSteps"]) > 0
        assert unit()["Unit"]["StartLimitIntervalSec"] == "0"

    def test_its_data_lies_in_the_only_folder_it_may_write_to(self) -> None:
        service = unit()["Service"]
        name, _, value = service["Environment"].partition("=")
        assert load(environment={name: value}).settings.data == f"/var/lib/{service['StateDirectory']}"
        assert service["ProtectSystem"] == "strict"
        assert "ReadWritePaths" not in service

    def test_it_can_gain_no_rights(self) -> None:
        service = unit()["Service"]
        assert service["NoNewPrivileges"] == "yes"
        assert service["CapabilityBoundingSet"] == ""

    def test_stopping_it_tells_only_the_server_which_then_stops_its_store(self) -> None:
        assert unit()["Service"]["KillMode"] == "mixed"

    def test_it_starts_with_the_machine(self) -> None:
        assert unit()["Install"]["WantedBy"] == "multi-user.target"


class TestMigrationsNone:
    def test_it_holds_only_markdown(self) -> None:
        assert {path.suffix for path in (ROOT / "migrations_none").rglob("*") if path.is_file()} == {".md"}

    def test_its_newest_entry_is_the_schema_of_the_code(self) -> None:
        headings = self.headings()
        assert headings[0][0] == SCHEMA_VERSION

    def test_every_version_has_one_entry_with_a_date_and_the_newest_comes_first(self) -> None:
        headings = self.headings()
        assert [number for number, _ in headings] == list(range(SCHEMA_VERSION, 0, -1))
        assert [date for _, date in headings] == sorted((date for _, date in headings), reverse=True)

    @staticmethod
    def headings() -> list[tuple[int, str]]:
        lines = (ROOT / "migrations_none" / "CHANGES.md").read_text().splitlines()
        headings = [line for line in lines if line.startswith("## ")]
        found = [re.fullmatch(r"## (\d+) — (\d{4}-\d{2}-\d{2})", line) for line in headings]
        assert headings
        assert all(found), headings
        return [(int(match[1]), match[2]) for match in found if match]


class TestTheGuide:
    TEXT = (ROOT / "docs" / "install.md").read_text()

    def test_it_names_only_settings_that_exist(self) -> None:
        known = {env_name(name) for name in flat(Settings())} | {"THREADKIT_CONFIG"}
        named = set(re.findall(rf"\b{ENV_PREFIX}[A-Z_]*[A-Z]\b", self.TEXT))
        assert named
        assert named <= known

    def test_every_store_address_in_it_is_understood(self) -> None:
        addresses = re.findall(r"^\| [\w ,]+ \| `(\w[\w+]*://[^`]+)` \|$", self.TEXT, re.MULTILINE)
        topologies = {parse_url(address).topology for address in addresses}
        assert topologies == {"standalone", "sentinel", "cluster"}

    def test_its_examples_of_settings_can_be_used(self, tmp_path: Path) -> None:
        examples = re.findall(r"^```toml\n(.*?)^```$", self.TEXT, re.MULTILINE | re.DOTALL)
        assert examples
        for example in examples:
            (tmp_path / "threadkit.toml").write_text(example)
            load(environment={})

    def test_a_service_link_of_kubernetes_stops_the_start_as_it_says(self) -> None:
        with pytest.raises(CannotStart, match="port"):
            load(environment={"THREADKIT_PORT": "tcp://10.0.0.1:8080"})

    @pytest.mark.parametrize("page", ["docs/install.md", "migrations_none/README.md", "migrations_none/CHANGES.md"])
    def test_links_lead_somewhere(self, page: str) -> None:
        text = (ROOT / page).read_text()
        titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
        anchors = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
        for target in re.findall(r"\]\(([^)]+)\)", text):
            file, _, anchor = target.partition("#")
            assert (ROOT / page).parent.joinpath(file).exists() if file else anchor in anchors, target
