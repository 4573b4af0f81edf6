"""A reader without JavaScript."""

import httpx
import pytest

from tests.integration.render.reading import Browser
from threadkit.sites.model import NewSite


@pytest.fixture
def browser(http: httpx.AsyncClient, new_site: NewSite) -> Browser:
    return Browser(http, new_site)
