"""Writes made-up people, comments and votes with the scripts that write real ones."""

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from msgspec import Struct

from threadkit import scoring, text
from threadkit.clock import Clock, iso
from threadkit.comments.model import Comment, Status
from threadkit.comments.scripts import PageMoved, PostComment
from threadkit.comments.service import posted_event
from threadkit.errors import Conflict, InvalidParameter
from threadkit.ids import CommentId, UserId
from threadkit.loadgen.effects import BulkEffects
from threadkit.loadgen.gathered import Gathered
from threadkit.loadgen.shapes import MadePage, made_uuid, one_of, page_thread, share_out, voters, votes_per_comment
from threadkit.loadgen.texts import make_texts
from threadkit.outbox.worker import OutboxWorker
from threadkit.pages.model import Page, normal_url, page_id_of
from threadkit.sites.model import Site
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.storage.lua import LuaScript
from threadkit.users.model import User
from threadkit.users.queries import UserQueries
from threadkit.users.registry import UserRegistry
from threadkit.votes.scripts import CastVote

BATCH = 500
PAGES_AT_ONCE = 8
MOST = 10_000_000
EFFECTS_PATIENCE_S = 60
DAY_MS = 86_400_000

_FIRST = (
    "ada",
    "ben",
    "cleo",
    "dana",
    "emil",
    "fay",
    "gus",
    "hana",
    "ivo",
    "june",
    "kai",
    "lena",
    "milo",
    "nora",
    "otto",
)
T = TypeVar("T")


class SiteHasComments(Conflict):
    """{site} has {count} comments. Give --yes to put made-up ones among them."""

    code = "site_has_comments"


@dataclass(frozen=True)
class Load:
    """What is wanted. The same load on the same empty site gives the same data, down to the ids."""

    pages: tuple[MadePage, ...]
    users: int
    votes: int
    seed: str
    until_ms: int

    @property
    def comments(self) -> int:
        return sum(page.comments for page in self.pages)


class Made(Struct):
    """What was written, and how long it took."""

    users: int
    comments: int
    votes: int
    pages: int
    seed: str
    seconds: float
    effects_wait: int
    """Outbox entries that nobody has taken forward yet."""


Progress = Callable[[str, int], None]
"""Told which stage went forward by how much: `users`, `comments`, `votes`, `effects`."""


def skewed_pages(domain: str, comments: int, pages: int, seed: str) -> tuple[MadePage, ...]:
    """Pages of the site, the first few with most of the comments."""
    counts = share_out(Random(f"pages {seed}"), comments, pages)  # noqa: S311 - made-up data
    return tuple(
        MadePage(f"https://{domain}/stories/{number}", f"Story {number}", count)
        for number, count in enumerate(counts, start=1)
    )


