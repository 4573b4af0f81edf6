"""The floors: the least that could do the work, on the same server software, in processes of their own.

`python -m tests.bench.floors KIND PORT FILE` serves one of them; FILE is JSON that says what it needs.
"""

import asyncio
import base64
import itertools
import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import msgspec
import uvicorn
from litestar import Litestar, post
from litestar.params import FromPath, JSONBody
from litestar.types import Receive, Scope, Send
from msgspec.structs import replace
from redis.asyncio import Redis

from tests.bench.socket_floors import loop_of_sends, serve_raw
from threadkit import scoring, text
from threadkit.clock import SystemClock, iso
from threadkit.comments.model import Comment, CommentDraft, Status, TreeComment
from threadkit.comments.scripts import PostComment
from threadkit.ids import CommentId, SiteId, UserId, new_uuid
from threadkit.pages.model import Page, normal_url, page_id_of
from threadkit.scoring import HotFormula
from threadkit.server import serve
from threadkit.settings import Settings
from threadkit.storage.bundled import address_in
from threadkit.storage.client import Commands, Store
from threadkit.storage.keys import Keys
from threadkit.storage.records import from_hash
from threadkit.votes.scripts import CastVote
from threadkit.votes.service import Direction, VoteResult

Needs = dict[str, Any]
_FORMULA = HotFormula()
_KEYS = Keys()


class Vote(msgspec.Struct):
    direction: Direction


class PostedComment(msgspec.Struct):
    comment: TreeComment


def answer(needs: Needs) -> Any:
    """The same bytes for every request."""
    head = {
        "type": "http.response.start",
        "status": needs["status"],
        "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in needs["headers"]],
    }
    body = {"type": "http.response.body", "body": base64.b64decode(needs["body"]), "more_body": False}

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":  # type: ignore[comparison-overlap]
            await _live(receive, send)
            return
        await send(head)  # type: ignore[arg-type]
        await send(body)  # type: ignore[arg-type]

    return app


def cold(needs: Needs) -> Any:
    """A page's comments: fetched in two round trips, encoded, sent."""
    store = _store(needs)
    site_id = SiteId(needs["site_id"])
    keys = _KEYS.site(site_id)

    async def app(scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send)
            return
        url = parse_qs(scope["query_string"].decode())["page_url"][0]
        ids = await store.redis.zrange(keys.page_new(page_id_of(site_id, url)), -5000, -1)
        async with store.redis.pipeline(transaction=False) as pipe:
            for comment_id in ids:
                pipe.hgetall(keys.comment(comment_id))
            found = await pipe.execute()
        body = msgspec.json.encode(found)
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body, "more_body": False})

    return app


def vote(needs: Needs) -> Litestar:
    """A bare handler that makes the one call of a vote, with everything else known beforehand."""
    redis = _library_client(needs)
    cast_vote = CastVote(redis, _KEYS)
    site_id = SiteId(needs["site_id"])
    comments: dict[str, Comment] = {}
    voters = itertools.cycle([UserId(new_uuid()) for _ in range(needs["voters"])])

    @asynccontextmanager
    async def know_comments(_: Litestar) -> AsyncIterator[None]:
        keys = _KEYS.site(site_id)
        ids = await redis.zrange(keys.page_new(page_id_of(site_id, needs["page_url"])), 0, -1)
        for comment_id in ids:
            comments[comment_id] = from_hash(Comment, await redis.hgetall(keys.comment(comment_id)))
        yield

    @post("/v1/comments/{comment_id:str}/vote", status_code=200)
    async def handle(comment_id: FromPath[str], data: JSONBody[Vote]) -> VoteResult:
        comment = comments[comment_id]
        counts = await cast_vote(
            comment,
            voter=next(voters),
            direction=data.direction,
            up_only=False,
            is_shadowed=False,
            formula=_FORMULA,
        )
        comments[comment_id] = replace(comment, upvotes=counts.up, downvotes=counts.down)
        return VoteResult(counts.up, counts.down, counts.own, counts.version)  # type: ignore[arg-type]

    return Litestar([handle], lifespan=[know_comments], openapi_config=None, logging_config=None)


def post_comment(needs: Needs) -> Litestar:
    """A bare handler that renders and makes the one call of a new comment."""
    write = PostComment(_library_client(needs), _KEYS)
    site_id = SiteId(needs["site_id"])
    author = UserId(new_uuid())

    @post("/v1/comments", status_code=200)
    async def handle(data: JSONBody[CommentDraft]) -> PostedComment:
        url = normal_url(data.page_url or "", drop_tracking=True)
        source = text.clean_source(data.content)
        now_ms = SystemClock().now_ms()
        comment = Comment(
            id=CommentId(new_uuid()),
            site_id=site_id,
            page_id=page_id_of(site_id, url),
            page_url=url,
            author_id=author,
            author_name="floor",
            content=source,
            content_html=text.render(source).html,
            render_version=text.RENDER_VERSION,
            status=Status.APPROVED,
            created_at=iso(now_ms),
            updated_at=iso(now_ms),
        )
        await write(
            comment,
            Page(site_id=site_id, url=url),
            listing="listed",
            hot=scoring.as_text(scoring.hot(_FORMULA, 0, 0, now_ms)),
            event=msgspec.json.encode({"type": "comment_posted", "user_id": author, "comment_id": comment.id}),
            request_key=None,
        )
        return PostedComment(TreeComment.of(comment))

    return Litestar([handle], openapi_config=None, logging_config=None)


class _Trivial(asyncio.Protocol):
    """No server at all: bytes for bytes. Shows how fast the load generator itself can be."""

    answer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._transport.write(self.answer)  # type: ignore[attr-defined]


async def _serve_trivial(port: int, needs: Needs) -> None:
    _Trivial.answer = base64.b64decode(needs["answer"])
    server = await asyncio.get_running_loop().create_server(_Trivial, "127.0.0.1", port)
    await server.serve_forever()


def _store(needs: Needs) -> Store:
    folder = Path(needs["data"])
    settings = Settings(data=str(folder))
    return Store(address_in(folder), settings.store)


def _library_client(needs: Needs) -> Commands:
    """redis-py as one would use it in a bare handler. What our own connection saves is part of what is measured."""
    return Redis(unix_socket_path=str(Path(needs["data"]) / "store.sock"), decode_responses=True)


async def _live(receive: Any, send: Any) -> None:
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await send({"type": "lifespan.shutdown.complete"})


KINDS: dict[str, Callable[[Needs], Any]] = {
    "answer": answer,
    "cold": cold,
    "vote": vote,
    "post": post_comment,
    "sockets": loop_of_sends,
}
WITHOUT_SERVER = {"trivial": _serve_trivial, "raw_sockets": serve_raw}


def main(kind: str, port: int, file: Path) -> None:
    needs = json.loads(file.read_text())
    if kind in WITHOUT_SERVER:
        import uvloop

        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(WITHOUT_SERVER[kind](port, needs))
    else:
        config = serve.uvicorn_config(Settings(port=port), KINDS[kind](needs))
        config.http = "httptools"  # without our own lane in front
        config.ws = needs.get("ws", config.ws)
        uvicorn.Server(config).run()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
