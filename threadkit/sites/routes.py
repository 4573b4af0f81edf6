"""What a site tells its visitors, and its owner."""

from litestar import Router, get
from litestar.di import NamedDependency
from litestar.params import FromPath
from msgspec import Struct

from threadkit.errors import Forbidden
from threadkit.sites.access import requires_secret_key
from threadkit.sites.model import DisplaySettings, Site, SiteView


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


@get(
    "/admin/sites/{site_id:str}",
    tags=["Administration"],
    summary="A site with all its settings",
    guards=[requires_secret_key],
)
async def owned_site(site_id: FromPath[str], site: NamedDependency[Site]) -> SiteView:
    """Needs the secret key. Secrets themselves are never shown again."""
    if site_id != site.id:
        raise SiteMismatch
    return SiteView.of(site)


router = Router("/", route_handlers=[public_site, owned_site])
