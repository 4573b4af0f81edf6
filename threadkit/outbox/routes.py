"""The operator looks after the outboxes: what waits, what was given up, and trying it again."""

from typing import Annotated

from litestar.di import NamedDependency
from litestar.params import FromPath, QueryParameter
from msgspec import Struct

from threadkit.clock import iso
from threadkit.http.parameters import as_id
from threadkit.http.routing import Router, delete, get, post
from threadkit.ids import SiteId
from threadkit.outbox.model import FoundDead, State
from threadkit.services import Services
from threadkit.sites.admin_access import requires_operator

MOST_AT_ONCE = 1000
MOST_SITES = 100
OfSite = Annotated[
    str | None, QueryParameter(max_length=36, description="Whose letter, where two sites have one of this id.")
]


class SiteOutbox(Struct, kw_only=True):
    site_id: SiteId
    site: str | None
    waiting: int
    oldest_waits_since: str | None
    retrying: int
    next_try: str | None
    dead: int


class DeadLetterView(Struct, kw_only=True):
    """What was given up, without what it was about: that is people's data. `handler` is whose part of it failed."""

    id: str
    site_id: SiteId
    kind: str | None
    handler: str | None
    given_up: str
    tries: int
    why: str


class Outboxes(Struct, kw_only=True):
    """All sites together, and those alone where there is something, a hundred at most."""

    waiting: int
    retrying: int
    dead: int
    oldest_waits_since: str | None
    oldest_waits_s: int | None
    sites: list[SiteOutbox]
    letters: list[DeadLetterView]
    next: str | None


class PutBack(Struct):
    put_back: int
    left: int


@get("/outbox", summary="What waits to be carried out, and what could not be")
async def outboxes(
    services: NamedDependency[Services],
    limit: Annotated[int, QueryParameter(ge=1, le=100)] = 50,
    cursor: Annotated[str | None, QueryParameter(max_length=80, description="`next` of the answer before.")] = None,
) -> Outboxes:
    """`retrying` is what failed and is tried again, dead letters are what was given up, the newest first."""
    states = await services.outbox_queries.all_states()
    letters = await services.outbox_queries.newest_dead(_with_dead(states), before=cursor, limit=limit + 1)
    oldest_ms = min((state.oldest_ms for state in states if state.oldest_ms is not None), default=None)
    busy = [state for state in states if state.waiting or state.retrying or state.dead][:MOST_SITES]
    return Outboxes(
        waiting=sum(state.waiting for state in states),
        retrying=sum(state.retrying for state in states),
        dead=sum(state.dead for state in states),
        oldest_waits_since=_time(oldest_ms),
        oldest_waits_s=None if oldest_ms is None else max(0, services.clock.now_ms() - oldest_ms) // 1000,
        sites=[await _site(services, state) for state in busy],
        letters=[_letter(found) for found in letters[:limit]],
        next=letters[limit - 1].place if len(letters) > limit else None,
    )


@post("/outbox/{letter_id:str}/retry", status_code=200, summary="Try a dead letter again")
async def retry_letter(
    letter_id: FromPath[str], services: NamedDependency[Services], site_id: OfSite = None
) -> PutBack:
    """At once, and with all its tries anew."""
    return await _put_back(services, await _found(services, letter_id, site_id))


@post("/outbox/retry-all", status_code=200, summary="Try all dead letters again")
async def retry_all(services: NamedDependency[Services]) -> PutBack:
    """A thousand at a time, the newest first; `left` says how many are still there."""
    sites = _with_dead(await services.outbox_queries.all_states())
    return await _put_back(services, await services.outbox_queries.newest_dead(sites, before=None, limit=MOST_AT_ONCE))


@delete("/outbox/{letter_id:str}", status_code=204, summary="Remove a dead letter for good")
async def drop_letter(letter_id: FromPath[str], services: NamedDependency[Services], site_id: OfSite = None) -> None:
    """What it stood for never happens."""
    await services.dead_letters.drop(await _found(services, letter_id, site_id))


async def _found(services: Services, letter_id: str, site_id: str | None) -> list[FoundDead]:
    if site_id is not None:
        return await services.dead_letters.find([as_id(SiteId, site_id)], [letter_id])
    sites = _with_dead(await services.outbox_queries.all_states())
    return await services.dead_letters.find(sites, [letter_id])


async def _put_back(services: Services, letters: list[FoundDead]) -> PutBack:
    done = await services.dead_letters.put_back(letters)
    for site_id in {letter.site_id for letter in letters}:
        services.outbox.wake(site_id)
    return PutBack(done, (await services.outbox_queries.sum()).dead)


async def _site(services: Services, state: State) -> SiteOutbox:
    site = await services.site_queries.by_id(state.site_id)
    return SiteOutbox(
        site_id=state.site_id,
        site=site.name if site else None,
        waiting=state.waiting,
        oldest_waits_since=_time(state.oldest_ms),
        retrying=state.retrying,
        next_try=_time(state.next_try_ms),
        dead=state.dead,
    )


def _letter(found: FoundDead) -> DeadLetterView:
    return DeadLetterView(
        id=found.id,
        site_id=found.site_id,
        kind=found.letter.kind,
        handler=found.letter.handler or None,
        given_up=iso(found.died_ms),
        tries=found.letter.tries,
        why=found.letter.why,
    )


def _with_dead(states: list[State]) -> list[SiteId]:
    return [state.site_id for state in states if state.dead]


def _time(ms: int | None) -> str | None:
    return None if ms is None else iso(ms)


router = Router(
    "/admin/server",
    route_handlers=[outboxes, retry_letter, retry_all, drop_letter],
    guards=[requires_operator],
    tags=["Server"],
)
