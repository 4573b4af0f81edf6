"""What a site tells its visitors."""

from litestar import Router, get
from litestar.di import NamedDependency
from msgspec import Struct

from threadkit.errors import Forbidden
from threadkit.sites.model import DisplaySettings, Site


class SiteMismatch(Forbidden):
    """Site ID mismatch"""

    code = "site_mismatch"


class PublicSite(Struct):
    """What an embed needs to know before it shows anything."""

    id: str
    name: str
    display: DisplaySettings
    posting_disabled: bool


@get("/site", tags=["Sites"], summary="The site of this key")
async def public_site(site: NamedDependency[Site]) -> PublicSite:
    return PublicSite(site.id, site.name, site.settings.display, site.settings.posting_disabled)


router = Router("/", route_handlers=[public_site])
