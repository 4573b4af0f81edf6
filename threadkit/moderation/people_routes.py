"""`/v1/moderation` about people: bans, shadow bans, deleting all they wrote, and what is known of them. Contract 4.5."""

from typing import Annotated, Any, TypeVar

from litestar import Response
from litestar.di import NamedDependency, Provide
from litestar.params import FromPath, JSONBody
from msgspec import Meta, Struct

from threadkit.http.parameters import as_id
from threadkit.http.routing import Router, delete, get, post
from threadkit.ids import UserId
from threadkit.moderation.cards import Card, NoteView
from threadkit.moderation.people_model import JobView
from threadkit.services import Services
from threadkit.sites.admin_access import provide_actor, requires_owner
from threadkit.sites.model import Site
from threadkit.users.access import requires_moderator
from threadkit.users.viewer import Viewer

T = TypeVar("T")
Reason = Annotated[str, Meta(max_length=500)]


class Ban(Struct, kw_only=True):
    delete_comments: bool = False
    hours: Annotated[int, Meta(ge=1, le=24 * 3650)] | None = None
    reason: Reason | None = None


class Banned(Struct, omit_defaults=True):
    """`job` is there when more was to be deleted than could be at once."""

    comments_deleted: int
    job: str | None = None


class Why(Struct, kw_only=True):
    reason: Reason | None = None


class Everywhere(Struct):
    banned_everywhere: bool


class Jobs(Struct):
    jobs: list[JobView]


class NoteDraft(Struct):
    text: Annotated[str, Meta(min_length=1, max_length=2000, pattern=r"\S")]


class Notes(Struct):
    notes: list[NoteView]


def _undoable(answer: T, undo: str | None) -> Response[T]:
    return Response(answer, status_code=200, headers={"X-Undo": undo} if undo else {})


@post("/ban/{user_id:str}", status_code=200, opt={"may_be_empty": True}, summary="Ban somebody from the site")
async def ban(
    user_id: FromPath[str],
    data: JSONBody[Ban],
    site: NamedDependency[Site],
    viewer: NamedDependency[Viewer],
    services: NamedDependency[Services],
) -> Response[Banned]:
    """For some `hours`, or for ever. With `delete_comments` everything they wrote here goes too: a job begins, the newest
    hundred are looked at before the answer, and if that is not all its id is in the answer. `X-Undo` lifts the ban again
    (`/v1/moderation/undo/…`); what was deleted stays so."""
    user = await services.users.existing(as_id(UserId, user_id))
    undo = await services.people.ban(site, user.id, by=viewer, hours=data.hours, reason=data.reason)
    if not data.delete_comments:
        return _undoable(Banned(0), undo)
    job = await services.jobs.delete_now(site, user.id, by=viewer.id)
    return _undoable(Banned(job.deleted, job.id if job.state == "running" else None), undo)


@post("/unban/{user_id:str}", status_code=200, summary="Lift a ban")
async def unban(
    user_id: FromPath[str],
    site: NamedDependency[Site],
    viewer: NamedDependency[Viewer],
    services: NamedDependency[Services],
) -> Response[None]:
    user = await services.users.existing(as_id(UserId, user_id))
    undo = await services.people.unban(site, user.id, by=viewer)
    return _undoable(None, undo)


@post("/shadowban/{user_id:str}", status_code=200, summary="Let only themselves see what somebody writes")
async def shadowban(
    user_id: FromPath[str],
    site: NamedDependency[Site],
    viewer: NamedDependency[Viewer],
    services: NamedDependency[Services],
) -> Response[None]:
    user = await services.users.existing(as_id(UserId, user_id))
    undo = await services.people.shadowban(site, user.id, by=viewer, is_on=True)
    return _undoable(None, undo)


@delete("/shadowban/{user_id:str}", status_code=200, summary="Lift a shadow ban")
async def unshadowban(
    user_id: FromPath[str],
    site: NamedDependency[Site],
    viewer: NamedDependency[Viewer],
    services: NamedDependency[Services],
) -> Response[None]:
    user = await services.users.existing(as_id(UserId, user_id))
    undo = await services.people.shadowban(site, user.id, by=viewer, is_on=False)
    return _undoable(None, undo)


@post("/users/{user_id:str}/delete-comments", status_code=202, summary="Delete all that somebody wrote here")
async def delete_comments(
    user_id: FromPath[str],
    site: NamedDependency[Site],
    viewer: NamedDependency[Viewer],
    services: NamedDependency[Services],
) -> JobView:
    """In the background: ask the job how far it is. If the same is under way already, the answer is that job. It stops
    when whoever began it is no moderator any more."""
    user = await services.users.existing(as_id(UserId, user_id))
    await services.people.check(site, user.id, viewer, "delete all comments of")
    return JobView.of(await services.jobs.start(site, user.id, by=viewer.id))


@get("/jobs", summary="What is being done in the background")
async def list_jobs(site: NamedDependency[Site], services: NamedDependency[Services]) -> Jobs:
    """Newest first, also those that are over; the last hundred are kept."""
    return Jobs([JobView.of(job) for job in await services.jobs.newest(site.id)])


@get("/jobs/{job_id:str}", summary="How far a job is")
async def one_job(job_id: FromPath[str], site: NamedDependency[Site], services: NamedDependency[Services]) -> JobView:
    return JobView.of(await services.jobs.one(site.id, as_id(str, job_id)))


