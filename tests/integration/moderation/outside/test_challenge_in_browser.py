"""The challenge page in a real browser: our script runs, Cloudflare's may, and the opener hears how it went."""

import datetime
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.browser import CHROMIUM, browsing, listening
from tests.integration.moderation.outside.others import Others, serving
from tests.wait import until
from threadkit.app import Application

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")

CLOUDFLARE = "challenges.cloudflare.com"
API = "/turnstile/v0/api.js?render=explicit"
WIDGET = """
window.turnstile = { render(place, options) {
  const frame = document.createElement("iframe");
  frame.src = "https://challenges.cloudflare.com/frame";
  frame.onload = () => options.callback("token for " + options.sitekey);
  place.append(frame);
} };
"""
OPENER = """<!doctype html><title>opener</title><script>
addEventListener("message", (event) => fetch("/said", { method: "POST", body: JSON.stringify(event.data) }));
window.open("%s/v1/turnstile/challenge?site_key=0x4AAA", "challenge", "width=400,height=400");
</script>"""


@pytest.fixture
async def server(app: Application) -> AsyncIterator[str]:
    async with listening(app) as url:
        yield url


def said(others: Others) -> list[object]:
    return [call.json for call in others.calls if call.path == "/said"]


async def test_without_cloudflare_the_opener_hears_of_the_failure(server: str, others: Others, tmp_path: Path) -> None:
    others.answers |= {"/opener": OPENER % server, "/said": "", "/favicon.ico": ""}
    others.headers["content-type"] = "text/html"
    rules = "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
    async with browsing(f"{others.url}/opener", rules, tmp_path) as console:
        await until(lambda: bool(said(others)), "the opener to be told", seconds=45)
    assert said(others) == [{"type": "threadkit:turnstile:error", "error": "script-not-loaded"}]
    assert "Content Security Policy" not in console.read_text(errors="replace")


async def test_with_cloudflare_the_opener_gets_the_token(server: str, others: Others, tmp_path: Path) -> None:
    others.answers |= {"/opener": OPENER % server, "/said": "", "/favicon.ico": ""}
    others.headers["content-type"] = "text/html"
    async with serving(certificate(tmp_path)) as cloudflare:
        cloudflare.answers |= {API: WIDGET, "/frame": "<!doctype html><title>frame</title>", "/favicon.ico": ""}
        rules = f"MAP {CLOUDFLARE} 127.0.0.1:{cloudflare.port}, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
        async with browsing(f"{others.url}/opener", rules, tmp_path) as console:
            await until(lambda: bool(said(others)), "the opener to be told", seconds=45)
        assert said(others)[0] == {"type": "threadkit:turnstile:success", "token": "token for 0x4AAA"}
        assert API in cloudflare.paths()
        assert "Content Security Policy" not in console.read_text(errors="replace")


def certificate(folder: Path) -> ssl.SSLContext:
    """For the part of Cloudflare, which is played here."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, CLOUDFLARE)])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    file = folder / "certificate.pem"
    file.write_bytes(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()) + made.public_bytes(pem)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context
