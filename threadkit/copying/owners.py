"""Whose a key is, on a single server, where names do not say it: the site's, the user's, the client's, or nobody's.

A page and a comment say whose they are, and what hangs on them follows. Each batch of names asks anew, so nothing has to
be remembered, however much there is.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from threadkit.copying.side import Side, raw
from threadkit.doctor.deep.names import Known
from threadkit.ids import CommentId, PageId, SessionId, SiteId, UserId

SHARED = ""
_PARTS = {"SiteKeys": "site_id", "UserKeys": "user_id", "ClientKeys": "client"}
_REQUEST = "site.repeated"


class Owners:
    """For a single server: keys without a tag."""

    def __init__(self, side: Side) -> None:
        self._side = side
        self._keys = side.keys
        self._any_site = side.keys.site(SiteId("any"))
        self._any_user = side.keys.user(UserId("any"))

    async def of(self, names: Sequence[Known]) -> list[str | None]:
        """None where nothing in the store says it."""
        requests = await self._values([name for name in names if name.of == _REQUEST])
        comments = await self._sites_of_comments(
            {part for name in names if (part := name.parts.get("comment_id"))} | set(requests.values())
        )
        pages = await self.sites_of_pages(part for name in names if (part := name.parts.get("page_id")))
        users = await self._users_of_sessions(part for name in names if (part := name.parts.get("session_id")))

        def owner(name: Known) -> str | None:
            part = _PARTS.get(name.entry.group)
            if part is None:
                return SHARED
            if part in name.parts:
                return name.parts[part]
            if name.of == _REQUEST:
                return comments.get(requests.get(name.key, ""))
            for known, about in ((users, "session_id"), (comments, "comment_id"), (pages, "page_id")):
                if about in name.parts:
                    return known.get(name.parts[about])
            return None

        return [owner(name) for name in names]

    async def sites_of_pages(self, page_ids: Iterable[str]) -> dict[str, str]:
        """A page on which nobody wrote has no record, but its site knows that somebody looked at it."""
        wanted = sorted(set(page_ids))
        found = await self._fields(wanted, [self._any_site.page(PageId(page_id)) for page_id in wanted], "site_id")
        if without := [page_id for page_id in wanted if page_id not in found]:
            sites = [site.decode() for site in await self._side.ask_one("ZRANGE", self._keys.shared.sites(), 0, -1)]
            for site_id in sites:
                viewed = self._keys.site(SiteId(site_id)).viewed_pages()
                answers = await self._side.ask_one("SMISMEMBER", viewed, *map(raw, without))
                found |= {page_id: site_id for page_id, is_it in zip(without, answers, strict=True) if is_it}
        return found

    async def _sites_of_comments(self, comment_ids: Iterable[str]) -> dict[str, str]:
        wanted = sorted(set(comment_ids))
        records = [self._any_site.comment(CommentId(comment_id)) for comment_id in wanted]
        return await self._fields(wanted, records, "site_id")

    async def _users_of_sessions(self, session_ids: Iterable[str]) -> dict[str, str]:
        wanted = sorted(set(session_ids))
        records = [self._any_user.session(SessionId(session_id)) for session_id in wanted]
        return await self._fields(wanted, records, "user_id")

    async def _fields(self, ids: Sequence[str], records: Sequence[str], field: str) -> dict[str, str]:
        answers: list[Any] = await self._side.ask([("HGET", raw(record), field) for record in records])
        return {one: answer.decode() for one, answer in zip(ids, answers, strict=True) if answer}

    async def _values(self, names: Sequence[Known]) -> dict[str, str]:
        answers = await self._side.ask([("GET", raw(name.key)) for name in names])
        return {name.key: answer.decode() for name, answer in zip(names, answers, strict=True) if answer}
