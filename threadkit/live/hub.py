"""The hub of one worker: pages to the people who look at them, over one connection to the store."""

import asyncio
import contextlib
import functools
import random
from collections.abc import Collection, Coroutine
from typing import Any

import msgspec
import structlog
from redis.exceptions import ConnectionError as StoreConnectionError
from redis.exceptions import RedisError
from redis.exceptions import TimeoutError as StoreTimeoutError

from threadkit.clock import Clock, iso
from threadkit.ids import CommentId, PageId, SiteId, UserId, random_text
from threadkit.live.client import Client
from threadkit.live.lookups import Lookups
from threadkit.live.message import Message, restart, resync
from threadkit.live.meters import LiveMeters
from threadkit.live.room import Room
from threadkit.live.scripts import Beat, JoinPage, LeavePage, LookAtPage, NoteTyping
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.storage.listener import Listener, Receiver
from threadkit.users.model import UserPublic
from threadkit.users.queries import UserQueries

log = structlog.get_logger()

MOST_NAMED = 100
BEAT_EVERY_S = 15.0
CHANGES_EVERY_S = 1.0
SESSIONS_EVERY_S = 30.0
ERRANDS_S = 5.0

RoomKey = tuple[SiteId, PageId]
_AWAY = (StoreConnectionError, StoreTimeoutError, OSError)


