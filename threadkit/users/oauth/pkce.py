"""The random parts of a sign-in: state, nonce, the cookie that binds the browser, and the PKCE pair."""

import base64
import hashlib
import secrets


def new_secret() -> str:
    """32 random bytes as 43 characters: the form that PKCE wants of a verifier, and good for everything else."""
    return secrets.token_urlsafe(32)


def challenge_of(verifier: str) -> str:
    """S256: what the provider is shown first."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
