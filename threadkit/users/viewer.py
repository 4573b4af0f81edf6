"""Who is asking. No I/O here."""

from msgspec import Struct

from threadkit.ids import SiteId, UserId
from threadkit.sites.roles import Role
from threadkit.users.model import Session, User


class Viewer(Struct, frozen=True, kw_only=True):
    """A signed-in person on one site."""

    user: User
    session: Session
    site_id: SiteId
    role: Role
    is_shadowed: bool
    banned_until_ms: int | None = None
    """When a ban of theirs ends by itself; None when there is none, or none that does."""
    withheld_role: Role | None = None
    """What they are here once this session has passed a second step: theirs, or one that the site asks of its staff."""

    @property
    def id(self) -> UserId:
        return self.user.id

    @property
    def is_blocked(self) -> bool:
        return self.role is Role.BLOCKED

    @property
    def lacks_second_step(self) -> bool:
        return self.user.has_second_step and not self.session.passed_second_step
