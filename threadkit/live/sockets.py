"""`/ws`: JSON-RPC 2.0 notifications over WebSocket. Contract 6."""

from typing import Any, Protocol
from urllib.parse import parse_qsl

import msgspec
from litestar.types import Receive, Send
from msgspec import Struct
from redis.exceptions import RedisError

from threadkit.clock import Clock
from threadkit.counters.tally import Tally
from threadkit.errors import Unauthenticated
from threadkit.http.client_address import ClientAddresses
from threadkit.ids import CommentId, PageId, SiteId, is_uuid
from threadkit.live.client import Client
from threadkit.live.hub import Hub
from threadkit.live.message import Message, error, resync
from threadkit.live.meters import LiveMeters
from threadkit.live.protocol import EXTENSION, MOST_UNSENT_BYTES
from threadkit.settings import LiveSettings
from threadkit.sites.model import OpenedSite, PageRule, origin_host
from threadkit.sites.queries import SiteQueries
from threadkit.users.sessions import SessionService

PATHS = ("/ws", "/v1/ws")
TYPING_EVERY_MS = 500


class Call(Struct):
    """What a client says."""

    jsonrpc: str
    method: str
    params: dict[str, Any] | None = None


class Wire(Protocol):
    """What `LiveProtocol` offers."""

    @property
    def is_open(self) -> bool: ...
    @property
    def unsent_bytes(self) -> int: ...
    def allow(self, messages_a_second: int) -> None: ...
    def write_frame(self, frame: bytes) -> None: ...
    def end(self, code: int, reason: str) -> None: ...


class Socket(Client):
    """A WebSocket. The transport's buffer is its queue, and has an end."""

    def __init__(self, site_id: SiteId, wire: Wire, meters: LiveMeters) -> None:
        super().__init__(site_id)
        self._wire = wire
        self._meters = meters
        self.typed_ms: dict[PageId, int] = {}
        self.second = 0
        self.said = 0

    def write(self, message: Message) -> None:
        if not self._wire.is_open:
            return
        if self._wire.unsent_bytes > MOST_UNSENT_BYTES:
            # Too slow for what happens here. They hear that they missed something, should they ever read it.
            self.is_lost = True
            self._meters.dropped()
            self._wire.write_frame(resync(None).frame)
            self._wire.end(1013, "too slow")
            return
        self._wire.write_frame(message.frame)

    def close(self, code: int, reason: str = "") -> None:
        self._wire.end(code, reason)


