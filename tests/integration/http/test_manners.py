"""HTTP manners: contract 1.2 to 1.6 and what every answer carries."""

import json
import re

import httpx
import pytest

from threadkit import logs
from threadkit.app import Application
from threadkit.settings import Settings
from threadkit.sites.model import NewSite


async def test_every_answer_has_a_request_id_and_security_headers(http: httpx.AsyncClient) -> None:
    for path in ("/health", "/nope", "/v1/site", "/docs", "/openapi.json"):
        headers = (await http.get(path)).headers
        assert re.fullmatch(r"[a-z0-9]{20}", headers["x-request-id"]), path
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["referrer-policy"] == "no-referrer"
        assert "server" not in headers


async def test_a_request_id_is_taken_over_when_it_is_harmless(http: httpx.AsyncClient) -> None:
    assert (await http.get("/health", headers={"X-Request-Id": "from-the-proxy-1"})).headers[
        "x-request-id"
    ] == "from-the-proxy-1"
    hostile = "x" * 500
    assert (await http.get("/health", headers={"X-Request-Id": hostile})).headers["x-request-id"] != hostile


async def test_hsts_only_over_https(http: httpx.AsyncClient) -> None:
    assert "strict-transport-security" not in (await http.get("/health")).headers
    forwarded = await http.get("/health", headers={"x-forwarded-proto": "https"})
    assert "max-age=31536000" in forwarded.headers["strict-transport-security"]


async def test_head_is_get_without_a_body(http: httpx.AsyncClient, new_site: NewSite) -> None:
    key = {"projectid": new_site.site.api_key_public}
    for path in ("/health", "/version", "/v1/site", "/docs"):
        get, head = await http.get(path, headers=key), await http.head(path, headers=key)
        assert (head.status_code, head.content) == (get.status_code, b"")
        assert head.headers["content-length"] == str(len(get.content))


async def test_any_preflight_is_answered_and_names_the_headers(http: httpx.AsyncClient) -> None:
    answer = await http.options("/v1/whatever", headers={"origin": "https://blog.example.org"})
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["access-control-allow-origin"] == "https://blog.example.org"
    for name in ("authorization", "content-type", "projectid", "x-turnstile-token", "if-none-match"):
        assert name in answer.headers["access-control-allow-headers"]
    assert "access-control-allow-credentials" not in answer.headers
    assert int(answer.headers["access-control-max-age"]) <= 7200


async def test_unknown_paths_and_wrong_methods_are_problems(http: httpx.AsyncClient) -> None:
    missing = await http.get("/nope")
    assert (missing.status_code, missing.headers["content-type"]) == (404, "application/problem+json")
    wrong = await http.delete("/health")
    assert wrong.status_code == 405
    assert "GET" in wrong.headers["allow"]
    echo = await http.request("TRACE", "/health", headers={"x-secret": "hush-hush"})
    assert echo.status_code == 405
    assert "hush-hush" not in echo.text


async def test_a_problem_is_rfc_9457_with_code_error_and_request_id(http: httpx.AsyncClient) -> None:
    answer = await http.get("/v1/site")
    problem = answer.json()
    assert problem == {
        "type": "urn:threadkit:problem:missing_api_key",
        "title": "Not signed in",
        "status": 401,
        "detail": "Missing projectid header",
        "code": "missing_api_key",
        "error": "Missing projectid header",
        "request_id": answer.headers["x-request-id"],
    }
    assert answer.headers["cache-control"] == "no-store"


async def test_those_who_ask_for_text_get_the_bare_sentence(
    app: Application, http: httpx.AsyncClient, new_site: NewSite
) -> None:
    asked = await http.get("/v1/site", headers={"accept": "text/plain"})
    assert asked.text == "Missing projectid header"
    assert asked.headers["content-type"].startswith("text/plain")
    await app.services.sites.change(new_site.site.id, settings={"errors": "text"})
    chosen = await http.get(
        "/v1/site", headers={"projectid": new_site.site.api_key_public, "origin": "https://evil.example"}
    )
    assert chosen.text == "Origin 'evil.example' is not allowed for this API key"


async def test_the_log_is_json_one_line_each_without_secrets(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, settings: Settings, capfd: pytest.CaptureFixture[str]
) -> None:
    import msgspec

    logs.configure(msgspec.structs.replace(settings, log_level="info", log_format="json"))
    app.access_log.is_on = True
    await http.get(
        "/v1/site%0aforged line",
        params={"token": "hush-hush"},
        headers={"projectid": new_site.secret_key, "authorization": "Bearer hush-hush"},
    )
    app.access_log.flush()
    lines = capfd.readouterr().err.strip().splitlines()
    records = [json.loads(line) for line in lines]
    assert len(records) == 1
    assert records[0]["status"] == 404
    assert records[0]["path"] == "/v1/site\nforged line"
    assert new_site.secret_key not in lines[0]
    assert "hush-hush" not in lines[0]


async def test_the_openapi_document_and_its_page_load_nothing_from_elsewhere(http: httpx.AsyncClient) -> None:
    document = (await http.get("/openapi.json")).json()
    assert document["openapi"].startswith("3.1")
    assert "/v1/site" in document["paths"]
    page = (await http.get("/docs")).text
    assert "/v1/site" in page
    assert "//" not in page.replace("<!doctype", "").split("<main>")[0].replace("http://", "").replace("https://", "")
    assert "<script" not in page
    assert (await http.get("/docs/style.css")).headers["content-type"].startswith("text/css")