@delete("/jobs/{job_id:str}", status_code=200, summary="Stop a job")
async def cancel_job(
    job_id: FromPath[str],
    site: NamedDependency[Site],
    viewer: NamedDependency[Viewer],
    services: NamedDependency[Services],
) -> JobView:
    """What is deleted stays deleted. One's own job, or that of somebody with a lower role."""
    return JobView.of(await services.jobs.cancel(site, as_id(str, job_id), by=viewer))


@get("/users/{user_id:str}", summary="What is known of somebody")
async def card(
    user_id: FromPath[str],
    site: NamedDependency[Site],
    viewer: NamedDependency[Viewer],
    services: NamedDependency[Services],
) -> Card:
    """Their profile, role and bans, counts, newest comments, what was done about them, and notes: those only for who
    stands above them."""
    user = await services.users.existing(as_id(UserId, user_id))
    return await services.cards.of(site, user, viewer=viewer)


@get("/users/{user_id:str}/notes", summary="What moderators noted about somebody")
async def list_notes(
    user_id: FromPath[str],
    site: NamedDependency[Site],
    viewer: NamedDependency[Viewer],
    services: NamedDependency[Services],
) -> Notes:
    """Newest first, at most a hundred. The person never sees them."""
    user = await services.users.existing(as_id(UserId, user_id))
    await services.people.check(site, user.id, viewer, "read notes about")
    return Notes(await services.cards.notes(site.id, user.id))


@post("/users/{user_id:str}/notes", status_code=200, summary="Note something about somebody")
async def add_note(
    user_id: FromPath[str],
    data: JSONBody[NoteDraft],
    site: NamedDependency[Site],
    viewer: NamedDependency[Viewer],
    services: NamedDependency[Services],
) -> NoteView:
    user = await services.users.existing(as_id(UserId, user_id))
    await services.people.check(site, user.id, viewer, "write notes about")
    note = await services.notes.add(site.id, user.id, data.text, by=viewer)
    return NoteView.of(note, viewer.user.name)


@delete("/users/{user_id:str}/notes/{note_id:str}", status_code=200, summary="Delete a note")
async def delete_note(
    user_id: FromPath[str],
    note_id: FromPath[str],
    site: NamedDependency[Site],
    viewer: NamedDependency[Viewer],
    services: NamedDependency[Services],
) -> None:
    """By its author, or by an admin."""
    target = as_id(UserId, user_id)
    await services.people.check(site, target, viewer, "delete notes about")
    await services.notes.delete(site.id, target, as_id(str, note_id), by=viewer)


@post("/users/{user_id:str}/ban", status_code=200, guards=[requires_moderator], include_in_schema=False)
async def ban_alias(
    user_id: FromPath[str],
    site: NamedDependency[Site],
    viewer: NamedDependency[Viewer],
    services: NamedDependency[Services],
) -> Banned:
    """What the stock clients' ban button sends."""
    user = await services.users.existing(as_id(UserId, user_id))
    await services.people.ban(site, user.id, by=viewer, hours=None, reason=None)
    return Banned(0)


@post(
    "/admin/users/{user_id:str}/ban",
    status_code=200,
    guards=[requires_owner],
    opt={"may_be_empty": True},
    summary="Ban somebody from every site",
    tags=["Administration"],
)
async def ban_everywhere(
    user_id: FromPath[str],
    data: JSONBody[Why],
    site: NamedDependency[Site],
    actor: NamedDependency[UserId | None],
    services: NamedDependency[Services],
) -> Response[Everywhere]:
    """For who owns every site of this server; with a secret key only where there is one site. Owners cannot be banned
    this way. `X-Undo` lifts it again."""
    user = await services.users.existing(as_id(UserId, user_id))
    await services.everywhere.check(user.id, actor)
    noted = await services.everywhere.ban(user, is_on=True, by=actor, reason=data.reason)
    return _undoable(Everywhere(True), (noted or {}).get(site.id))


@delete(
    "/admin/users/{user_id:str}/ban",
    status_code=200,
    guards=[requires_owner],
    summary="Lift a ban from every site",
    tags=["Administration"],
)
async def unban_everywhere(
    user_id: FromPath[str],
    site: NamedDependency[Site],
    actor: NamedDependency[UserId | None],
    services: NamedDependency[Services],
) -> Response[Everywhere]:
    """Bans of single sites stay. `X-Undo` bans again."""
    user = await services.users.existing(as_id(UserId, user_id))
    await services.everywhere.check(user.id, actor)
    noted = await services.everywhere.ban(user, is_on=False, by=actor, reason=None)
    return _undoable(Everywhere(False), (noted or {}).get(site.id))


_HANDLERS: list[Any] = [
    ban,
    unban,
    shadowban,
    unshadowban,
    delete_comments,
    list_jobs,
    one_job,
    cancel_job,
    card,
    list_notes,
    add_note,
    delete_note,
]
router = Router(
    "/",
    route_handlers=[
        Router("/moderation", route_handlers=_HANDLERS, guards=[requires_moderator], tags=["Moderation"]),
        ban_alias,
        ban_everywhere,
        unban_everywhere,
    ],
    dependencies={"actor": Provide(provide_actor)},
)