class Sockets:
    """The door for WebSockets: who may come in, and what they say."""

    def __init__(
        self,
        *,
        hub: Hub,
        site_queries: SiteQueries,
        sessions: SessionService,
        addresses: ClientAddresses,
        tally: Tally,
        clock: Clock,
        meters: LiveMeters,
        settings: LiveSettings,
        pages: PageRule,
    ) -> None:
        self._hub = hub
        self._site_queries = site_queries
        self._sessions = sessions
        self._addresses = addresses
        self._tally = tally
        self._clock = clock
        self._meters = meters
        self._settings = settings
        self._pages = pages

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        await receive()  # the handshake
        if scope["path"] not in PATHS:
            await _refuse(send, 404, "Not found")
            return
        try:
            asked = dict(parse_qsl(scope["query_string"].decode("latin-1"), max_num_fields=20))
        except ValueError:
            await _refuse(send, 400, "Too many parameters")
            return
        try:
            opened = await self._opened(scope, send, asked.get("project_id"))
        except (RedisError, OSError):
            await _refuse(send, 503, "The store is not reachable right now. Please try again.")
            return
        if opened is None:
            return
        address = self._addresses.hashed(self._addresses.of(scope))
        if self._hub.connections_from(address) >= self._settings.sockets_per_address:
            await _refuse(send, 429, "Too many connections from your address.")
            return
        wire: Wire = scope["extensions"][EXTENSION]["protocol"]
        wire.allow(self._settings.messages_per_second)
        await send({"type": "websocket.accept", "subprotocol": None, "headers": []})
        socket = Socket(opened.site.id, wire, self._meters)
        if (
            self._hub.connections >= self._settings.most_connections
            or self._hub.connections_from(address) >= self._settings.sockets_per_address  # others came meanwhile
        ):
            self._meters.turned_away()
            socket.tell(overloaded(self._settings))
            socket.close(1013, "too many connections")
            return
        self._tally.connection(opened.site.id)
        self._tally.key(opened.site.id, opened.key_type.value)
        self._hub.add(socket, address)
        try:
            await self._sign_in(socket, asked.get("token"))
            socket.tell(Message("connected", {"user_id": socket.user_id}))
            await self._converse(socket, receive)
        except (RedisError, OSError):  # before anything was said: nobody knows who they are
            socket.tell(_unavailable())
            socket.close(1013, "try again")
        finally:
            self._hub.let_go(socket)

    async def _opened(self, scope: Any, send: Send, api_key: str | None) -> OpenedSite | None:
        """The site, if this page may speak for it; else the handshake was refused."""
        if not api_key:
            await _refuse(send, 400, "project_id is missing")
            return None
        opened = await self._site_queries.opened_by(api_key)
        if opened is None:
            await _refuse(send, 401, "Invalid API key")
            return None
        origin = dict(scope["headers"]).get(b"origin")
        if origin is not None and not opened.is_owner:
            page = origin.decode("latin-1")
            host = origin_host(page)
            if host is None or not self._pages.allows(page, opened.site):
                await _refuse(send, 403, f"Origin {host or 'null'} not allowed")
                return None
        return opened

    async def _sign_in(self, socket: Socket, token: str | None) -> None:
        """A token that is no good makes nobody of its holder, who may still look."""
        if not token:
            return
        try:
            viewer = await self._sessions.viewer(token, socket.site_id)
        except Unauthenticated:
            return
        if viewer.is_blocked:
            return
        socket.session_id = viewer.session.id
        socket.is_shadowed = viewer.is_shadowed
        await self._hub.sign_in(socket, viewer.id)

    async def _converse(self, socket: Socket, receive: Receive) -> None:
        while True:
            event: Any = await receive()
            if event["type"] == "websocket.disconnect":
                return
            text = event.get("text")
            if text is None or socket.is_lost:
                continue
            self._meters.received()
            if not self._may_speak(socket):
                continue
            try:
                await self._hear(socket, text)
            except (RedisError, OSError):
                self._answer(socket, _unavailable())

    def _may_speak(self, socket: Socket) -> bool:
        """Whoever talks too much hears of it once a second, and not once a message."""
        second = self._clock.now_ms() // 1000
        if second != socket.second:
            socket.second, socket.said = second, 0
        socket.said += 1
        if socket.said == self._settings.messages_per_second + 1:
            self._answer(socket, error("rate_limit", "Too many messages"))
        return socket.said <= self._settings.messages_per_second

    def _answer(self, socket: Socket, message: Message) -> None:
        socket.tell(message)
        self._meters.delivered(1)

    async def _hear(self, socket: Socket, text: str) -> None:
        try:
            call = msgspec.json.decode(text, type=Call)
        except (msgspec.MsgspecError, RecursionError, UnicodeError):
            self._answer(socket, error("invalid_json", "This is not a JSON-RPC 2.0 notification"))
            return
        if call.jsonrpc != "2.0":
            self._answer(socket, error("invalid_method", "Unknown version of JSON-RPC; this is 2.0"))
            return
        params = call.params or {}
        match call.method:
            case "ping":
                self._answer(socket, Message("pong", {}))
            case "authenticate" if socket.user_id is None and isinstance(params.get("token"), str):
                await self._sign_in(socket, params["token"])
                self._answer(socket, Message("connected", {"user_id": socket.user_id}))
            case "subscribe" | "unsubscribe" | "typing" | "stop_typing":
                await self._about_page(socket, call.method, params)
            case unknown:
                self._answer(socket, error("invalid_method", f"Unknown method {unknown[:50]}"))

    async def _about_page(self, socket: Socket, method: str, params: dict[str, Any]) -> None:
        page_id = params.get("page_id")
        if not isinstance(page_id, str) or not is_uuid(page_id):
            self._answer(socket, error("invalid_method", "Unknown page: page_id must be a uuid"))
            return
        page = PageId(page_id)
        if method == "subscribe":
            if page in socket.pages:
                return
            if len(socket.pages) >= self._settings.pages_per_socket:
                self._answer(socket, error("subscription_limit", "Too many pages on one connection"))
                return
            version = params.get("version")
            await self._hub.enter(socket, page, version=version if isinstance(version, int) else None)
        elif method == "unsubscribe":
            socket.typed_ms.pop(page, None)
            await self._hub.leave(socket, page)
        elif page in socket.pages:
            await self._type(socket, page, params.get("reply_to"), has_stopped=method == "stop_typing")

    async def _type(self, socket: Socket, page_id: PageId, reply_to: Any, *, has_stopped: bool) -> None:
        now_ms = self._clock.now_ms()
        if not has_stopped:
            if now_ms - socket.typed_ms.get(page_id, 0) < TYPING_EVERY_MS:
                return
            socket.typed_ms[page_id] = now_ms
        answered = CommentId(reply_to) if isinstance(reply_to, str) and is_uuid(reply_to) else None
        await self._hub.typing(socket, page_id, reply_to=answered, has_stopped=has_stopped)


def _unavailable() -> Message:
    return error("unavailable", "The store is not reachable right now. Please try again.")


def overloaded(settings: LiveSettings) -> Message:
    """Asks a client to look now and then instead, which costs us far less than a connection."""
    return Message("overloaded", {"use": "polling", "changes": "/v1/changes", "every_s": settings.poll_every_s})


async def _refuse(send: Send, status: int, sentence: str) -> None:
    body = sentence.encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await send({"type": "websocket.http.response.start", "status": status, "headers": headers})
    await send({"type": "websocket.http.response.body", "body": body})  # type: ignore[arg-type]
