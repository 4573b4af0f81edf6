"""What can be asked about pages."""

from collections.abc import Sequence
from typing import Any, Protocol

from msgspec import Struct

from threadkit.comments.model import CommentNotFound
from threadkit.counters.model import views_in
from threadkit.ids import PageId, SiteId
from threadkit.pages.model import Page, PageLocked, PageNotFound, PageRef
from threadkit.sites.model import Site
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.storage.records import from_hash

MOST_MOVES = 8


class FoundPage(Struct, frozen=True):
    """A page as it is now. `id` is where its thread is, which for a moved page is not the id that was asked for."""

    id: PageId
    page: Page
    views: int


class Company(Protocol):
    """What else is asked about a page in the same round trip."""

    def put(self, pipe: Any) -> None: ...
    async def got(self, answers: list[Any]) -> None: ...


class PageQueries:
    def __init__(self, *, redis: Commands, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    async def id_of(self, site: Site, ref: PageRef) -> PageId:
        """The id a name or address stands for, before it is known whether the page has moved."""
        if ref.may_be_id and await self.by_id(site.id, PageId(ref.name or "")) is not None:
            return PageId(ref.name or "")
        return ref.page_id(site.id, drop_tracking=site.settings.drop_tracking_parameters)

    async def check_place(self, site: Site, page_id: PageId | None, ref: PageRef) -> None:
        """Whether a name or address is that of the page a comment is on, or used to be."""
        named = await self.id_of(site, ref)
        if page_id is None or page_id != named:
            found = await self.existing(site.id, named)
            if page_id is not None and (await self.moved(site.id, [page_id]))[0] != found.id:
                raise CommentNotFound

    async def check_open(self, site_id: SiteId, page_id: PageId) -> None:
        """Raises where nobody may write; a page that nobody wrote on is open."""
        for _ in range(MOST_MOVES):
            locked, moved_to = await self._redis.hmget(self._keys.site(site_id).page(page_id), "locked", "moved_to")
            if moved_to is None:
                break
            page_id = PageId(moved_to)
        if locked == "true":
            raise PageLocked

    async def by_id(self, site_id: SiteId, page_id: PageId) -> Page | None:
        fields = await self._redis.hgetall(self._keys.site(site_id).page(page_id))
        return from_hash(Page, fields) if fields.get("site_id") == site_id else None

    async def existing(self, site_id: SiteId, page_id: PageId) -> FoundPage:
        found = await self.now(site_id, page_id)
        if not found.page.site_id:
            raise PageNotFound
        return found

    async def now(self, site_id: SiteId, page_id: PageId, *, company: Company | None = None) -> FoundPage:
        """The page, wherever it has moved to. One that nobody wrote on is empty, not missing. The company is about the
        page that was asked for."""
        return (await self.way(site_id, page_id, company=company))[-1]

    async def way(self, site_id: SiteId, page_id: PageId, *, company: Company | None = None) -> list[FoundPage]:
        """A page, and hop by hop where it has moved to."""
        found: list[FoundPage] = []
        for _ in range(MOST_MOVES):
            page = Page(site_id=SiteId(""), url="")
            keys = self._keys.site(site_id)
            async with self._redis.pipeline(transaction=False) as pipe:
                pipe.hgetall(keys.page(page_id))
                pipe.get(keys.page_views(page_id))
                pipe.hget(keys.unwritten_views(), page_id)
                if company is not None:
                    company.put(pipe)
                fields, views, unwritten, *answers = await pipe.execute(raise_on_error=company is None)
            for answer in (fields, views, unwritten):
                if isinstance(answer, Exception):
                    raise answer
            if company is not None:
                await company.got(answers)
                company = None
            if fields.get("site_id") == site_id:
                page = from_hash(Page, fields)
            found.append(FoundPage(page_id, page, views_in(views, unwritten)))
            if page.moved_to is None:
                break
            page_id = page.moved_to
        return found

    async def moved(self, site_id: SiteId, page_ids: Sequence[PageId]) -> list[PageId]:
        """Where these pages' threads are now."""
        keys = self._keys.site(site_id)
        where = list(page_ids)
        open_places = list(range(len(where)))
        for _ in range(MOST_MOVES):
            async with self._redis.pipeline(transaction=False) as pipe:
                for place in open_places:
                    pipe.hget(keys.page(where[place]), "moved_to")
                answers = await pipe.execute()
            moves = [(place, target) for place, target in zip(open_places, answers, strict=True) if target]
            for place, target in moves:
                where[place] = PageId(target)
            open_places = [place for place, _ in moves]
            if not open_places:
                break
        return where

    async def counts(self, site_id: SiteId, page_ids: Sequence[PageId]) -> list[int]:
        """How many comments are shown on each."""
        keys = self._keys.site(site_id)
        async with self._redis.pipeline(transaction=False) as pipe:
            for page_id in page_ids:
                pipe.hmget(keys.page(page_id), "comments", "moved_to")
            answers = await pipe.execute()
        if any(moved_to for _, moved_to in answers):
            return await self.counts(site_id, await self.moved(site_id, page_ids))
        return [int(comments or 0) for comments, _ in answers]

    async def urls(self, site_id: SiteId, page_ids: Sequence[PageId]) -> dict[PageId, str]:
        """The addresses of those that have one."""
        keys = self._keys.site(site_id)
        async with self._redis.pipeline(transaction=False) as pipe:
            for page_id in page_ids:
                pipe.hget(keys.page(page_id), "url")
            answers = await pipe.execute() if page_ids else []
        return {page_id: url for page_id, url in zip(page_ids, answers, strict=True) if url}

    async def faces(self, site_id: SiteId, page_ids: Sequence[PageId]) -> dict[PageId, tuple[str | None, str | None]]:
        """The address and the title of each, where it has one."""
        keys = self._keys.site(site_id)
        async with self._redis.pipeline(transaction=False) as pipe:
            for page_id in page_ids:
                pipe.hmget(keys.page(page_id), "url", "title")
            answers = await pipe.execute() if page_ids else []
        return {page_id: (url, title) for page_id, (url, title) in zip(page_ids, answers, strict=True)}

    async def newest(self, site_id: SiteId, *, offset: int, limit: int) -> list[tuple[PageId, Page]]:
        """Pages with comments, those where something was written last first."""
        keys = self._keys.site(site_id)
        page_ids = await self._redis.zrange(keys.pages(), offset, offset + limit - 1, desc=True)
        async with self._redis.pipeline(transaction=False) as pipe:
            for page_id in page_ids:
                pipe.hgetall(keys.page(page_id))
            answers = await pipe.execute() if page_ids else []
        return [
            (PageId(page_id), from_hash(Page, fields))
            for page_id, fields in zip(page_ids, answers, strict=True)
            if fields.get("site_id") == site_id
        ]
