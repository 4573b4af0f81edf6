"""A server with a little of everything, and callers of every kind."""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import msgspec

from tests.folders import quick_folder
from tests.integration.server.program import environment, run, serving
from threadkit.docs.document import complete
from threadkit.routes import route_table

ENDS_ITS_CALLER = {
    ("DELETE", "/v1/users/me"),
    ("DELETE", "/v1/users/me/sessions"),
    ("POST", "/v1/auth/logout"),
    ("POST", "/api/auth/logout"),
}


def document() -> dict[str, Any]:
    """The program's own, without a server: which calls there are must be known before any test runs."""
    return msgspec.json.decode(msgspec.json.encode(complete(route_table().openapi_schema.to_schema())))  # type: ignore[no-any-return]


@dataclass
class House:
    url: str
    site_id: str
    public: dict[str, str]
    secret: dict[str, str]
    owner: dict[str, str]
    user: dict[str, str]
    asked: int = 0
    answered_well: int = 0

    def callers_of(self, path: str, method: str) -> list[dict[str, str]]:
        """Who may get furthest, and who may not; whoever would be ended by a call is not asked for it."""
        if (method.upper(), path) in ENDS_ITS_CALLER:
            return [self.public]
        if path.startswith("/v1/staff"):
            return [{"origin": self.url}]
        return [self.owner, self.secret]


@contextlib.contextmanager
def open_house() -> Iterator[House]:
    with (
        quick_folder() as folder,
        serving(Path(folder) / "d", env=environment(THREADKIT_LOG_LEVEL="error")) as server,
    ):
        data = ("--data", str(server.folder))
        made = json.loads(run("site", "create", "Blog", "blog.example.org", "--json", *data).stdout)
        secret, public = {"projectid": made["api_key_secret"]}, {"projectid": made["api_key_public"]}
        people = []
        for name in ("olga", "una"):
            answer = httpx.post(f"{server.url}/v1/admin/create-user", json={"name": name}, headers=secret, timeout=30)
            people.append(public | {"authorization": f"Bearer {answer.json()['token']}"})
        assert run("role", "grant", made["id"], "olga", "owner", *data).returncode == 0
        body = {"page_url": "https://blog.example.org/a", "content": "Hello."}
        httpx.post(f"{server.url}/v1/comments", json=body, headers=people[1], timeout=30).raise_for_status()
        yield House(server.url, made["id"], public, secret, people[0], people[1])
        assert "Traceback" not in server.said, server.said[-3000:]
