"""`GET /v1/moderation/comments/{id}`: one comment with all that helps to decide about it."""

from litestar.di import NamedDependency
from litestar.params import FromPath

from threadkit.comments.model import CommentNotFound
from threadkit.http.parameters import as_id
from threadkit.http.routing import Router, get
from threadkit.ids import CommentId
from threadkit.moderation.desk import Surroundings
from threadkit.services import Services
from threadkit.sites.model import Site
from threadkit.users.access import requires_moderator


@get("/moderation/comments/{comment_id:str}", guards=[requires_moderator], summary="A comment and the thread around it")
async def one_comment(
    comment_id: FromPath[str], site: NamedDependency[Site], services: NamedDependency[Services]
) -> Surroundings:
    """Whatever became of it, unless it was deleted. `above` leads down to it from the root, with what is hidden there
    too (`s` says so); `beside` are the last shown answers before it to the same comment, `below` the first shown
    answers to it."""
    comment = await services.comment_queries.by_id(site.id, as_id(CommentId, comment_id))
    if comment is None or comment.is_gone:
        raise CommentNotFound
    return await services.desk.around(comment)


router = Router("/", route_handlers=[one_comment], tags=["Moderation"])
