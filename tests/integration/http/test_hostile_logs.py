"""Whatever is sent, the log has one record for it that a program can read, and no secret. THREADKIT_SOAK=1 sends 10,000.
T24, G32."""

import json
import os
import random
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from msgspec.structs import replace

from threadkit import logs
from threadkit.app import Application
from threadkit.settings import Settings
from threadkit.sites.model import NewSite

REQUESTS = 10_000 if os.environ.get("THREADKIT_SOAK") else 600
CORPUS = Path(__file__).parents[3].parent / "shared/data/hostile"
OWN = [
    "\r\n",
    '\n{"event":"forged"}\n',
    "\x1b[2J\x1b[31m",
    "\u2028",
    "\u0085",
    "\x00",
    "%s%n",
    "${jndi:ldap://x}",
    "\ud7ff",
]
SECRET = "hush0hush"


def texts() -> list[str]:
    found = list(OWN)
    if CORPUS.is_dir():
        found += json.loads((CORPUS / "naughty-strings.json").read_text())
        found += (CORPUS / "crlf.txt").read_text(encoding="utf-8").splitlines()
    return [text.encode("utf-8", "ignore").decode() for text in found if text]


def header(text: str) -> str:
    """As much of it as a client can put into a header."""
    return "".join(character for character in text if " " <= character <= "~")[:500]


def hostile(number: int, text: str, site: NewSite) -> httpx.Request:
    """Secrets where they belong and where they do not; hostile text everywhere."""
    odd = quote(text[:1000], safe="")
    paths = [f"/v1/site{odd}", f"/v1/comments?page_url={odd}", f"/setup?token={SECRET}{odd}", f"/{odd}?key={SECRET}"]
    paths += [
        f"/v1/auth/verify-otp?code={SECRET}",
        f"/auth/google/callback?code={SECRET}&state={odd}",
        "/v1/auth/login",
    ]
    body = {"email": f"{SECRET}@example.org", "password": SECRET, "code": SECRET, "content": text, "name": text}
    headers = {
        "projectid": site.secret_key if number % 2 else f"tk_sec_{SECRET}",
        "authorization": f"Bearer {SECRET}.{header(text)}",
        "cookie": f"tk_session={SECRET}; a={header(text)}",
        "x-api-key": SECRET,
        "user-agent": header(text) or "x",
        "x-forwarded-for": header(text),
        "x-request-id": header(text),
        "referer": f"https://x.example/?token={SECRET}",
    }
    method = random.choice(("GET", "POST", "PUT", "DELETE"))
    url = f"http://comments.test{paths[number % len(paths)]}"
    return httpx.Request(method, url, json=body if method != "GET" else None, headers=headers)


@pytest.mark.timeout(900)
async def test_every_request_is_one_record_and_no_secret_is_in_any(
    app: Application, http: httpx.AsyncClient, new_site: NewSite, settings: Settings, capfd: pytest.CaptureFixture[str]
) -> None:
    logs.configure(replace(settings, log_level="info", log_format="json"))
    app.access_log.is_on = True
    corpus = texts()
    capfd.readouterr()
    for number in range(REQUESTS):
        await http.send(hostile(number, corpus[number % len(corpus)], new_site))
    app.access_log.flush()
    said = capfd.readouterr().err
    lines = said.split("\n")[:-1]
    records = [json.loads(line) for line in lines]
    requests = [record for record in records if record["event"] == "request"]
    assert len(requests) == REQUESTS
    assert "forged" not in {record["event"] for record in records}
    # A path is not a place for secrets, and is written as it was sent; everything else is never written.
    assert SECRET not in said
    assert new_site.secret_key not in said
    print(f"\nG32: {REQUESTS} hostile requests: {len(requests)} records, {len(records)} lines, 0 secrets")
