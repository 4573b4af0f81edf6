"""What the outside checks are asked about and what they say. No I/O here."""

import ipaddress

from msgspec import Struct

from threadkit.errors import Forbidden, ThreadKitError, Unavailable
from threadkit.moderation.model import Kind, Reason

LONGEST_REASON = 200


class OutsideEndpoints(Struct, frozen=True, kw_only=True):
    """Where those are that have a fixed place. `webhook` is called instead of any site's own, as in development."""

    turnstile: str = "https://challenges.cloudflare.com/turnstile/v0/siteverify"
    akismet: str = "https://rest.akismet.com/1.1"
    webhook: str = ""


class Visitor(Struct, frozen=True, kw_only=True):
    """What a request tells of who sent it; passed on where the owner allows it, and kept nowhere."""

    address: str = ""
    user_agent: str = ""

    @property
    def network(self) -> str:
        """The address without what tells one household from the next; empty when it is not one."""
        try:
            address = ipaddress.ip_address(self.address)
        except ValueError:
            return ""
        return str(ipaddress.ip_network((address, 24 if address.version == 4 else 48), strict=False).network_address)


class Finding(Struct, frozen=True):
    """What one check says. With `pass` the reason is a note for moderators."""

    kind: Kind
    reason: Reason


class TurnstileRequired(Forbidden):
    """Turnstile verification required"""

    code = "turnstile_required"


class TurnstileFailed(Forbidden):
    """Turnstile failed: {codes}"""

    code = "turnstile_failed"


class TurnstileNotConfigured(Unavailable):
    """Turnstile not configured"""

    code = "turnstile_not_configured"


class TurnstileUnreachable(ThreadKitError):
    """Turnstile could not be asked. Please try again."""

    status = 500
    code = "turnstile_unreachable"


def clean_reason(text: str) -> str:
    """Words from elsewhere: one line, printable, not endless."""
    text = "".join(c if c.isprintable() else " " for c in text[: 4 * LONGEST_REASON])
    return " ".join(text.split())[:LONGEST_REASON]
