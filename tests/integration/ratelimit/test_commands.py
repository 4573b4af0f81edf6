"""`threadkit limits`, and the flag that switches limits off."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.folders import quick_folder
from tests.integration.server.program import Server, environment, run, serving

PUBLIC = "tk_pub_limitslimits"
ENV = environment(
    PROJECT_ID_PUBLIC=PUBLIC,
    THREADKIT_LIMITS_ENABLED="true",
    RATE_LIMIT_IP_WRITES="2",  # the name of an older server
)


@pytest.fixture
def folder() -> Iterator[Path]:
    with quick_folder() as name:
        yield Path(name) / "d"


def write(server: Server) -> int:
    body = {"content": "hello"}
    return httpx.post(f"{server.url}/v1/comments/preview", json=body, headers={"projectid": PUBLIC}).status_code


def test_who_is_limited_is_shown_and_until_when(folder: Path) -> None:
    with serving(folder, env=ENV) as server:
        nobody = run("limits", "--data", str(folder), env=ENV)
        assert nobody.stdout.strip() == "Nobody is limited right now."
        for _ in range(2):  # a minute may end in between, but not twice
            assert 429 in [write(server) for _ in range(6)], "unless a new minute began each time"
            found = json.loads(run("limits", "--json", "--data", str(folder), env=ENV).stdout)
            shown = run("limits", "--data", str(folder), env=ENV).stdout
            if found and found[0]["who"] in shown:
                break
        (one,) = found
        assert (one["what"], one["used"], one["limit"]) == ("writes of one ip", 2, 2)
        assert len(one["who"]) == 16, "an address as a keyed hash"
        assert one["until"].endswith("Z")
        assert one["who"] in shown
        assert "My site" in shown


def test_limits_can_be_switched_off_for_a_load_test(folder: Path) -> None:
    with serving(folder, "--no-rate-limit", env=ENV) as server:
        assert [write(server) for _ in range(10)] == [200] * 10
