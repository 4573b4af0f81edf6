"""What the tests about people share."""

from typing import Any

import pytest

from tests.people import Letterbox
from threadkit.app import Application
from threadkit.sites.model import AuthSettings, NewSite, SiteSettings


@pytest.fixture
async def new_site(app: Application) -> NewSite:
    """A site with every way in that needs nobody else."""
    auth = AuthSettings(email=True, phone=True, password=True, anonymous=True, sso=True)
    return await app.services.sites.create("Blog", "blog.example.org", settings=SiteSettings(auth=auth))


@pytest.fixture
def letterbox(app: Application) -> Letterbox:
    return Letterbox(app)


@pytest.fixture
def key(new_site: NewSite) -> dict[str, Any]:
    return {"projectid": new_site.site.api_key_public}
