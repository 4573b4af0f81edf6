"""What a site's moderators hear while they work: who is on what, what was decided, what is new in the queue."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from threadkit.ids import SiteId
from threadkit.live.client import Client
from threadkit.live.hub import Hub
from threadkit.live.message import Message
from threadkit.live.meters import LiveMeters
from threadkit.live.sockets import overloaded
from threadkit.live.streams import COME_BACK_MS, EventStream, Line, written
from threadkit.settings import LiveSettings
from threadkit.sites.roles import Role
from threadkit.storage.keys import Keys
from threadkit.users.viewer import Viewer

TOGETHER_S = 0.05
MOST_TOLD = 32
KINDS = ("claimed", "released", "decided", "queued")

Event = dict[str, Any]


class StaffEar:
    """Passes on what is heard, a moment's worth at a time: after a thousand decisions at once nobody wants a thousand
    messages, but to load the list again."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._waiting: list[Event] = []

    def hear(self, text: str) -> None:
        event = msgspec.json.decode(text, type=Event)
        if event.get("type") not in KINDS:
            return
        if not self._waiting:
            asyncio.get_running_loop().call_later(TOGETHER_S, self._pass_on)
        if len(self._waiting) > MOST_TOLD:
            self._waiting.pop()  # it will be `resync` anyway; only the newest length of the queue counts
        self._waiting.append(event)

    def _pass_on(self) -> None:
        events, self._waiting = self._waiting, []
        if len(events) > MOST_TOLD:
            self._client.tell(Message("resync", {"queue": events[-1].get("queue")}))
            return
        for event in events:
            self._client.tell(Message(event.pop("type"), event))


class StaffStreams:
    def __init__(self, *, keys: Keys, hub: Hub, meters: LiveMeters, settings: LiveSettings) -> None:
        self._keys = keys
        self._hub = hub
        self._meters = meters
        self._settings = settings

    async def follow(self, site_id: SiteId, viewer: Viewer, *, address: str, line: Line) -> AsyncIterator[bytes]:
        """The body of the response. It ends when they are no moderator any more."""
        if self._hub.connections >= self._settings.most_connections:
            self._meters.turned_away()
            yield written(overloaded(self._settings), retry_ms=self._settings.poll_every_s * 1000)
            return
        client = EventStream(site_id, self._meters, line)
        client.session_id, client.least_role = viewer.session.id, Role.MODERATOR
        client.wants_notifications = False  # a moderator's own are told elsewhere
        self._hub.add(client, address)
        try:
            with line.on_stop(client.say_goodbye):
                await self._hub.sign_in(client, viewer.id)
                await self._hub.listen(client, self._keys.site(site_id).staff_channel(), StaffEar(client).hear)
                if not client.is_lost:
                    yield written(Message("connected", {"user_id": viewer.id}), retry_ms=COME_BACK_MS)
                async for message in client.messages():
                    yield b": still here\n\n" if message is None else written(message)
        finally:
            client.has_ended()
            self._hub.let_go(client)  # we may be here because all waiting was cancelled
