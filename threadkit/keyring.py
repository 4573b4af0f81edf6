"""The server's own secrets: given in the settings, or made once and kept in the data folder."""

import base64
import contextlib
import hashlib
import hmac
import os
import secrets
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from threadkit.errors import CannotStart
from threadkit.settings import Settings

FILE = "secret.key"


class Keyring:
    """One root secret, from which each purpose gets a key of its own."""

    def __init__(self, root: bytes, jwt: bytes | None = None) -> None:
        self._root = root
        self.jwt = jwt or self.derive("jwt")

    def derive(self, purpose: str) -> bytes:
        return hmac.digest(self._root, f"threadkit:{purpose}".encode(), "sha256")

    def seal(self, purpose: str, text: str) -> str:
        """Encrypt what has to be read again later, such as a provider's token."""
        nonce = os.urandom(12)
        sealed = AESGCM(self.derive(f"seal:{purpose}")).encrypt(nonce, text.encode(), purpose.encode())
        return "v1." + base64.urlsafe_b64encode(nonce + sealed).decode().rstrip("=")

    def unseal(self, purpose: str, sealed: str) -> str:
        """What was sealed for this purpose; an empty text if it was changed or sealed with another secret."""
        try:
            raw = base64.urlsafe_b64decode(sealed.removeprefix("v1.") + "==")
            return AESGCM(self.derive(f"seal:{purpose}")).decrypt(raw[:12], raw[12:], purpose.encode()).decode()
        except (InvalidTag, ValueError):
            return ""

    @property
    def fingerprint(self) -> str:
        """Tells two secrets apart without giving either away."""
        return hashlib.sha256(self.derive("fingerprint")).hexdigest()[:16]


def open_keyring(settings: Settings, *, may_be_missing: bool = False) -> Keyring:
    """Makes a secret where there is none; with `may_be_missing` one that is not kept."""
    path = settings.data_folder / FILE
    if settings.secret is None and may_be_missing and not path.exists():
        return Keyring(secrets.token_bytes(32))
    root = settings.secret or _kept_secret(path)
    return Keyring(root.encode(), settings.jwt_secret.encode() if settings.jwt_secret else None)


def _kept_secret(path: Path) -> str:
    if not path.exists():
        _make(path)
    try:
        kept = path.read_text(encoding="ascii").strip()
    except UnicodeDecodeError:
        kept = ""
    except OSError as error:
        raise CannotStart(f"The server's secret in {path} cannot be read: {error.strerror or error}.") from error
    if len(kept) < 32:
        raise CannotStart(f"{path} does not hold a secret of at least 32 plain characters. Put the old file back.")
    return kept


def _make(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # A complete file is linked into place: two servers that start at once agree on one secret,
        # and a crash never leaves half of one behind.
        draft = path.with_name(f".{FILE}.{os.getpid()}")
        try:
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(secrets.token_hex(32).encode())
                file.flush()
                os.fsync(file.fileno())
            with contextlib.suppress(FileExistsError):
                os.link(draft, path)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise CannotStart(f"The server's secret cannot be kept in {path}: {reason}. Is the folder writable?") from error
