"""`/v1/users/…` and what else is about people. Contract 4.4 and 13."""

from typing import Annotated, Any

import msgspec
from litestar import Response
from litestar.di import NamedDependency
from litestar.openapi import ResponseSpec
from litestar.params import FromPath, JSONBody
from msgspec import UNSET, Meta, Struct, UnsetType

from threadkit.errors import Invalid, NotFound
from threadkit.http.parameters import as_id
from threadkit.http.routing import Router, delete, get, post, put
from threadkit.ids import SessionId, UserId
from threadkit.ratelimit.quotas import of_user
from threadkit.services import Services
from threadkit.sites.access import requires_secret_key
from threadkit.sites.model import Site
from threadkit.users.access import knows_user, requires_user, requires_whole_sign_in
from threadkit.users.avatar import avatar_svg
from threadkit.users.model import Me, SessionView, SocialLinks, UsernameTaken, UserPublic
from threadkit.users.service import Departure
from threadkit.users.sessions import Device
from threadkit.users.viewer import Viewer

Text = Annotated[str, Meta(max_length=1000)]


class ProfileChange(Struct):
    name: Text | None = None
    avatar_url: Text | None = None
    social_links: SocialLinks | None = None


class UsernameQuestion(Struct):
    username: Text


class Availability(Struct):
    available: bool
    error: str | UnsetType = UNSET


class People(Struct):
    users: list[UserPublic]


class Sessions(Struct):
    sessions: list[SessionView]


class Ended(Struct):
    sessions_ended: int


class PasswordChange(Struct):
    new_password: Text
    old_password: Text | None = None


class NewUser(Struct):
    name: Text
    email: Annotated[str, Meta(max_length=320)] | None = None
    allow_reserved: bool = False
    """For a name such as `admin` or the site's own, which nobody else may have."""


class CreatedUser(Struct):
    user: UserPublic
    token: str


class SessionNotFound(NotFound):
    """There is no such session."""

    code = "session_not_found"


@get("/me", guards=[requires_user], summary="Who am I?")
async def me(viewer: NamedDependency[Viewer], services: NamedDependency[Services]) -> Me:
    return await services.users.me(viewer.user, viewer.site_id)


@put("/me", guards=[requires_user], summary="Change my profile")
async def change_me(
    data: JSONBody[ProfileChange],
    site: NamedDependency[Site],
    viewer: NamedDependency[Viewer],
    services: NamedDependency[Services],
) -> Me:
    """What is absent stays; an empty `avatar_url` takes the avatar away; `social_links` replaces all of them."""
    user = await services.users.change_profile(
        viewer.user, site, name=data.name, avatar_url=data.avatar_url, social_links=data.social_links
    )
    return await services.users.me(user, viewer.site_id)


@delete("/me", status_code=200, guards=[requires_whole_sign_in], summary="Delete my account")
async def delete_me(viewer: NamedDependency[Viewer], services: NamedDependency[Services]) -> Departure:
    return await services.users.leave(viewer.user)


@put("/me/password", guards=[requires_whole_sign_in], summary="Change my password")
async def change_password(
    data: JSONBody[PasswordChange], viewer: NamedDependency[Viewer], services: NamedDependency[Services]
) -> None:
    """Every other device is signed out."""
    await services.sign_in.change_password(viewer, data.old_password, data.new_password)


@get(
    "/me/export",
    guards=[requires_whole_sign_in],
    summary="Everything you hold about me",
    responses={200: ResponseSpec(dict[str, Any], description="A file to keep")},
)
async def export_me(viewer: NamedDependency[Viewer], services: NamedDependency[Services]) -> Response[bytes]:
    async with services.quotas.reserved("exports", of_user(viewer.id)):
        body = msgspec.json.format(msgspec.json.encode(await services.users.export(viewer.user)), indent=2)
    headers = {"Content-Disposition": 'attachment; filename="threadkit-export.json"'}
    return Response(body, media_type="application/json", headers=headers)


@get("/me/blocked", guards=[requires_user], summary="Whom I blocked")
async def my_blocked(viewer: NamedDependency[Viewer], services: NamedDependency[Services]) -> People:
    return People(await services.users.blocked(viewer.user))


@get("/me/sessions", guards=[requires_user], summary="Where I am signed in")
async def my_sessions(viewer: NamedDependency[Viewer], services: NamedDependency[Services]) -> Sessions:
    return Sessions(
        [
            SessionView(
                id=session.id,
                created_at=session.created_at,
                last_used=session.last_used,
                user_agent=session.user_agent,
                client=session.ip,
                provider=session.provider,
                is_current=session.id == viewer.session.id,
            )
            for session in await services.user_queries.sessions(viewer.id)
        ]
    )


