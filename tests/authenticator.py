"""A passkey made of software: what a browser and a phone would do together."""

import base64
import hashlib
import json
import os
from typing import Any

import cbor2
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256

PRESENT, VERIFIED, ATTESTED = 0x01, 0x04, 0x40


def text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def raw(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Authenticator:
    """One credential. `is_verifying` says whether it asks for a finger or a number first."""

    def __init__(self, origin: str, *, is_verifying: bool = True, counts: bool = True) -> None:
        self.origin = origin
        self.is_verifying = is_verifying
        self.count = 1 if counts else 0
        self.credential_id = os.urandom(32)
        self.user_handle = b""
        self.rp_id = ""
        self._key = ec.generate_private_key(ec.SECP256R1())

    def create(self, options: dict[str, Any]) -> dict[str, Any]:
        self.user_handle, self.rp_id = raw(options["user"]["id"]), options["rp"]["id"]
        numbers = self._key.public_key().public_numbers()
        public = cbor2.dumps({1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32), -3: numbers.y.to_bytes(32)})
        attested = bytes(16) + len(self.credential_id).to_bytes(2) + self.credential_id + public
        attestation = {"fmt": "none", "attStmt": {}, "authData": self._data(ATTESTED) + attested}
        response = {
            "clientDataJSON": text(self._said("webauthn.create", options["challenge"])),
            "attestationObject": text(cbor2.dumps(attestation)),
            "transports": ["internal"],
        }
        return self._credential(response)

    def get(self, options: dict[str, Any], *, forged: bool = False) -> dict[str, Any]:
        if self.count:
            self.count += 1
        said, data = self._said("webauthn.get", options["challenge"]), self._data()
        key = ec.generate_private_key(ec.SECP256R1()) if forged else self._key
        signature = key.sign(data + hashlib.sha256(said).digest(), ec.ECDSA(SHA256()))
        response = {
            "clientDataJSON": text(said),
            "authenticatorData": text(data),
            "signature": text(signature),
            "userHandle": text(self.user_handle),
        }
        return self._credential(response)

    def _said(self, kind: str, challenge: str) -> bytes:
        return json.dumps({"type": kind, "challenge": challenge, "origin": self.origin}).encode()

    def _data(self, flags: int = 0) -> bytes:
        flags |= PRESENT | (VERIFIED if self.is_verifying else 0)
        return hashlib.sha256(self.rp_id.encode()).digest() + bytes([flags]) + self.count.to_bytes(4)

    def _credential(self, response: dict[str, Any]) -> dict[str, Any]:
        name = text(self.credential_id)
        return {"id": name, "rawId": name, "type": "public-key", "response": response, "clientExtensionResults": {}}
