"""Signing in to the pages for staff. A session there is an ordinary one, ended like any other; its cookie only serves to
get tokens for the sites on whose staff one is, and the pages then use the public API with them."""

from typing import Any

from msgspec import Struct

from threadkit.clock import iso
from threadkit.errors import Forbidden, NotFound, ThreadKitError, Unauthenticated, WrongShape
from threadkit.ids import SiteId
from threadkit.sites.model import Site
from threadkit.sites.queries import SiteQueries
from threadkit.sites.roles import Role, RoleService
from threadkit.staff.model import StaffSite, StaffView
from threadkit.users.model import User, UserResponse
from threadkit.users.queries import UserQueries
from threadkit.users.second_step.model import PasskeyRefused, SecondStepRequired
from threadkit.users.second_step.passkeys import Passkeys
from threadkit.users.second_step.queries import FactorQueries
from threadkit.users.second_step.service import SecondStep
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


class Proof(Struct, frozen=True, kw_only=True):
    """Something that only one person has: the first of these that is there counts."""

    password: str | None = None
    code: str | None = None
    """Sent to their address."""
    totp: str | None = None
    recovery_code: str | None = None
    passkey: dict[str, Any] | None = None


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
        factors: FactorQueries,
        second_step: SecondStep,
        passkeys: Passkeys,
        server_name: str,
    ) -> None:
        self._sign_in = sign_in
        self._sessions = sessions
        self._user_queries = user_queries
        self._site_queries = site_queries
        self._roles = roles
        self._factors = factors
        self._second_step = second_step
        self._passkeys = passkeys
        self._server_name = server_name

    async def send_code(self, email: str, device: Device) -> None:
        """To staff only, though everybody gets the same answer."""
        contact = Contact.of(email, None)
        user = await self._sign_in.whose(contact)
        is_staff = user is not None and bool(await self._sites_of(user))
        await self._sign_in.send_staff_code(contact, device, site_name=self._server_name, deliver=is_staff)

    async def by_password(self, email: str, password: str, code: str | None, device: Device) -> Arrival:
        passed = False

        async def is_of_second_step(user: User, code: str) -> bool:
            nonlocal passed
            try:
                await self._second_step.check_totp(user.id, code, client=device.client)
            except ThreadKitError:
                return False
            passed = True
            return True

        user = await self._sign_in.who_has_password(
            Contact.of(email, None),
            password,
            device,
            site_name=self._server_name,
            code=code,
            factor=is_of_second_step,
        )
        return await self.arrive(user, device, passed_second_step=passed)

    async def by_code(self, email: str, code: str, device: Device) -> Arrival:
        return await self.arrive(await self._sign_in.who_has_staff_code(Contact.of(email, None), code, device), device)

    async def by_passkey(self, credential: dict[str, Any], device: Device) -> Arrival:
        """With a passkey alone, which is both steps at once."""
        # Read before it is checked: should it be removed meanwhile, the epoch has moved on and no session opens.
        user = await self._user_queries.by_id(self._passkeys.named_in(credential))
        if user is None:
            raise PasskeyRefused
        await self._passkeys.check_alone(user, credential)
        return await self.arrive(user, device, passed_second_step=True)

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
        if viewer.lacks_second_step:
            raise SecondStepRequired
        for site, _ in await self._sites_of(viewer.user):
            if site.id == site_id:
                return self._sessions.issue(Claims(viewer.id, SiteId(site.id), viewer.session.id), "access")
        raise NotYourSite

    async def pass_second_step(self, viewer: Viewer, proof: Proof) -> StaffView:
        """The half of a sign-in that a password, a code by mail or an account elsewhere cannot be."""
        await self._check_factor(viewer, proof)
        await self._second_step.let_pass(viewer)
        return await self.view(await self._again(viewer))

    async def confirm(self, viewer: Viewer, device: Device, proof: Proof) -> int:
        """Show again who one is, by anything one has; says until when that counts, ms."""
        if viewer.lacks_second_step:
            raise SecondStepRequired
        if proof.password is not None:
            contact = Contact.of(viewer.user.email or "", None)
            user = await self._sign_in.who_has_password(
                contact, proof.password, device, site_name=self._server_name, code=proof.code
            )
            if user.id != viewer.id:
                raise StaffSignedOut
        elif proof.code is not None:
            await self._sign_in.check_staff_code(Contact.of(viewer.user.email or "", None), proof.code, device)
        else:
            await self._check_factor(viewer, proof)
        return await self._sessions.confirm(viewer)

    async def _check_factor(self, viewer: Viewer, proof: Proof) -> None:
        if proof.totp is not None:
            await self._second_step.check_totp(viewer.id, proof.totp, client=viewer.session.ip)
        elif proof.recovery_code is not None:
            await self._second_step.check_recovery_code(viewer.user, proof.recovery_code, client=viewer.session.ip)
        elif proof.passkey is not None:
            await self._passkeys.check(viewer.user, proof.passkey)
        else:
            raise WrongShape(field="totp", why="something to show who you are is needed")

    async def sign_out(self, viewer: Viewer) -> None:
        await self._sessions.end(viewer.id, viewer.session.id)

    async def arrive(self, user: User, device: Device, *, passed_second_step: bool = False) -> Arrival:
        """Open a session for somebody who has proved who they are."""
        sites = await self._sites_of(user)
        if not sites:
            raise NotStaff
        home = sites[0][0].id
        opened = await self._sessions.open(user, home, device, passed_second_step=passed_second_step, is_staff=True)
        viewer = await self._sessions.viewer(opened.token, home)
        return Arrival(self._cookie(viewer), await self._view(viewer, sites))

    async def _again(self, viewer: Viewer) -> Viewer:
        site_id = viewer.session.site_id
        return await self._sessions.viewer_of(Claims(viewer.id, site_id, viewer.session.id), site_id)

    def _cookie(self, viewer: Viewer) -> str:
        return self._sessions.issue(Claims(viewer.id, viewer.session.site_id, viewer.session.id), "staff")

    async def _sites_of(self, user: User) -> list[tuple[Site, Role]]:
        """Oldest first."""
        sites = await self._site_queries.all()
        roles = await self._roles.roles_of(user.id, [site.id for site in sites])
        return [(site, roles[site.id]) for site in sites if site.id in roles]

    async def _view(self, viewer: Viewer, sites: list[tuple[Site, Role]]) -> StaffView:
        first_id = await self._site_queries.first_id()
        if viewer.lacks_second_step:
            sites = []  # somebody with half a sign-in need not know
        ways = (await self._factors.of(viewer.id)).ways if viewer.user.has_second_step else []
        return StaffView(
            user=UserResponse.of(viewer.user),
            sites=[StaffSite.of(site, role) for site, role in sites],
            is_operator=any(role is Role.OWNER and site.id == first_id for site, role in sites),
            has_password=await self._user_queries.password_hash(viewer.id) is not None,
            proved_until=iso(self._sessions.proved_until_ms(viewer.session)),
            second_step=ways,
            second_step_needed=viewer.lacks_second_step,
        )
