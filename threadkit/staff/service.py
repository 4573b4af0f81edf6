"""Signing in to the pages for staff. A session there is an ordinary one, ended like any other; its cookie only serves to
get tokens for the sites on whose staff one is, and the pages then use the public API with them."""

from msgspec import Struct

from threadkit.clock import iso
from threadkit.errors import Forbidden, NotFound, Unauthenticated
from threadkit.ids import SiteId
from threadkit.sites.model import Site
from threadkit.sites.queries import SiteQueries
from threadkit.sites.roles import Role, RoleService
from threadkit.staff.model import StaffSite, StaffView
from threadkit.users.model import User, UserResponse
from threadkit.users.queries import UserQueries
from threadkit.users.sessions import Device, SessionService
from threadkit.users.sign_in import Contact, SignIn
from threadkit.users.tokens import Claims
from threadkit.users.viewer import Viewer


class StaffSignedOut(Unauthenticated):
    """You are not signed in here."""

    code = "staff_signed_out"


class NotStaff(Forbidden):
    """This account is on no site's staff. An owner can change that."""

    code = "not_staff"


class NotYourSite(NotFound):
    """There is no such site on whose staff you are."""

    code = "not_your_site"


class Arrival(Struct, frozen=True):
    """Somebody has signed in: what the cookie holds, and what the page is told."""

    cookie: str
    view: StaffView


class StaffService:
    def __init__(
        self,
        *,
        sign_in: SignIn,
        sessions: SessionService,
        user_queries: UserQueries,
        site_queries: SiteQueries,
        roles: RoleService,
        server_name: str,
    ) -> None:
        self._sign_in = sign_in
        self._sessions = sessions
        self._user_queries = user_queries
        self._site_queries = site_queries
        self._roles = roles
        self._server_name = server_name

    async def send_code(self, email: str, device: Device) -> None:
        """To staff only, though everybody gets the same answer."""
        contact = Contact.of(email, None)
        user = await self._sign_in.whose(contact)
        is_staff = user is not None and bool(await self._sites_of(user))
        await self._sign_in.send_code_to(contact, device, site_name=self._server_name, deliver=is_staff)

    async def by_password(self, email: str, password: str, device: Device) -> Arrival:
        user = await self._sign_in.who_has_password(Contact.of(email, None), password, device)
        return await self.arrive(user, device)

    async def by_code(self, email: str, code: str, device: Device) -> Arrival:
        return await self.arrive(await self._sign_in.who_has_code(Contact.of(email, None), code), device)

    async def by_session(self, viewer: Viewer) -> Arrival:
        """Somebody who has signed in on one of the sites, by whatever way it offers."""
        sites = await self._sites_of(viewer.user)
        if not sites:
            raise NotStaff
        return Arrival(self._cookie(viewer), await self._view(viewer, sites))

    async def who(self, cookie: str) -> Viewer:
        """Whose cookie this is; raises when their session is over."""
        claims = self._sessions.staff_claims_of(cookie) if cookie else None
        if claims is None:
            raise StaffSignedOut
        viewer = await self._sessions.viewer_of(claims, claims.site_id)
        if viewer.user.global_banned:
            raise StaffSignedOut
        return viewer

    async def view(self, viewer: Viewer) -> StaffView:
        return await self._view(viewer, await self._sites_of(viewer.user))

    async def token_for(self, viewer: Viewer, site_id: str) -> str:
        """An access token for one of their sites."""
        for site, _ in await self._sites_of(viewer.user):
            if site.id == site_id:
                return self._sessions.issue(Claims(viewer.id, SiteId(site.id), viewer.session.id), "access")
        raise NotYourSite

    async def confirm(self, viewer: Viewer, device: Device, *, password: str | None, code: str | None) -> int:
        """Show again who one is, by password or by a code; says until when that counts, ms."""
        contact = Contact.of(viewer.user.email or "", None)
        if password is None:
            await self._sign_in.check_code(contact, code or "")
        elif (await self._sign_in.who_has_password(contact, password, device)).id != viewer.id:
            raise StaffSignedOut
        return await self._sessions.confirm(viewer)

    async def sign_out(self, viewer: Viewer) -> None:
        await self._sessions.end(viewer.id, viewer.session.id)

    async def arrive(self, user: User, device: Device) -> Arrival:
        """Open a session for somebody who has proved who they are."""
        sites = await self._sites_of(user)
        if not sites:
            raise NotStaff
        home = sites[0][0].id
        opened = await self._sessions.open(user, home, device)
        viewer = await self._sessions.viewer(opened.token, home)
        return Arrival(self._cookie(viewer), await self._view(viewer, sites))

    def _cookie(self, viewer: Viewer) -> str:
        return self._sessions.issue(Claims(viewer.id, viewer.session.site_id, viewer.session.id), "staff")

    async def _sites_of(self, user: User) -> list[tuple[Site, Role]]:
        """Oldest first."""
        sites = await self._site_queries.all()
        roles = await self._roles.roles_of(user.id, [site.id for site in sites])
        return [(site, roles[site.id]) for site in sites if site.id in roles]

    async def _view(self, viewer: Viewer, sites: list[tuple[Site, Role]]) -> StaffView:
        first = (await self._site_queries.all())[:1]
        return StaffView(
            user=UserResponse.of(viewer.user),
            sites=[StaffSite.of(site, role) for site, role in sites],
            is_operator=any(role is Role.OWNER and site.id == first[0].id for site, role in sites),
            has_password=await self._user_queries.password_hash(viewer.id) is not None,
            proved_until=iso(self._sessions.proved_until_ms(viewer.session)),
        )
