"""The token of the form for guests, which shows that the form came from us.

A guest has no session that another page could abuse. The token is bound to site and page and gets old, so that nobody
posts blindly, and it names one form: sending that twice is one comment.
"""

import hmac
import secrets

from threadkit.clock import Clock
from threadkit.errors import Invalid
from threadkit.ids import PageId, SiteId

OLDEST_MS = 86_400_000
CLOCKS_DIFFER_MS = 60_000


class FormExpired(Invalid):
    """This form was open for too long. Your text is still here: please send it once more."""

    code = "form_expired"


class FormTokens:
    def __init__(self, key: bytes, clock: Clock) -> None:
        self._key = key
        self._clock = clock

    def make(self, site_id: SiteId, page_id: PageId) -> str:
        made = f"{self._clock.now_ms():x}.{secrets.token_hex(8)}"
        return f"{made}.{self._mark(made, site_id, page_id)}"

    def age_ms(self, token: str, site_id: SiteId, page_id: PageId) -> int:
        """How long the form was open. Raises FormExpired, also for what is not ours: the answer has a fresh token."""
        made, _, mark = token.rpartition(".")
        if not hmac.compare_digest(mark.encode(), self._mark(made, site_id, page_id).encode()):
            raise FormExpired
        age = self._clock.now_ms() - int(made.partition(".")[0], 16)
        if not -CLOCKS_DIFFER_MS <= age <= OLDEST_MS:
            raise FormExpired
        return age

    def _mark(self, made: str, site_id: SiteId, page_id: PageId) -> str:
        return hmac.digest(self._key, f"{made} {site_id} {page_id}".encode(), "sha256").hex()[:40]
