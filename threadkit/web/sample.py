"""Sample threads for the demo: a small conversation, written once into a store that has no comments yet."""

import importlib.resources
import tomllib

from msgspec import Struct, convert

from threadkit import scoring, text
from threadkit.clock import iso
from threadkit.comments.model import Comment, Status, deleted_fields
from threadkit.comments.scripts import DeleteComment, PostComment
from threadkit.comments.service import posted_event
from threadkit.ids import CommentId, UserId, new_uuid
from threadkit.pages.model import Page, normal_url, page_id_of
from threadkit.services import Services
from threadkit.sites.model import Site
from threadkit.sites.roles import Role
from threadkit.users.model import User
from threadkit.votes.scripts import CastVote
from threadkit.web.demo_pages import address_of, article

MINUTE_MS = 60_000
YEAR_MS = 365 * 86_400_000


class SampleComment(Struct, kw_only=True, forbid_unknown_fields=True):
    """One comment of `demo/threads.toml`."""

    id: str
    page: str
    by: str
    minutes_ago: int
    text: str
    answers: str | None = None
    up: int = 0
    down: int = 0
    is_pinned: bool = False
    is_edited: bool = False
    is_deleted: bool = False


class Sample(Struct, kw_only=True, forbid_unknown_fields=True):
    moderator: str
    people: list[str]
    comments: list[SampleComment]


def sample() -> Sample:
    file = importlib.resources.files("threadkit.web").joinpath("demo", "threads.toml")
    return convert(tomllib.loads(file.read_text(encoding="utf-8")), Sample)


class SampleThreads:
    def __init__(self, services: Services) -> None:
        self._services = services
        redis, keys = services.store.redis, services.keys
        self._post_comment = PostComment(redis, keys)
        self._cast_vote = CastVote(redis, keys)
        self._delete_comment = DeleteComment(redis, keys)

    async def fill(self, site: Site) -> bool:
        """Whether it was written: made-up comments never come among real ones."""
        if await self._has_comments():
            return False
        asked = sample()
        people = {name: await self._person(name, number) for number, name in enumerate(asked.people, start=1)}
        await self._services.roles.grant(site.id, people[asked.moderator].id, Role.MODERATOR)
        written: dict[str, Comment] = {}
        for one in asked.comments:
            written[one.id] = await self._post(site, one, people, written)
            await self._vote(site, written[one.id], one, [person.id for person in people.values()])
        for one in asked.comments:
            if one.is_pinned:
                await self._services.comments.pin(site, written[one.id].id, by=people[asked.moderator].id)
            if one.is_deleted:
                await self._delete(written[one.id])
        return True

    async def _has_comments(self) -> bool:
        services = self._services
        for site in await services.site_queries.all():
            if await services.store.redis.zcard(services.keys.site(site.id).comments()):
                return True
        return False

    async def _person(self, name: str, number: int) -> User:
        # Nobody can sign in as one of them: accounts at GitHub have numbers for ids.
        account = f"threadkit-sample-{number}"
        known = await self._services.user_queries.by_provider("github", account)
        if known is not None:
            return known
        joined = iso(self._services.clock.now_ms() - YEAR_MS)
        user = User(
            id=UserId(new_uuid()),
            name=name,
            provider="github",
            provider_id=account,
            username_set=True,
            created_at=joined,
        )
        return await self._services.user_registry.create(user, may_rename=True)

    async def _post(
        self, site: Site, one: SampleComment, people: dict[str, User], written: dict[str, Comment]
    ) -> Comment:
        url = normal_url(
            address_of(self._services.settings, one.page), drop_tracking=site.settings.drop_tracking_parameters
        )
        created_ms = self._services.clock.now_ms() - one.minutes_ago * MINUTE_MS
        author, source = people[one.by], text.clean_source(one.text)
        named = {name: people[name].id for name in text.find_mentions(source) if name in people}
        comment = Comment(
            id=CommentId(new_uuid()),
            site_id=site.id,
            page_id=page_id_of(site.id, url),
            page_url=url,
            author_id=author.id,
            author_name=author.name,
            parent_id=written[one.answers].id if one.answers else None,
            content=source,
            content_html=text.render(source, mentions=named).html,
            mentions=list(named.values()) or None,
            render_version=text.RENDER_VERSION,
            status=Status.APPROVED,
            created_at=iso(created_ms),
            updated_at=iso(created_ms + (5 * MINUTE_MS if one.is_edited else 0)),
            edited=one.is_edited,
        )
        await self._post_comment(
            comment,
            Page(site_id=site.id, url=url, title=article(one.page).title),
            listing="listed",
            hot=scoring.as_text(scoring.hot(site.settings.hot, 0, 0, created_ms)),
            event=posted_event(comment),
            request_key=None,
        )
        return comment

    async def _vote(self, site: Site, comment: Comment, one: SampleComment, people: list[UserId]) -> None:
        """By the others, in turn: those who like it first."""
        others = [person for person in people if person != comment.author_id]
        directions = ["up"] * one.up + ["down"] * one.down
        for voter, direction in zip(others, directions, strict=False):
            await self._cast_vote(
                comment,
                voter=voter,
                direction=direction,
                up_only=False,
                is_shadowed=False,
                formula=site.settings.hot,
            )

    async def _delete(self, comment: Comment) -> None:
        await self._delete_comment(
            comment,
            await self._services.comment_queries.ancestors(comment),
            fields=deleted_fields(),
            by=comment.author_id,
            now_ms=self._services.clock.now_ms(),
        )
