"""What a rebuild takes as given: comments hang on comments of their page, versions never fall, HTML is what the text
gives, reports and appeals are known on both sides. (V1, V6, V15, V16)"""

import asyncio
import zlib
from collections.abc import Sequence
from typing import Any

import msgspec

from threadkit.clock import from_iso
from threadkit.comments.model import Comment
from threadkit.comments.rerendering import Rerendering
from threadkit.doctor.deep.look import DeepLook, by_tag
from threadkit.doctor.deep.names import Known
from threadkit.doctor.deep.scripts import SettleAppeals, SettleReports, SettleVersions, SweepReports
from threadkit.ids import CommentId, PageId, SiteId
from threadkit.rebuild.model import Finding
from threadkit.rebuild.scripts import ReadFields
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.storage.records import from_hash

CHUNK = 200
# Rendering is by far the dearest look; of more comments than this only so many are rendered again, always the same ones.
MOST_RENDERED = 2_000


class Comments:
    def __init__(self, *, redis: Commands, keys: Keys, rerendering: Rerendering, comments: int) -> None:
        self._redis = redis
        self._keys = keys
        self._rerendering = rerendering
        self._one_in = max(1, -(-comments // MOST_RENDERED))
        self._read_fields = ReadFields(redis, keys)
        self._settle_appeals = SettleAppeals(redis, keys)
        self._settle_versions = SettleVersions(redis, keys)

    async def go_through(self, found: list[Known], look: DeepLook) -> None:
        comments = [name for name in found if name.of == "site.comment"]
        pages = [name for name in found if name.of == "site.page"]
        for some in by_tag(comments).values():
            for start in range(0, len(some), CHUNK):
                await self._comments(some[start : start + CHUNK], look)
        for some in by_tag(pages).values():
            for start in range(0, len(some), CHUNK):
                await self._pages(some[start : start + CHUNK], look)
        for name in found:
            if name.of == "site.appeals" and await self._redis.type(name.key) == "zset":
                ids = await self._redis.zrange(name.key, 0, -1)
                await self._appeals(SiteId(name.parts["site_id"]), [CommentId(one) for one in ids], look)
        await self._requests([name for name in found if name.of == "site.repeated"], look)
        chosen = [name for name in comments if zlib.crc32(name.parts["comment_id"].encode()) % self._one_in == 0]
        for start in range(0, len(chosen), CHUNK):
            await self._html(chosen[start : start + CHUNK], look)

    async def _comments(self, names: Sequence[Known], look: DeepLook) -> None:
        fields = await self._read_fields([name.key for name in names], "site_id", "page_id", "parent_id")
        by_site: dict[SiteId, dict[CommentId, dict[str, str]]] = {}
        for name, found in zip(names, fields, strict=True):
            if "site_id" in found and "page_id" in found:
                by_site.setdefault(SiteId(found["site_id"]), {})[CommentId(name.parts["comment_id"])] = found
        for site_id, some in by_site.items():
            await self._places(site_id, some, look)
            await self._appeals(site_id, list(some), look)

    async def _places(self, site_id: SiteId, some: dict[CommentId, dict[str, str]], look: DeepLook) -> None:
        keys = self._keys.site(site_id)
        pages = await self._read_fields([keys.page(found["page_id"]) for found in some.values()], "site_id")
        above = [found.get("parent_id", "") for found in some.values()]
        parents = await self._read_fields([keys.comment(i) for i in above], "site_id", "page_id")
        for (comment_id, found), page, parent in zip(some.items(), pages, parents, strict=True):
            if page and page["site_id"] != site_id:
                why = f"it is of site {site_id}, its page of {page['site_id']}"
                look.note(Finding("comment", "damaged", f"comment {comment_id}", why))
            elif parent and (parent.get("page_id") != found["page_id"] or parent.get("site_id") != site_id):
                why = f"it hangs on comment {found['parent_id']} of another page"
                look.note(Finding("comment", "damaged", f"comment {comment_id}", why))

    async def _appeals(self, site_id: SiteId, ids: list[CommentId], look: DeepLook) -> None:
        for start in range(0, len(ids), CHUNK):
            some = ids[start : start + CHUNK]
            for place, what, was, wanted in await self._settle_appeals(look.mode, site_id, some):
                look.note(Finding("appeals", what, f"comment {some[place]}", was, wanted))  # type: ignore[arg-type]

    async def _pages(self, names: Sequence[Known], look: DeepLook) -> None:
        fields = await self._read_fields([name.key for name in names], "site_id")
        by_site: dict[SiteId, list[PageId]] = {}
        for name, found in zip(names, fields, strict=True):
            if "site_id" in found:
                by_site.setdefault(SiteId(found["site_id"]), []).append(PageId(name.parts["page_id"]))
        for site_id, pages in by_site.items():
            for place, was, wanted in await self._settle_versions(look.mode, site_id, pages):
                look.note(Finding("page version", "value", f"page {pages[place]}", was, wanted))

    async def _requests(self, names: Sequence[Known], look: DeepLook) -> None:
        """What a request made must be there, or its repetition would be answered with nothing."""
        async with self._redis.pipeline(transaction=False) as pipe:
            for name in names:
                pipe.get(name.key)
            made = await pipe.execute(raise_on_error=False)
            pairs = [(name, one) for name, one in zip(names, made, strict=True) if isinstance(one, str)]
            for name, comment_id in pairs:
                pipe.exists(self._keys.site(SiteId(name.tag)).comment(comment_id))
            answers = await pipe.execute()
        for (name, comment_id), is_there in zip(pairs, answers, strict=True):
            if not is_there and look.note_and_may_mend(
                Finding("repeated", "stray", f"{name.key} made comment {comment_id}")
            ):
                await self._redis.unlink(name.key)

    async def _html(self, names: Sequence[Known], look: DeepLook) -> None:
        async with self._redis.pipeline(transaction=False) as pipe:
            for name in names:
                pipe.hgetall(name.key)
            answers = await pipe.execute(raise_on_error=False)
        for fields in answers:
            comment = _readable(fields)
            if comment is None or await self._rerendering.is_as_rendered(comment):
                continue
            finding = Finding("content_html", "value", f"comment {comment.id}", "other HTML", "what its text gives")
            if look.note_and_may_mend(finding):
                await self._rerendering.again(comment)


def _readable(fields: Any) -> Comment | None:
    """None where it is gone or damaged, which is told elsewhere."""
    try:
        return from_hash(Comment, fields) if isinstance(fields, dict) and fields else None
    except msgspec.MsgspecError:
        return None


class Reports:
    def __init__(self, *, redis: Commands, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys
        self._settle_reports = SettleReports(redis, keys)
        self._sweep_reports = SweepReports(redis, keys)

    async def go_through(self, found: list[Known], look: DeepLook) -> None:
        # Together, so that they travel together.
        await asyncio.gather(*(self._of_comment(name, look) for name in found if name.of == "site.comment_reports"))
        for name in found:
            if name.of == "site.reports" and await self._redis.type(name.key) == "zset":
                await self._of_site(name, look)

    async def _of_comment(self, name: Known, look: DeepLook) -> None:
        if await self._redis.type(name.key) != "hash":
            return  # gone, or told elsewhere
        comment_id = CommentId(name.parts["comment_id"])
        site_id = await self._redis.hget(self._keys.site(SiteId(name.tag)).comment(comment_id), "site_id")
        if not site_id:
            if await self._redis.exists(name.key):
                look.note(Finding("report", "damaged", name.key, "the comment it is about is gone"))
            return
        reports = []
        for who, text in (await self._redis.hgetall(name.key)).items():
            try:
                reports.append((who, text, from_iso(msgspec.json.decode(text)["created_at"])))
            except (msgspec.MsgspecError, ValueError, KeyError, TypeError):
                look.note(Finding("report", "damaged", f"{name.key} of user {who}", "it cannot be read"))
        for who in await self._settle_reports(look.mode, SiteId(site_id), comment_id, reports):
            look.note(Finding("reports", "missing", f"comment {comment_id} reported by user {who}"))

    async def _of_site(self, name: Known, look: DeepLook) -> None:
        site_id, cursor = SiteId(name.parts["site_id"]), -1
        while cursor:
            cursor, members = await self._redis.zscan(name.key, max(cursor, 0), count=CHUNK)
            reports = []
            for text, _ in members:
                try:
                    said = msgspec.json.decode(text)
                    reports.append((CommentId(said["comment_id"]), str(said["reporter_id"]), text))
                except (msgspec.MsgspecError, ValueError, KeyError, TypeError):
                    look.note(Finding("reports", "damaged", name.key, "an entry cannot be read"))
            for place in await self._sweep_reports(look.mode, site_id, reports):
                comment_id, who, _ = reports[place]
                look.note(Finding("reports", "stray", f"comment {comment_id} reported by user {who} in {name.key}"))
