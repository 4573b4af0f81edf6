"""The numbers of a user that follow from what happens on sites: karma and the total of comments."""

import asyncio
from typing import TypeVar

import msgspec
from msgspec import Struct
from redis.exceptions import ResponseError

from threadkit.ids import SiteId, UserId
from threadkit.outbox.handlers import Event, Handlers
from threadkit.outbox.model import NotUnderstood, SiteMustWait
from threadkit.outbox.scripts import ApplyToUser, PutOff

T = TypeVar("T")


class _Posted(Struct):
    user_id: UserId


class _Deleted(Struct):
    author_id: UserId | None = None
    """Missing in entries of older versions."""


class _Karma(Struct):
    user_id: UserId
    change: int


class Totals:
    """Every entry counts once, though a user remembers only the newest that counted, and those that were put off.

    As long as entries come in order, "the newest of this site that counted" tells whether one did. So an entry that
    fails is noted as put off before any later one may count; if even that cannot be written, the site has to wait.
    """

    def __init__(self, *, apply: ApplyToUser, put_off: PutOff) -> None:
        self._apply = apply
        self._put_off = put_off

    def register(self, handlers: Handlers) -> None:
        handlers.on("comment_posted", "total_comments", self.comment_posted)
        handlers.on("comment_deleted", "total_comments", self.comment_deleted)
        handlers.on("comment_restored", "total_comments", self.comment_restored)
        handlers.on("karma", "karma", self.karma)

    async def comment_posted(self, site_id: SiteId, entry_id: str, event: Event) -> None:
        posted = _understood(event, _Posted)
        await self._count(posted.user_id, site_id, entry_id, "total_comments", 1)

    async def comment_deleted(self, site_id: SiteId, entry_id: str, event: Event) -> None:
        if author_id := _understood(event, _Deleted).author_id:
            await self._count(author_id, site_id, entry_id, "total_comments", -1)

    async def comment_restored(self, site_id: SiteId, entry_id: str, event: Event) -> None:
        if author_id := _understood(event, _Deleted).author_id:
            await self._count(author_id, site_id, entry_id, "total_comments", 1)

    async def karma(self, site_id: SiteId, entry_id: str, event: Event) -> None:
        karma = _understood(event, _Karma)
        await self._count(karma.user_id, site_id, entry_id, "karma", karma.change)

    async def _count(self, user_id: UserId, site_id: SiteId, entry_id: str, field: str, change: int) -> None:
        try:
            await self._apply(user_id, site_id, entry_id, field=field, change=change)
        except Exception:
            await self._step_aside(user_id, site_id, entry_id)
            raise
        except asyncio.CancelledError as late:
            raise SiteMustWait("the store took too long") from late

    async def _step_aside(self, user_id: UserId, site_id: SiteId, entry_id: str) -> None:
        try:
            await self._put_off(user_id, site_id, entry_id)
        except (Exception, asyncio.CancelledError) as error:
            # A broken record is not the store's trouble: nothing of this user counts until somebody mends it.
            if not (isinstance(error, ResponseError) and str(error).startswith("WRONGTYPE")):
                raise SiteMustWait(str(error)) from error


def _understood(event: Event, kind: type[T]) -> T:
    try:
        return msgspec.convert(event, kind)
    except msgspec.ValidationError as error:
        raise NotUnderstood(f"{event.get('type')}: {error}") from None
