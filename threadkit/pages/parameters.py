"""How a page is named in a query."""

from typing import Annotated

from litestar.params import QueryParameter

from threadkit.pages.model import LONGEST_URL

PageUrlParameter = Annotated[
    str | None,
    QueryParameter(
        min_length=1, max_length=LONGEST_URL, description="The page's address. This or `page_id` is needed."
    ),
]
PageNameParameter = Annotated[
    str | None,
    QueryParameter(
        min_length=1,
        max_length=200,
        description="An id of the site's own for the page, which outlives addresses, or the `page_id` of an answer.",
    ),
]
