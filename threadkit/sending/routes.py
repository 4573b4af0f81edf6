"""The operator tries out the mail server."""

from typing import Annotated

from litestar.di import NamedDependency
from litestar.params import JSONBody
from litestar.types import Scope
from msgspec import Meta, Struct

from threadkit.errors import Forbidden, Invalid
from threadkit.http.routing import Router, post
from threadkit.sending.testing import MailTest
from threadkit.services import Services
from threadkit.sites.admin_access import requires_operator
from threadkit.sites.model import OpenedSite
from threadkit.users.model import normal_email
from threadkit.users.viewer import Viewer


class NoAddress(Invalid):
    """Say where to: your account has no e-mail address"""

    code = "no_address"


class NotYourAddress(Forbidden):
    """A test mail goes to your own address only; anywhere else it takes the secret key"""

    code = "not_your_address"


class Recipient(Struct):
    to: Annotated[str, Meta(max_length=320)] | None = None


@post(
    "/mail/test",
    status_code=200,
    guards=[requires_operator],
    opt={"may_be_empty": True},
    summary="Send a test mail",
)
async def test_mail(data: JSONBody[Recipient], scope: Scope, services: NamedDependency[Services]) -> MailTest:
    """To one's own address, and with the secret key to any (`to`). The answer comes when the mail server has had its
    say, and tells it in a sentence. Twenty an hour."""
    opened: OpenedSite = scope["state"]["opened"]
    viewer: Viewer | None = scope["state"].get("viewer")
    own = viewer.user.email if viewer else None
    to = normal_email(data.to) if data.to else own
    if to is None:
        raise NoAddress
    if not opened.is_owner and to != own:
        raise NotYourAddress
    return await services.mail_tester.try_out(to, by=viewer.id if viewer else opened.site.id)


router = Router("/admin/server", route_handlers=[test_mail], tags=["Server"])
