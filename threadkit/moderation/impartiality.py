"""Who may not decide about a comment or its reports, because it is their own or they have decided about it before.

Where there is nobody else on the staff these rules would leave nobody to decide, so they do not hold there.
"""

from collections.abc import Collection

from threadkit.comments.model import Comment, Status
from threadkit.errors import Forbidden
from threadkit.ids import SiteId, UserId
from threadkit.sites.roles import RoleService


class OwnAppeal(Forbidden):
    """This is your own comment. Somebody else has to look at the appeal."""

    code = "own_appeal"


class DecidedBefore(Forbidden):
    """You decided about this comment before. Another moderator has to look at the appeal."""

    code = "decided_before"


class OwnComment(Forbidden):
    """This is your own comment. Another moderator has to decide about it."""

    code = "own_comment"


def objection(comment: Comment, by: UserId, staff: Collection[UserId]) -> Forbidden | None:
    """Why somebody may not decide about an appeal."""
    if comment.author_id == by and set(staff) - {by}:
        return OwnAppeal()
    if comment.decided_by == by and set(staff) - {by, comment.author_id}:
        return DecidedBefore()
    return None


class Impartiality:
    def __init__(self, *, roles: RoleService) -> None:
        self._roles = roles

    async def objection(self, site_id: SiteId, comment: Comment, by: UserId, action: str) -> Forbidden | None:
        """Why somebody may not do this. While an appeal waits, approving and deleting decide about it. Approving one's own
        comment, or dismissing its reports, judges those who reported it."""
        if action in ("approve", "delete") and comment.appeal_state == "open":
            return objection(comment, by, await self._staff(site_id))
        is_judged = comment.status is Status.REJECTED or comment.report_weight is not None
        is_own_case = comment.author_id == by and is_judged and action in ("approve", "dismiss_reports")
        if is_own_case and await self._staff(site_id) - {by}:
            return OwnComment()
        return None

    async def check_undo(
        self, site_id: SiteId, by: UserId, *, author_id: UserId | None, decided_by: UserId | None
    ) -> None:
        """Nobody takes back what somebody else decided about their comment."""
        if author_id == by and decided_by != by and await self._staff(site_id) - {by}:
            raise OwnComment

    async def _staff(self, site_id: SiteId) -> set[UserId]:
        return {user_id for user_id, _ in await self._roles.staff(site_id)}
