"""Looking for people: those who wrote on a site by name, those on its lists, and for giving roles anybody by exact name."""

import contextlib
import re
from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct

from threadkit.clock import Clock, iso
from threadkit.comments.search import CommentSearch
from threadkit.errors import InvalidParameter
from threadkit.ids import CommentId, SiteId, UserId, is_uuid
from threadkit.sites.roles import Role
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.users.model import InvalidEmail, User, UserPublic, normal_email
from threadkit.users.queries import UserQueries

MOST_LOOKED_AT = 1000
BATCH = 250
Listed = Literal["banned", "shadowbanned"]
_PLACE_IN_LIST = re.compile(r"\d{1,20}")


class FoundPerson(Struct, kw_only=True):
    """Nothing that the person keeps to themselves: no address, no number."""

    user: UserPublic
    is_guest: bool
    role: str
    is_banned: bool
    banned_until: str | None
    is_shadowbanned: bool
    banned_everywhere: bool
    comments: int
    """Ever written here."""


class FoundPeople(Struct):
    """`searched` is how many comments, or people of a list, were looked through."""

    people: list[FoundPerson]
    searched: int
    next: str | None


class PeopleSearch:
    def __init__(
        self, *, redis: Commands, keys: Keys, clock: Clock, comments: CommentSearch, user_queries: UserQueries
    ) -> None:
        self._redis = redis
        self._keys = keys
        self._clock = clock
        self._comments = comments
        self._user_queries = user_queries

    async def find(
        self, site_id: SiteId, text: str | None, *, cursor: str | None, limit: int, may_find_anybody: bool
    ) -> FoundPeople:
        """By id, or by a part of the name among those who wrote here, those first who wrote last. `may_find_anybody`
        finds accounts that have written nothing here, too, but only by all of their name or address."""
        text = (text or "").strip()
        if is_uuid(text.lower()):
            known = await self._user_queries.by_id(UserId(text.lower()))
            return FoundPeople(await self._shown(site_id, [known] if known else []), 0, None)
        exact: list[User] = []
        if text and cursor is None:
            if may_find_anybody and (owner := await self._by_email(text)):
                return FoundPeople(await self._shown(site_id, [owner]), 0, None)
            exact = await self._by_exact_name(site_id, text, may_find_anybody=may_find_anybody)
        ids, searched, following = await self._authors(site_id, text.casefold(), cursor, limit)
        users = await self._user_queries.by_ids(ids) if ids else []
        others = [user for user in users if user.id not in {one.id for one in exact}]
        others.sort(key=lambda user: not user.name.casefold().startswith(text.casefold()))
        return FoundPeople(await self._shown(site_id, [*exact, *others]), searched, following)

    async def listed(self, site_id: SiteId, which: Listed, text: str | None, *, cursor: str | None) -> FoundPeople:
        """Those who are banned or shadow-banned here, in no order."""
        if cursor is not None and not _PLACE_IN_LIST.fullmatch(cursor):
            raise InvalidParameter(name="cursor", why="is not one from an answer", field="cursor")
        keys = self._keys.site(site_id)
        members = keys.blocked() if which == "banned" else keys.shadowbanned()
        place, ids = await self._redis.sscan(members, cursor=int(cursor or 0), count=BATCH)
        wanted = (text or "").strip().casefold()
        users = [
            user
            for user in (await self._user_queries.by_ids(ids) if ids else [])
            if wanted in user.name.casefold() or wanted == user.id
        ]
        shown = await self._shown(site_id, users)
        if which == "banned":  # a ban for a while ends by itself, and its entry stays
            shown = [person for person in shown if person.is_banned]
        return FoundPeople(shown, len(ids), str(place) if int(place) else None)

    async def _by_email(self, text: str) -> User | None:
        if "@" not in text:
            return None
        with contextlib.suppress(InvalidEmail):
            return await self._user_queries.by_email(normal_email(text))
        return None

    async def _by_exact_name(self, site_id: SiteId, name: str, *, may_find_anybody: bool) -> list[User]:
        user = await self._user_queries.by_name(name)
        if user is None:
            return []
        has_written = await self._redis.exists(self._keys.site(site_id).comments_of(user.id))
        return [user] if has_written or may_find_anybody else []

    async def _authors(
        self, site_id: SiteId, wanted: str, cursor: str | None, limit: int
    ) -> tuple[list[UserId], int, str | None]:
        """Through the newest comments: the store has no list of a site's authors."""
        index = self._keys.site(site_id).comments()
        found: list[UserId] = []
        seen: set[UserId] = set()
        searched = 0
        while searched < MOST_LOOKED_AT:
            piece = await self._comments.piece(index, cursor, BATCH)
            if not piece.ids:
                return found, searched, None
            authors = await self._authors_of(site_id, piece.ids)
            fitting = await self._called(set(authors.values()) - seen, wanted)
            for comment_id, place in zip(piece.ids, piece.cursors, strict=True):
                searched, cursor = searched + 1, place
                author = authors.get(comment_id)
                if author is None or author in seen:
                    continue
                seen.add(author)
                if author in fitting:
                    found.append(author)
                    if len(found) == limit:
                        return found, searched, cursor
        return found, searched, cursor

    async def _authors_of(self, site_id: SiteId, ids: Sequence[CommentId]) -> dict[CommentId, UserId]:
        keys = self._keys.site(site_id)
        async with self._redis.pipeline(transaction=False) as pipe:
            for comment_id in ids:
                pipe.hmget(keys.comment(comment_id), "site_id", "author_id")
            answers = await pipe.execute()
        return {one: author for one, (owner, author) in zip(ids, answers, strict=True) if owner == site_id}

    async def _called(self, authors: Iterable[UserId], wanted: str) -> set[UserId]:
        """Those who still have an account, with this in their name."""
        some = list(authors)
        async with self._redis.pipeline(transaction=False) as pipe:
            for user_id in some:
                pipe.hget(self._keys.user(user_id).profile(), "name")
            names = await pipe.execute() if some else []
        return {one for one, name in zip(some, names, strict=True) if name is not None and wanted in name.casefold()}

    async def _shown(self, site_id: SiteId, users: Sequence[User]) -> list[FoundPerson]:
        """With role, standing and number of comments, in one round trip."""
        if not users:
            return []
        keys = self._keys.site(site_id)
        lists = (keys.owners(), keys.admins(), keys.moderators(), keys.blocked(), keys.shadowbanned())
        async with self._redis.pipeline(transaction=False) as pipe:
            for user in users:
                for members in lists:
                    pipe.sismember(members, user.id)
                pipe.zscore(keys.ban_ends(), user.id)
                pipe.zcard(keys.comments_of(user.id))
            answers = await pipe.execute()
        return [self._person(user, answers[7 * place : 7 * place + 7]) for place, user in enumerate(users)]

    def _person(self, user: User, facts: Sequence[float | None]) -> FoundPerson:
        owner, admin, moderator, blocked, shadowed, ends, comments = facts
        role = Role.OWNER if owner else Role.ADMIN if admin else Role.MODERATOR if moderator else Role.USER
        is_banned = bool(blocked) and (ends is None or ends > self._clock.now_ms())
        return FoundPerson(
            user=UserPublic.of(user),
            is_guest=user.is_guest,
            role=role.label,
            is_banned=is_banned,
            banned_until=iso(int(ends)) if is_banned and ends is not None else None,
            is_shadowbanned=bool(shadowed),
            banned_everywhere=user.global_banned,
            comments=int(comments or 0),
        )
