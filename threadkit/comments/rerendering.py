"""Renders what people wrote once more, when the same text gives other HTML than it used to. People go on writing."""

import re
from collections.abc import AsyncIterator, Callable, Sequence

from msgspec import Struct

from threadkit import text
from threadkit.comments.model import Comment, CommentChanged, Status
from threadkit.comments.queries import CommentQueries
from threadkit.comments.scripts import RerenderComment
from threadkit.ids import CommentId
from threadkit.sites.model import Site
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys

BATCH = 200

_MENTION = re.compile(r'<span data-user="([0-9a-f-]{36})">@([^<]+)</span>')


class Rerendered(Struct):
    comments: int = 0
    """How many there are."""
    rendered: int = 0
    changed: int = 0
    """How many of the rendered ones look otherwise now."""
    too_complex: list[CommentId] = []
    """These keep the HTML they have, because their new HTML would be too long."""


class Rerendering:
    def __init__(self, *, redis: Commands, keys: Keys, queries: CommentQueries) -> None:
        self._redis = redis
        self._keys = keys
        self._queries = queries
        self._rerender_comment = RerenderComment(redis, keys)

    async def run(
        self, sites: Sequence[Site], *, everything: bool, on_progress: Callable[[int, int], None]
    ) -> Rerendered:
        """Only what an older version rendered, or `everything`. Can be stopped and begun again at any time."""
        total = sum([int(await self._redis.zcard(self._keys.site(site.id).comments())) for site in sites])
        report = Rerendered()
        for site in sites:
            async for batch in self._batches(site):
                for comment in batch:
                    if everything or comment.render_version < text.RENDER_VERSION:
                        await self._render(comment, report)
                report.comments += len(batch)
                on_progress(report.comments, max(total, report.comments))
        return report

    async def again(self, comment: Comment) -> None:
        """Render one comment once more, whatever rendered it."""
        await self._render(comment, Rerendered())

    async def is_as_rendered(self, comment: Comment) -> bool:
        """Whether the HTML of a comment is what its text gives today. What an older version rendered is not judged."""
        if comment.status is Status.DELETED or comment.render_version != text.RENDER_VERSION:
            return True
        named = _mentions(comment.content_html)
        try:
            rendered = await text.aside(comment.content, lambda: text.render(comment.content, mentions=named))
        except text.TooComplex:
            return True
        return rendered.html == comment.content_html

    async def _batches(self, site: Site) -> AsyncIterator[list[Comment]]:
        """Oldest first, so that what is written meanwhile comes last."""
        start = 0
        while ids := await self._redis.zrange(self._keys.site(site.id).comments(), start, start + BATCH - 1):
            yield await self._queries.by_ids(site.id, [CommentId(found) for found in ids])
            start += BATCH

    async def _render(self, comment: Comment, report: Rerendered) -> None:
        found: Comment | None = comment
        while found is not None and found.status is not Status.DELETED:
            source, named = found.content, _mentions(found.content_html)
            try:
                rendered = await text.aside(source, lambda: text.render(source, mentions=named))  # noqa: B023
                is_changed = await self._rerender_comment(found, rendered.html, version=text.RENDER_VERSION)
            except text.TooComplex:
                report.too_complex.append(found.id)
                return
            except CommentChanged:  # edited, or moved with its page
                found = await self._queries.by_id(found.site_id, found.id)
            else:
                report.rendered += 1
                report.changed += is_changed
                return


def _mentions(html: str) -> dict[str, str]:
    """Who was meant by a name when the text was written; somebody else may have the name by now."""
    return {name.lower(): user_id for user_id, name in _MENTION.findall(html)}