class Hub:
    def __init__(
        self,
        *,
        redis: Commands,
        keys: Keys,
        clock: Clock,
        listener: Listener,
        user_queries: UserQueries,
        lookups: Lookups,
        meters: LiveMeters,
    ) -> None:
        self._keys = keys
        self._clock = clock
        self._listener = listener
        self._user_queries = user_queries
        self._lookups = lookups
        self._meters = meters
        self._join = JoinPage(redis, keys)
        self._leave = LeavePage(redis, keys)
        self._look = LookAtPage(redis, keys)
        self._beat = Beat(redis, keys)
        self._note_typing = NoteTyping(redis, keys)
        self._worker = random_text(12)
        self._rooms: dict[RoomKey, Room] = {}
        self._clients: set[Client] = set()
        self._per_address: dict[str, int] = {}
        self._of_user: dict[UserId, set[Client]] = {}
        self._ears: dict[UserId, Receiver] = {}
        self._stopping = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._errands: set[asyncio.Task[None]] = set()
        listener.on_back(self._hear_again)
        listener.on(keys.shared.site_deletions(), self._hear_of_deletion)

    @property
    def connections(self) -> int:
        return len(self._clients)

    async def start(self) -> None:
        self._tasks = [
            asyncio.create_task(self._keep_beating(), name="hub-beats"),
            asyncio.create_task(self._keep_checking(), name="hub-sessions"),
        ]

    async def stop(self) -> None:
        """Sockets are told to come back, spread over some seconds; who was here is taken off the lists."""
        self._stopping.set()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for client in list(self._clients):
            client.tell(restart(random.randrange(500, 10_000)))  # noqa: S311
            client.close(1012, "restart")
            await self.drop(client)
        if self._errands:
            await asyncio.wait(self._errands, timeout=ERRANDS_S)

    # --- Clients ------------------------------------------------------------------------------------------------------

    def connections_from(self, address: str) -> int:
        return self._per_address.get(address, 0)

    def add(self, client: Client, address: str) -> None:
        client.address = address
        self._clients.add(client)
        self._per_address[address] = self._per_address.get(address, 0) + 1
        self._meters.opened()
        self._meters.connections(len(self._clients))

    async def sign_in(self, client: Client, user_id: UserId) -> None:
        """From now on a client is somebody: what concerns them reaches it, and they are seen on its pages."""
        client.user_id = user_id
        if client.is_lost:
            return
        clients = self._of_user.setdefault(user_id, set())
        clients.add(client)
        channel = self._keys.user(user_id).channel()
        if len(clients) == 1:
            hear = self._ears[user_id] = functools.partial(self._hear_of, user_id)
            await self._listener.subscribe(channel, hear)
        else:
            await self._listener.confirmed(channel)
        try:
            await self._check(client)  # their session may have ended before we listened
        except (RedisError, OSError):  # they are told, and can ask again
            await self._sign_out(client)
            client.user_id = None
            raise
        await self._show_or_hide(client)

    async def _sign_out(self, client: Client) -> None:
        user_id = client.user_id
        if user_id is not None and (clients := self._of_user.get(user_id)) is not None:
            clients.discard(client)
            if not clients:
                del self._of_user[user_id]
                await self._listener.unsubscribe(self._keys.user(user_id).channel(), self._ears.pop(user_id))

    async def drop(self, client: Client) -> None:
        """Forget a client whose connection is over."""
        client.is_lost = True
        if client not in self._clients:
            return
        self._clients.discard(client)
        self._meters.connections(len(self._clients))
        self._per_address[client.address] -= 1
        if not self._per_address[client.address]:
            del self._per_address[client.address]
        for page_id in list(client.pages):
            with contextlib.suppress(RedisError, OSError):  # heartbeats stop, which says the same a little later
                await self.leave(client, page_id)
        for channel, hear in client.ears:
            await self._listener.unsubscribe(channel, hear)
        client.ears.clear()
        await self._sign_out(client)

    async def listen(self, client: Client, channel: str, hear: Receiver) -> None:
        """Let a client hear a channel of the store, for as long as it is here."""
        if not client.is_lost:
            client.ears.append((channel, hear))
            await self._listener.subscribe(channel, hear)

    def let_go(self, client: Client) -> None:
        """Drop a client from where nothing can be waited for."""
        client.is_lost = True
        self._spawn(self.drop(client))

    # --- Pages --------------------------------------------------------------------------------------------------------

    async def enter(self, client: Client, page_id: PageId, *, version: int | None = None) -> None:
        """Let a client see a page live. With the version they have, they hear at once whether it is an old one."""
        client.pages.add(page_id)
        try:
            await self._enter(client, page_id, version)
        except (RedisError, OSError):
            # They are told, and can ask again; half in the room they could not.
            with contextlib.suppress(RedisError, OSError):
                await self.leave(client, page_id)
            raise

    async def _enter(self, client: Client, page_id: PageId, version: int | None) -> None:
        room = await self._room(client.site_id, page_id)
        if client.is_lost or page_id not in client.pages:
            self._close_if_empty(room)
            return
        with client.held():
            room.clients.add(client)
            room.is_changed = True
            await self._appear(room, client)
            await self._welcome(client, room, version)

    async def _welcome(self, client: Client, room: Room, version: int | None) -> None:
        page_id = room.page_id
        sight = await self._look(room.site_id, page_id, now_ms=self._clock.now_ms(), most=MOST_NAMED)
        if room.version is None:
            room.version = sight.version
        people = await self._lookups.people([*sight.present, *sight.typing])

        def known(user_ids: list[UserId]) -> list[UserPublic]:
            return [people[user_id] for user_id in user_ids if user_id in people and user_id not in client.blocked]

        users = known(sight.present)
        viewers = max(room.viewers, len(users))
        presence = Message("presence", {"page_id": page_id, "users": users, "viewers": viewers})
        client.tell_first(presence, covers=functools.partial(_covers, page_id, set(sight.present)))
        if version is not None and version != sight.version:
            client.tell(resync(page_id))
        for person in known(sight.typing):
            if person.id != client.user_id:
                client.tell(Message("typing", {"page_id": page_id, "user": person, "reply_to": None}))

    async def leave(self, client: Client, page_id: PageId) -> None:
        client.pages.discard(page_id)
        room = self._rooms.get((client.site_id, page_id))
        if room is None or client not in room.clients:
            return
        room.clients.discard(client)
        room.is_changed = True
        try:
            await self._disappear(room, client)
        finally:
            self._close_if_empty(room)

    async def typing(self, client: Client, page_id: PageId, *, reply_to: CommentId | None, has_stopped: bool) -> None:
        room = self._rooms.get((client.site_id, page_id))
        if room is None or client.user_id is None or client not in room.clients or client.is_shadowed:
            return
        await self._note_typing(
            room.site_id,
            room.page_id,
            client.user_id,
            now_ms=self._clock.now_ms(),
            reply_to=reply_to,
            has_stopped=has_stopped,
        )

    async def _room(self, site_id: SiteId, page_id: PageId) -> Room:
        key = (site_id, page_id)
        room = self._rooms.get(key)
        if room is None:
            room = self._rooms[key] = Room(site_id, page_id, self._lookups, self._meters.delivered, self._meters.told)
            self._meters.rooms(len(self._rooms))
            try:
                await self._listener.subscribe(self._channel(room), room.hear)
            except BaseException:
                del self._rooms[key]
                self._meters.rooms(len(self._rooms))
                self._spawn(self._listener.unsubscribe(self._channel(room), room.hear))
                raise
            finally:
                room.is_ready.set()
        await room.is_ready.wait()
        if self._rooms.get(key) is not room:
            return await self._room(site_id, page_id)
        return room

    def _channel(self, room: Room) -> str:
        return self._keys.site(room.site_id).page_channel(room.page_id)

    def _close_if_empty(self, room: Room) -> None:
        if room.clients or self._rooms.get((room.site_id, room.page_id)) is not room:
            return
        del self._rooms[room.site_id, room.page_id]
        room.close()
        self._meters.rooms(len(self._rooms))
        self._spawn(self._say_goodbye(room))

    async def _say_goodbye(self, room: Room) -> None:
        await self._listener.unsubscribe(self._channel(room), room.hear)
        if (room.site_id, room.page_id) in self._rooms:
            return  # somebody came back meanwhile, and speaks for this worker
        with contextlib.suppress(RedisError, OSError):
            await self._tell_store(room)

    async def _appear(self, room: Room, client: Client) -> None:
        """Count a user in; they are told of to others only if they were nowhere else on the page."""
        user_id = client.user_id
        if user_id is None or client.is_shadowed or room.page_id in client.seen_on:
            return
        client.seen_on.add(room.page_id)
        room.users[user_id] = room.users.get(user_id, 0) + 1
        await self._join(room.site_id, room.page_id, user_id, worker=self._worker, now_ms=self._clock.now_ms())

    async def _disappear(self, room: Room, client: Client) -> None:
        user_id = client.user_id
        if user_id is None or room.page_id not in client.seen_on:
            return
        client.seen_on.discard(room.page_id)
        left = room.users.get(user_id, 0) - 1
        if left > 0:
            room.users[user_id] = left
            return
        if room.users.pop(user_id, None) is not None:
            await self._leave(room.site_id, room.page_id, user_id, worker=self._worker)

    async def _show_or_hide(self, client: Client) -> None:
        for page_id in list(client.pages):
            if (room := self._rooms.get((client.site_id, page_id))) is not None and client in room.clients:
                room.is_changed = True  # should this fail, the next heartbeat says it
                with contextlib.suppress(RedisError, OSError):
                    await (self._disappear if client.is_shadowed else self._appear)(room, client)

    # --- What is heard ------------------------------------------------------------------------------------------------

    def _hear_again(self, channels: Collection[str]) -> None:
        """The store was away, and nobody knows what was missed: everybody must look again. In a cluster a part of it was,
        and those look again who heard something from there."""
        away = frozenset(channels)
        for room in self._rooms.values():
            if self._channel(room) in away:
                room.start_over()
        people = [user_id for user_id in self._of_user if self._keys.user(user_id).channel() in away]
        self._spawn(self.check([client for user_id in people for client in self._of_user[user_id]]))
        for client in self._clients:
            if any(channel in away for channel, _ in client.ears):
                client.tell(resync(None))

    def _hear_of(self, user_id: UserId, text: str) -> None:
        event = msgspec.json.decode(text)
        clients = list(self._of_user.get(user_id, ()))
        if event.get("type") == "notification":
            message = Message("notification", event["notification"] | {"unread": event.get("unread")})
            for client in clients:
                if client.wants_notifications and event.get("site_id", client.site_id) == client.site_id:
                    client.tell(message)
        else:
            self._spawn(self.check(clients))

    def _hear_of_deletion(self, site_id: str) -> None:
        """A site is gone: nobody can stay there."""
        for client in [one for one in self._clients if one.site_id == site_id]:
            client.close(4404, "site deleted")
            self.let_go(client)

    def _signed_in(self) -> list[Client]:
        return [client for clients in self._of_user.values() for client in clients]

    async def check(self, clients: list[Client]) -> None:
        """Cut off whoever may not be here any more."""
        for client in clients:
            try:
                await self._check(client)
            except Exception as error:
                if self._is_away(error):
                    return  # we look at everybody again soon
                if not isinstance(error, RedisError | OSError):
                    log.warning("check_failed", user_id=client.user_id, why=repr(error))

    async def _check(self, client: Client) -> None:
        if client.user_id is None or client.session_id is None or client.is_lost:
            return
        viewer = await self._user_queries.viewer(client.user_id, client.session_id, client.site_id)
        if viewer is None:
            client.close(4401, "session ended")
            await self.drop(client)
        elif viewer.is_blocked:
            until = iso(viewer.banned_until_ms) if viewer.banned_until_ms else None
            client.tell(Message("error", {"code": "user_banned", "message": "User is blocked", "until": until}))
            client.close(4403, "user banned")
            await self.drop(client)
        elif viewer.role < client.least_role:
            client.tell(Message("error", {"code": "role_lost", "message": "You have not the role any more"}))
            client.close(4403, "role lost")
            await self.drop(client)
        else:
            client.blocked = frozenset(await self._user_queries.blocked_by(viewer.id))
            if client.is_shadowed != viewer.is_shadowed:
                client.is_shadowed = viewer.is_shadowed
                await self._show_or_hide(client)

    def _is_away(self, error: Exception) -> bool:
        """Whether the whole store is: of a cluster, other nodes may be there."""
        return not self._keys.tagged and isinstance(error, _AWAY)

    # --- What happens by the clock ------------------------------------------------------------------------------------

    async def _keep_beating(self) -> None:
        loop = asyncio.get_running_loop()
        while not await self._paused(CHANGES_EVERY_S):
            silent: set[SiteId] = set()  # in a cluster all of a site is on one node
            for room in list(self._rooms.values()):
                room.notice_loss()
                is_due = room.is_changed or loop.time() - room.beat_at >= BEAT_EVERY_S
                if not is_due or room.site_id in silent:
                    continue
                try:
                    await self._tell_store(room)
                except Exception as error:
                    if self._is_away(error):
                        break  # the next round tries again
                    if isinstance(error, _AWAY):
                        silent.add(room.site_id)
                    else:
                        room.is_changed = False  # something is wrong with this page; the next heartbeat is soon enough
                        log.warning("heartbeat_failed", page_id=room.page_id, why=repr(error))

    async def _tell_store(self, room: Room) -> None:
        room.is_changed = False
        room.beat_at = asyncio.get_running_loop().time()
        mine = room.told = len(room.clients)
        known = room.version
        try:
            pulse = await self._beat(
                room.site_id,
                room.page_id,
                worker=self._worker,
                now_ms=self._clock.now_ms(),
                connections=mine,
                users=list(room.users),
            )
        except BaseException:
            room.is_changed = True
            raise
        room.others = max(0, pulse.viewers - mine)
        room.note_version(pulse.version, known=known)

    async def _keep_checking(self) -> None:
        """A message about an ended session can be lost; nobody stays for long because of that."""
        while not await self._paused(SESSIONS_EVERY_S):
            await self.check(self._signed_in())

    async def _paused(self, seconds: float) -> bool:
        """Wait; says whether it is time to stop."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)
        return self._stopping.is_set()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._errands.add(task)
        task.add_done_callback(self._errand_done)

    def _errand_done(self, task: "asyncio.Task[None]") -> None:
        self._errands.discard(task)
        _note_failure(task)


def _covers(page_id: PageId, present: set[UserId], message: Message) -> bool:
    """Whether a list of those present says already that somebody came or left."""
    if message.method == "user_joined":
        return message.params["page_id"] == page_id and message.params["user"].id in present
    if message.method == "user_left" and len(present) < MOST_NAMED:
        return message.params["page_id"] == page_id and message.params["user_id"] not in present
    return False


def _note_failure(task: "asyncio.Task[None]") -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.warning("live_trouble", why=repr(error))