@delete("/me/sessions", status_code=200, guards=[requires_whole_sign_in], summary="Sign out everywhere")
async def end_my_sessions(viewer: NamedDependency[Viewer], services: NamedDependency[Services]) -> Ended:
    return Ended(await services.sessions.end_all(viewer.id))


@delete(
    "/me/sessions/{session_id:str}", status_code=200, guards=[requires_whole_sign_in], summary="Sign out one device"
)
async def end_my_session(
    session_id: FromPath[str], viewer: NamedDependency[Viewer], services: NamedDependency[Services]
) -> Ended:
    if not await services.sessions.end(viewer.id, as_id(SessionId, session_id)):
        raise SessionNotFound
    return Ended(1)


@post("/check-username", status_code=200, guards=[knows_user], summary="Is this name free?")
async def check_name(
    data: JSONBody[UsernameQuestion],
    site: NamedDependency[Site],
    maybe_viewer: NamedDependency[Viewer | None],
    services: NamedDependency[Services],
) -> Availability:
    return await _availability(services, data.username, site, maybe_viewer.id if maybe_viewer else None)


@post("/v1/v1/users/check-username", status_code=200, include_in_schema=False)
async def check_name_alias(data: JSONBody[UsernameQuestion], services: NamedDependency[Services]) -> Availability:
    """Where the stock settings form looks, without a key: whether a name is free is no secret."""
    return await _availability(services, data.username, None, None)


@get("/{user_id:str}", summary="A person's public profile")
async def profile(user_id: FromPath[str], services: NamedDependency[Services]) -> UserPublic:
    return UserPublic.of(await services.users.existing(as_id(UserId, user_id)))


@post("/{user_id:str}/block", status_code=200, guards=[requires_user], summary="Do not show me this person")
async def block(user_id: FromPath[str], viewer: NamedDependency[Viewer], services: NamedDependency[Services]) -> None:
    await services.users.block(viewer.user, as_id(UserId, user_id))


@delete("/{user_id:str}/block", status_code=200, guards=[requires_user], summary="Show me this person again")
async def unblock(user_id: FromPath[str], viewer: NamedDependency[Viewer], services: NamedDependency[Services]) -> None:
    await services.users.unblock(viewer.user, as_id(UserId, user_id))


@post("/{user_id:str}/unblock", status_code=200, guards=[requires_user], include_in_schema=False)
async def unblock_alias(
    user_id: FromPath[str], viewer: NamedDependency[Viewer], services: NamedDependency[Services]
) -> None:
    await services.users.unblock(viewer.user, as_id(UserId, user_id))


@post(
    "/admin/create-user", status_code=200, guards=[requires_secret_key], tags=["Administration"], summary="Make a user"
)
async def create_user(
    data: JSONBody[NewUser],
    site: NamedDependency[Site],
    device: NamedDependency[Device],
    services: NamedDependency[Services],
) -> CreatedUser:
    """For tests and migrations; needs the secret key. The token signs the new user in."""
    if not services.settings.accounts.create_user_route:
        raise Invalid("Making users this way is switched off on this server.")
    user = await services.users.create_by_owner(site, data.name, data.email, allow_reserved=data.allow_reserved)
    opened = await services.sessions.open(user, site.id, device)
    return CreatedUser(UserPublic.of(user), opened.token)


@get("/avatar/{name:str}", include_in_schema=False)
async def avatar(name: FromPath[str]) -> Response[str]:
    """A drawn picture for any id: `/avatar/{user id}.svg`."""
    headers = {
        "Cache-Control": "public, max-age=31536000, immutable",
        "Content-Security-Policy": "default-src 'none'; sandbox",
    }
    return Response(avatar_svg(name.removesuffix(".svg")[:64]), media_type="image/svg+xml", headers=headers)


async def _availability(services: Services, username: str, site: Site | None, viewer_id: UserId | None) -> Availability:
    try:
        services.names.check_member(username, site)
        await services.user_registry.check_free(username, for_user=viewer_id)
    except (Invalid, UsernameTaken) as error:
        return Availability(False, error.message)
    return Availability(True)


router = Router(
    "/users",
    route_handlers=[
        me,
        change_me,
        delete_me,
        change_password,
        export_me,
        my_blocked,
        my_sessions,
        end_my_sessions,
        end_my_session,
        check_name,
        profile,
        block,
        unblock,
        unblock_alias,
    ],
    tags=["People"],
)
