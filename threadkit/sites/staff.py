"""Who may be shown with a badge: the staff of a site, remembered for some seconds because every page view asks."""

from collections import OrderedDict

from redis.exceptions import RedisError

from threadkit.clock import Clock
from threadkit.ids import SiteId, UserId
from threadkit.sites.roles import RoleService

MOST_SHOWN = 200
MOST_REMEMBERED = 1000
MEMORY_MS = 5000

Badges = dict[UserId, str]


class StaffBadges:
    def __init__(self, *, roles: RoleService, clock: Clock) -> None:
        self._roles = roles
        self._clock = clock
        self._known: OrderedDict[SiteId, tuple[Badges, int]] = OrderedDict()

    async def of(self, site_id: SiteId) -> Badges:
        """Roles by user id, the highest first and not more than some hundreds of them."""
        now_ms = self._clock.now_ms()
        known = self._known.get(site_id)
        if known is not None and now_ms < known[1]:
            return known[0]
        try:
            staff = (await self._roles.staff(site_id))[:MOST_SHOWN]
        except (RedisError, OSError):
            if known is None:
                raise
            return known[0]
        badges = {user_id: role.label for user_id, role in staff}
        self._known[site_id] = (badges, now_ms + MEMORY_MS)
        if len(self._known) > MOST_REMEMBERED:
            self._known.popitem(last=False)
        return badges