class LoadService:
    def __init__(self, *, redis: Commands, keys: Keys, clock: Clock, outbox: OutboxWorker) -> None:
        self._redis = redis
        self._keys = keys
        self._effects = BulkEffects(redis=redis, keys=keys, outbox=outbox)
        self._outbox = outbox
        gathered = Gathered(redis)
        queries = UserQueries(redis=gathered, keys=keys, clock=clock)
        self._registry = UserRegistry(redis=gathered, keys=keys, clock=clock, queries=queries)
        self._post_comment = PostComment(gathered, keys)
        self._cast_vote = CastVote(gathered, keys)

    async def comments_of(self, site: Site) -> int:
        return int(await self._redis.zcard(self._keys.site(site.id).comments()))

    async def fill(self, site: Site, load: Load, *, tell: Progress = lambda _stage, _count: None) -> Made:
        """Write it all: people, then page after page its comments, each batch with the votes on it."""
        started = time.monotonic()
        await self._know_scripts()
        rng = Random(f"load {load.seed}")  # noqa: S311 - made-up data
        users = await self._make_users(rng, load, tell)
        texts = make_texts(rng)
        bodies = [(source, text.render(source).html) for source in map(text.clean_source, texts)]
        votes = votes_per_comment(rng, load.votes, load.comments, load.users)
        await self._fill_pages(site, load, users, bodies, votes, tell)
        waiting = await self._let_it_take_effect(site, tell)
        return Made(
            users=len(users),
            comments=load.comments,
            votes=sum(votes),
            pages=sum(1 for page in load.pages if page.comments),
            seed=load.seed,
            seconds=round(time.monotonic() - started, 3),
            effects_wait=waiting,
        )

    async def _know_scripts(self) -> None:
        # A pipeline cannot say "unknown script" to one call only without the order of the calls getting lost.
        scripts: tuple[type[LuaScript], ...] = (PostComment, CastVote)
        for script in scripts:
            await self._redis.script_load(script.source())

    async def _make_users(self, rng: Random, load: Load, tell: Progress) -> list[User]:
        users: list[User] = []
        for start in range(0, load.users, BATCH):
            batch = [_new_user(rng, number, load) for number in range(start, min(start + BATCH, load.users))]
            users += await _together(self._registry.create(user, may_rename=True) for user in batch)
            tell("users", len(batch))
        return users

    async def _fill_pages(
        self,
        site: Site,
        load: Load,
        users: list[User],
        bodies: list[tuple[str, str]],
        votes: list[int],
        tell: Progress,
    ) -> None:
        """Some pages at a time, so that one can be prepared while the store is busy with another."""
        starts = itertools.accumulate((page.comments for page in load.pages), initial=0)
        jobs = iter(
            [(page, votes[start : start + page.comments]) for page, start in zip(load.pages, starts, strict=False)]
        )

        async def work() -> None:
            for page, part in jobs:
                rng = Random(f"page {load.seed} {page.url}")  # noqa: S311 - made-up data
                try:
                    await self._fill_page(rng, site, page, load, users, bodies, part, tell)
                except PageMoved:
                    why = "was merged into another page; give that one's address"
                    raise InvalidParameter(name=page.url, why=why) from None

        workers = [asyncio.create_task(work()) for _ in range(PAGES_AT_ONCE)]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()

    async def _fill_page(
        self,
        rng: Random,
        site: Site,
        page: MadePage,
        load: Load,
        users: list[User],
        bodies: list[tuple[str, str]],
        votes: list[int],
        tell: Progress,
    ) -> None:
        url = normal_url(page.url, drop_tracking=site.settings.drop_tracking_parameters)
        page_id = page_id_of(site.id, url)
        record = Page(site_id=site.id, url=url, title=page.title)
        ids: list[CommentId] = []
        batch: list[Comment] = []
        for made in page_thread(rng, page.comments, users=len(users), texts=len(bodies), until_ms=load.until_ms):
            author, (source, html) = users[made.author], bodies[made.text]
            now = iso(made.created_ms)
            ids.append(CommentId(made_uuid(rng, made.created_ms)))
            batch.append(
                Comment(
                    id=ids[-1],
                    site_id=site.id,
                    page_id=page_id,
                    page_url=url,
                    author_id=author.id,
                    author_name=author.name,
                    author_avatar=author.avatar_url,
                    parent_id=None if made.parent is None else ids[made.parent],
                    content=source,
                    content_html=html,
                    render_version=text.RENDER_VERSION,
                    status=Status.APPROVED,
                    created_at=now,
                    updated_at=now,
                )
            )
            if len(batch) == BATCH or made.number == page.comments - 1:
                await self._write(rng, site, record, batch, users, votes[len(ids) - len(batch) : len(ids)], tell)
                batch = []

    async def _write(
        self,
        rng: Random,
        site: Site,
        page: Page,
        batch: list[Comment],
        users: list[User],
        votes: list[int],
        tell: Progress,
    ) -> None:
        formula = site.settings.hot
        # Sent in this order in one pipeline, so every reply finds its parent.
        await _together(
            self._post_comment(
                comment,
                page,
                listing="listed",
                hot=scoring.as_text(scoring.hot(formula, 0, 0, comment.created_ms)),
                event=posted_event(comment),
                request_key=None,
            )
            for comment in batch
        )
        tell("comments", len(batch))
        cast = [
            (comment, users[voter].id, direction)
            for comment, count in zip(batch, votes, strict=True)
            for voter, direction in voters(rng, count, len(users))
        ]
        for start in range(0, len(cast), BATCH):
            await self._vote(site, cast[start : start + BATCH])
            tell("votes", len(cast[start : start + BATCH]))

    async def _vote(self, site: Site, cast: list[tuple[Comment, UserId, str]]) -> None:
        await _together(
            self._cast_vote(
                comment,
                voter=voter,
                direction=direction,
                up_only=False,
                is_shadowed=False,
                formula=site.settings.hot,
            )
            for comment, voter, direction in cast
        )

    async def _let_it_take_effect(self, site: Site, tell: Progress) -> int:
        """Take the outbox forward, or wait for the server that does it; says how much is left after waiting in vain."""
        outbox = self._keys.site(site.id).outbox()
        waiting = int(await self._redis.xlen(outbox))
        moved = time.monotonic()
        while waiting and time.monotonic() - moved < EFFECTS_PATIENCE_S:
            if not await self._effects.drain(site.id) and not await self._outbox.drain():
                await asyncio.sleep(0.05)
            left = int(await self._redis.xlen(outbox))
            if left < waiting:
                moved = time.monotonic()
                tell("effects", waiting - left)
            waiting = left
        return waiting


async def _together(calls: Iterable[Awaitable[T]]) -> list[T]:
    return list(await asyncio.gather(*calls))


def _new_user(rng: Random, number: int, load: Load) -> User:
    created_ms = load.until_ms - DAY_MS * 366 - int(rng.random() * 2 * 365 * DAY_MS)
    user_id = UserId(made_uuid(rng, created_ms))
    name = f"{_FIRST[one_of(rng, len(_FIRST))]}{number}"
    with_mail = rng.random() < 0.75
    has_picture = rng.random() < 0.3
    return User(
        id=user_id,
        name=name,
        provider="email" if with_mail else "github",
        provider_id=None if with_mail else str(rng.getrandbits(40)),
        # The end of the id keeps addresses of two loads apart.
        email=f"{name}.{user_id[-6:]}@example.org" if with_mail else None,
        email_verified=with_mail,
        avatar_url=f"https://avatars.example.org/{user_id}" if has_picture else None,
        username_set=True,
        created_at=iso(created_ms),
    )
