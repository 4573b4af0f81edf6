"""Attempts to publish something, as the comments' service makes them."""

from typing import Any

from threadkit.app import Application
from threadkit.ids import PageId, SessionId, UserId
from threadkit.moderation.model import Attempt
from threadkit.sites.model import Site
from threadkit.sites.roles import Role
from threadkit.users.model import Session
from threadkit.users.viewer import Viewer

LONG = "A text that is long enough to be compared with others, about a garden in the north."


async def viewer(app: Application, site: Site, user_id: str, role: Role = Role.USER) -> Viewer:
    user = await app.services.user_queries.by_id(UserId(user_id))
    assert user is not None
    session = Session(
        id=SessionId("i"), user_id=user.id, site_id=site.id, created_at="", last_used="", user_agent="", ip="",
        provider=user.provider, refresh_id="",
    )  # fmt: skip
    return Viewer(user=user, session=session, site_id=site.id, role=role, is_shadowed=False)


def attempt(site: Site, author: Viewer | None, text: str = LONG, **more: Any) -> Attempt:
    name = author.user.name if author else "Guest"
    return Attempt(site=site, author=author, author_name=name, text=text, page_id=PageId("p1"), **more)
