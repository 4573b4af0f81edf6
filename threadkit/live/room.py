"""One page in one worker: who looks at it, and what they are told, in order."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec
import structlog
from redis.exceptions import RedisError

from threadkit.comments.model import Comment, TreeComment
from threadkit.comments.tree import is_visible
from threadkit.ids import CommentId, PageId, SiteId, UserId
from threadkit.live.client import Client
from threadkit.live.lookups import Lookups
from threadkit.live.message import Message, resync
from threadkit.users.model import ANONYMOUS_USER

log = structlog.get_logger()

# The author learns their comment's id from the HTTP answer; an echo before that would look like somebody else's.
ECHO_AFTER_S = 0.1
VOTES_EVERY_S = 0.25
MOST_WAITING = 1000

Event = dict[str, Any]
_ABOUT_A_COMMENT = ("new_comment", "edit_comment")
_ABOUT_A_USER = ("user_joined", "typing")


class Room:
    """Clients of one site on one page, be it theirs or not."""

    def __init__(
        self,
        site_id: SiteId,
        page_id: PageId,
        lookups: Lookups,
        on_delivered: Callable[[int], None],
        on_told: Callable[[float], None],
    ) -> None:
        self.site_id = site_id
        self.page_id = page_id
        self.clients: set[Client] = set()
        self.users: dict[UserId, int] = {}
        self.version: int | None = None
        self.version_in_store = 0  # at the last heartbeat
        self._version_heard = 0  # with the last event that had one
        self.is_ready = asyncio.Event()
        self.told = 0  # how many connections the store knows of through this worker
        self.others = 0  # and through others
        self.beat_at = 0.0
        self.is_changed = False
        self._lookups = lookups
        self._on_delivered = on_delivered
        self._on_told = on_told
        self._waiting: deque[Event] = deque()
        self._working: asyncio.Task[None] | None = None
        self._telling: set[asyncio.Task[None]] = set()
        self._votes: dict[CommentId, Message | None] = {}

    @property
    def viewers(self) -> int:
        return self.others + len(self.clients)

    def hear(self, text: str) -> None:
        """An event from the page's channel, which anybody can listen to who knows the page's id."""
        event: Event = msgspec.json.decode(text, type=Event)
        if not isinstance(event.get("type"), str) or event.get("site_id") != self.site_id:
            return
        if len(self._waiting) >= MOST_WAITING:
            self._waiting.clear()
            event = {"type": "resync"}
        event["heard_at"] = asyncio.get_running_loop().time()
        self._waiting.append(event)
        if self._working is None:
            self._work()

    def resync(self) -> None:
        self._waiting.clear()
        self._tell(resync(self.page_id))

    def start_over(self) -> None:
        """Nobody knows what was missed."""
        self.version, self.version_in_store, self._version_heard = None, 0, 0
        self.resync()

    def note_version(self, version: int, *, known: int | None) -> None:
        """What a heartbeat says, and what was known when it was sent. The events up to there may still be on their way.

        A store that knows less than we did has been replaced by a replica that had not received it all.
        """
        self.version_in_store = version
        if self.version is None:
            self.version = version
        elif known is not None and version < known:
            self.version = self._version_heard = version
            self.resync()

    def notice_loss(self) -> None:
        """What the heartbeat before this one knew of and we still do not was lost: while a slot moves, its events may
        already be published at the node that it moves to."""
        if self.version is not None and self.version < self.version_in_store and not self._waiting:
            self.version = self.version_in_store
            self.resync()

    def close(self) -> None:
        self._waiting.clear()

    def _work(self) -> None:
        """Most events need nothing from the store and are told at once; the others wait for it together."""
        while self._waiting:
            if self._needs_store(self._waiting[0]):
                self._working = asyncio.create_task(self._look_up(), name="room")
                return
            self._pass_on(self._waiting.popleft(), None)

    def _needs_store(self, event: Event) -> bool:
        return event["type"] in (*_ABOUT_A_COMMENT, *_ABOUT_A_USER)

    async def _look_up(self) -> None:
        try:
            batch = list(self._waiting)
            comment_ids = [
                CommentId(str(event.get("comment_id"))) for event in batch if event["type"] in _ABOUT_A_COMMENT
            ]
            user_ids = [UserId(str(event.get("user_id"))) for event in batch if event["type"] in _ABOUT_A_USER]
            comments = await self._lookups.comments(self.site_id, comment_ids)
            people = await self._lookups.people(user_ids)
            for event in batch:
                if self._waiting and self._waiting[0] is event:  # not cleared meanwhile
                    self._waiting.popleft()
                    self._pass_on(
                        event, comments.get(str(event.get("comment_id"))) or people.get(str(event.get("user_id")))
                    )
        except Exception as error:  # the store is away, or has what we do not understand: these cannot be told
            if not isinstance(error, RedisError | OSError):
                log.warning("events_dropped", page_id=self.page_id, why=repr(error))
            self.resync()
        finally:
            self._working = None
            self._work()

    def _pass_on(self, event: Event, found: Any) -> None:
        try:
            self._interpret(event, found)
            self._on_told(asyncio.get_running_loop().time() - event["heard_at"])
        except (LookupError, TypeError, ValueError) as error:
            # Not written by us: others can reach the channel too.
            log.warning("event_not_understood", page_id=self.page_id, why=repr(error))

    def _interpret(self, event: Event, found: Any) -> None:
        version = event.get("version")
        if version is not None:
            # Every version is heard of once and in order, unless a replica took over that had not received the newest.
            is_taken_back = version <= self._version_heard
            if is_taken_back or (self.version is not None and version > self.version + 1):
                self._tell(resync(self.page_id))
            self.version = self._version_heard = version
        match event["type"]:
            case "new_comment":
                self._new_comment(event, found)
            case "edit_comment" if found is not None and is_visible(found, None, frozenset()):
                params = {"comment_id": found.id, "content": found.content, "content_html": found.content_html}
                self._tell(self._change(event, params), about=found.author_id)
            case "delete_comment" | "author_gone":
                self._tell(self._change(event, {"comment_id": event["comment_id"]}))
            case "vote_update":
                self._vote(event)
            case "pin_update":
                params = {name: event[name] for name in ("comment_id", "pinned", "pinned_at")}
                self._tell(self._change(event, params))
            case "lock_update":
                self._tell(self._change(event, {"locked": event["locked"]}))
            case "user_joined" | "typing" if found is not None:
                params = {"user": found}
                if event["type"] == "typing":
                    params["reply_to"] = event["reply_to"]
                self._tell(self._message(event["type"], params), but=found.id, about=found.id)
            case "user_left" | "stop_typing":
                user_id = event["user_id"]
                self._tell(self._message(event["type"], {"user_id": user_id}), but=user_id, about=user_id)
            case "viewers":
                self.others = max(0, event["viewers"] - self.told)
                self._tell(self._message("viewers", {"viewers": event["viewers"]}))
            case "resync":
                self._tell(resync(self.page_id))

    def _new_comment(self, event: Event, comment: Comment | None) -> None:
        if comment is None:
            return
        message = self._change(event, {"comment": TreeComment.of(comment)})
        only = event.get("only")
        if only is None and not is_visible(comment, None, frozenset()):
            return
        author = comment.author_id
        for client in self.clients:
            if only is not None and client.user_id != only:
                continue
            if author in client.blocked:
                continue
            may_be_author = client.user_id == (None if author == ANONYMOUS_USER else author)
            client.tell(message, after_s=ECHO_AFTER_S if may_be_author else 0)
        self._on_delivered(len(self.clients))

    def _vote(self, event: Event) -> None:
        """The first at once, those right behind it together: at most four a second for one comment."""
        comment_id = CommentId(event["comment_id"])
        params = {name: event[name] for name in ("comment_id", "upvotes", "downvotes")}
        message = self._change(event, params)
        if only := event.get("only"):
            for client in [one for one in self.clients if one.user_id == only]:
                client.tell(message)
            return
        if comment_id in self._votes:
            self._votes[comment_id] = message
            return
        self._tell_vote(message)
        self._votes[comment_id] = None
        asyncio.get_running_loop().call_later(VOTES_EVERY_S, self._settle_votes, comment_id)

    def _settle_votes(self, comment_id: CommentId) -> None:
        message = self._votes.pop(comment_id, None)
        if message is not None:
            self._tell_vote(message)
            self._votes[comment_id] = None
            asyncio.get_running_loop().call_later(VOTES_EVERY_S, self._settle_votes, comment_id)

    def _tell_vote(self, message: Message) -> None:
        """Those who are shadow-banned hear of it with their own vote counted, or they would know."""
        shadowed = [client for client in self.clients if client.is_shadowed]
        for client in self.clients.difference(shadowed):
            client.tell(message)
        self._on_delivered(len(self.clients))
        if shadowed:
            task = asyncio.create_task(self._tell_shadowed(shadowed, message.params), name="room")
            self._telling.add(task)
            task.add_done_callback(self._telling.discard)

    async def _tell_shadowed(self, clients: list[Client], params: dict[str, Any]) -> None:
        comment_id, counts = params["comment_id"], {"up": params["upvotes"], "down": params["downvotes"]}
        for client in clients:
            told = dict(counts)
            try:
                if client.user_id and (
                    own := await self._lookups.uncounted_vote(self.site_id, client.user_id, self.page_id, comment_id)
                ):
                    told[own] += 1
            except (RedisError, OSError):
                client.tell(resync(self.page_id))
            else:
                own_counts = {"upvotes": told["up"], "downvotes": told["down"]}
                client.tell(Message("vote_update", params | own_counts))

    def _change(self, event: Event, params: dict[str, Any]) -> Message:
        """With the page's version that has it, and the number of its comments, where something visible changed."""
        facts = {name: event[name] for name in ("version", "total") if name in event}
        return self._message(event["type"], params | facts)

    def _message(self, method: str, params: dict[str, Any]) -> Message:
        return Message(method, {"page_id": self.page_id} | params)

    def _tell(self, message: Message, *, but: UserId | None = None, about: UserId | None = None) -> None:
        """Tell everybody; `but` somebody whom it is about, and not those who blocked the one it is `about`."""
        for client in self.clients:
            if but is not None and client.user_id == but:
                continue
            if about is not None and about in client.blocked:
                continue
            client.tell(message)
        self._on_delivered(len(self.clients))
