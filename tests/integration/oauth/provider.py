"""A provider of our own, over real HTTP: strict where real ones are strict, and able to lie."""

import asyncio
import base64
import contextlib
import functools
import hashlib
import json
import secrets
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote_plus, urlencode

import uvicorn
from joserfc import jwt
from joserfc.jwk import RSAKey

from tests.make import ManualClock
from tests.wait import until

CLIENT_ID, CLIENT_SECRET = "threadkit at the provider", "the client's secret: %&+"
CODE_LIFE_S = 60
ACCESS_LIFE_S = 3600


@functools.cache
def signing_key(kid: str) -> RSAKey:
    return RSAKey.generate_key(2048, {"kid": kid, "use": "sig", "alg": "RS256"})


@dataclass
class Code:
    redirect_uri: str
    challenge: str
    nonce: str
    made_ms: int


class Refused(Exception):
    def __init__(self, error: str, status: int = 400) -> None:
        self.error, self.status = error, status


@dataclass
class MockProvider:
    """`lies` names what is wrong with its answers; `calls` counts them by path."""

    clock: ManualClock
    redirect_uris: set[str]
    url: str = ""
    kid: str = "first"
    auth_methods: list[str] | None = None
    lies: set[str] = field(default_factory=set)
    calls: Counter[str] = field(default_factory=Counter)
    person: dict[str, Any] = field(default_factory=dict)
    github_emails: list[dict[str, Any]] = field(default_factory=list)
    in_id_token: set[str] = field(default_factory=lambda: {"name", "email", "email_verified", "picture"})
    claims: dict[str, Any] = field(default_factory=dict)
    issued: list[str] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    waiting: int = 0
    _codes: dict[str, Code] = field(default_factory=dict)
    _access: set[str] = field(default_factory=set)
    _refresh: set[str] = field(default_factory=set)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        path = scope["path"]
        self.calls[path] += 1
        body = (await receive()).get("body", b"")
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        if "slow" in self.lies or f"slow {path}" in self.lies:
            self.waiting += 1
            await self.gate.wait()
        try:
            status, answer, more = self._answer(path, dict(parse_qsl(scope["query_string"].decode())), headers, body)
        except Refused as refused:
            status, answer, more = refused.status, {"error": refused.error}, {}
        if f"500 {path}" in self.lies:
            status, answer = 500, {"error": "server_error"}
        content = json.dumps(answer).encode()
        if f"garbage {path}" in self.lies:
            content = b'{"access_token": <!doctype html>'
        if f"huge {path}" in self.lies:
            content = b" " * 2_000_000 + content
        fields = {"content-type": "application/json", "content-length": str(len(content)), **more}
        start = {"type": "http.response.start", "status": status}
        await send(start | {"headers": [(name.encode(), value.encode()) for name, value in fields.items()]})
        await send({"type": "http.response.body", "body": content})

    def forget_refresh_tokens(self) -> None:
        self._refresh.clear()

    def _answer(
        self, path: str, query: dict[str, str], headers: dict[str, str], body: bytes
    ) -> tuple[int, Any, dict[str, str]]:
        match path:
            case "/.well-known/openid-configuration":
                return 200, self._discovery(), {}
            case "/authorize" | "/github/authorize" | "/discord/authorize":
                return 302, {}, {"location": self._authorize(query)}
            case "/token" | "/github/token" | "/discord/token":
                return 200, self._tokens(path, headers, dict(parse_qsl(body.decode()))), {}
            case "/jwks":
                return 200, {"keys": [signing_key(self.kid).as_dict(private=False)]}, {}
            case "/userinfo":
                self._check_bearer(headers)
                return 200, self.person | ({"sub": "somebody else"} if "other sub" in self.lies else {}), {}
            case "/github/api/user" | "/discord/api/users/@me":
                self._check_bearer(headers)
                return 200, self.person, {}
            case "/github/api/user/emails":
                self._check_bearer(headers)
                return 200, self.github_emails, {}
        return 404, {}, {}

    def _discovery(self) -> dict[str, Any]:
        found = {
            "issuer": "https://elsewhere.example" if "other issuer" in self.lies else self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/jwks",
            "userinfo_endpoint": f"{self.url}/userinfo",
        }
        return found | ({"token_endpoint_auth_methods_supported": self.auth_methods} if self.auth_methods else {})

    def _authorize(self, query: dict[str, str]) -> str:
        """The person says yes at once."""
        assert query["response_type"] == "code"
        assert query["client_id"] == CLIENT_ID
        if query["redirect_uri"] not in self.redirect_uris:
            raise Refused("redirect_uri_mismatch")
        assert query["code_challenge_method"] == "S256"
        assert len(query["code_challenge"]) == 43
        code = secrets.token_urlsafe(16)
        self._codes[code] = Code(
            query["redirect_uri"], query["code_challenge"], query.get("nonce", ""), self.clock.now_ms()
        )
        return f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"

    def _tokens(self, path: str, headers: dict[str, str], form: dict[str, str]) -> dict[str, Any]:
        self._check_client(headers, form)
        if form["grant_type"] == "refresh_token":
            if form["refresh_token"] not in self._refresh:
                raise Refused("invalid_grant")
            self._refresh.discard(form["refresh_token"])
            return self._grant()
        code = self._codes.pop(form["code"], None)
        if code is None or self.clock.now_ms() - code.made_ms > CODE_LIFE_S * 1000:
            raise Refused("invalid_grant")
        shown = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).decode().rstrip("=")
        if shown != code.challenge or form["redirect_uri"] != code.redirect_uri:
            raise Refused("invalid_grant")
        return self._grant() | ({"id_token": self._id_token(code)} if path == "/token" else {})

    def _grant(self) -> dict[str, Any]:
        access, refresh = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
        self._access.add(access)
        self._refresh.add(refresh)
        self.issued += [access, refresh]
        granted = {
            "access_token": access,
            "refresh_token": refresh,
            "expires_in": ACCESS_LIFE_S,
            "token_type": "Bearer",
            "scope": "openid email profile",
        }
        return {name: value for name, value in granted.items() if f"no {name}" not in self.lies}

    def _id_token(self, code: Code) -> str:
        now = self.clock.now_ms() // 1000
        claims = {
            "iss": self.url,
            "aud": CLIENT_ID,
            "sub": self.person.get("sub"),
            "iat": now,
            "exp": now + 300,
            "nonce": code.nonce,
            **{name: value for name, value in self.person.items() if name in self.in_id_token},
            **self.claims,
        }
        if "alg none" in self.lies:
            parts = ({"alg": "none", "typ": "JWT"}, claims)
            return (
                ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts)
                + "."
            )
        key = signing_key("a stranger's") if "other key" in self.lies else signing_key(self.kid)
        return jwt.encode({"alg": "RS256", "kid": self.kid}, claims, key, algorithms=["RS256"])

    def _check_client(self, headers: dict[str, str], form: dict[str, str]) -> None:
        given = form.get("client_id", ""), form.get("client_secret", "")
        if headers.get("authorization", "").startswith("Basic "):
            name, _, secret = base64.b64decode(headers["authorization"].removeprefix("Basic ")).decode().partition(":")
            given = unquote_plus(name), unquote_plus(secret)
        if given != (CLIENT_ID, CLIENT_SECRET):
            raise Refused("invalid_client", 401)

    def _check_bearer(self, headers: dict[str, str]) -> None:
        if headers.get("authorization", "").removeprefix("Bearer ") not in self._access:
            raise Refused("invalid_token", 401)


@contextlib.asynccontextmanager
async def serving(provider: MockProvider) -> AsyncIterator[None]:
    server = uvicorn.Server(
        uvicorn.Config(
            provider,
            host="127.0.0.1",
            port=0,
            lifespan="off",
            ws="none",
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=1,
        )
    )
    running = asyncio.create_task(server.serve())
    await until(lambda: server.started, "the provider to listen")
    provider.url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    try:
        yield
    finally:
        provider.gate.set()
        server.should_exit = True
        await running
