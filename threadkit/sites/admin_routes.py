"""Managing a site: its settings, its keys, whether people may write, its comments, and its end. Contract 4.6, 10.3."""

from typing import Annotated, Any, Literal

from litestar import Response
from litestar.di import NamedDependency, Provide
from litestar.params import FromPath, JSONBody, QueryParameter
from msgspec import UNSET, Meta, Struct, UnsetType

from threadkit.clock import iso
from threadkit.comments.model import Status
from threadkit.comments.routes import CommentList
from threadkit.comments.search import SoughtComment
from threadkit.errors import Forbidden, InvalidParameter
from threadkit.http.parameters import as_id
from threadkit.http.routing import Router, delete, get, patch, post, put
from threadkit.ids import CommentId, PageId, UserId
from threadkit.pages.model import LONGEST_URL, PageRef
from threadkit.pages.parameters import PageNameParameter
from threadkit.pages.routes import Posting
from threadkit.services import Services
from threadkit.sites.admin_access import provide_actor, provide_own_site, requires_admin_or_key, requires_owner
from threadkit.sites.model import Site, SiteSettings, SiteView, dotted
from threadkit.sites.roles import Role
from threadkit.sites.service import PUBLIC_KEY_GRACE_S
from threadkit.staff.access import requires_recent_proof
from threadkit.users.access import requires_moderator

LONGEST_GRACE_S = 30 * 86_400
Text = Annotated[str, Meta(max_length=1000)]


class SitesAreMadeOnTheServer(Forbidden):
    """Sites are made on the server: threadkit site create NAME DOMAIN"""

    code = "sites_are_made_on_the_server"


class SiteChange(Struct):
    """What is to be changed; what is absent stays as it is. With `version` only that version is changed."""

    name: Text | None = None
    domain: Text | None = None
    settings: dict[str, Any] | None = None
    version: int | None = None


class SiteDraft(Struct):
    name: Text
    domain: Text
    settings: dict[str, Any] | None = None


class Keys(Struct, kw_only=True):
    """A site's keys, as far as they can be shown; a secret only in the answer to its making."""

    site_id: str
    api_key_public: str
    previous_key_until: str | UnsetType = UNSET
    api_key_secret: str | UnsetType = UNSET
    sso_secret: str | UnsetType = UNSET


class CreatedSite(Struct):
    site: SiteView
    api_key_secret: str


class SoughtComments(CommentList):
    """`searched` and `next` are there for searches only."""

    searched: int | UnsetType = UNSET
    next: str | UnsetType | None = UNSET


class Confirmation(Struct):
    confirm: Text


class DeletionView(Struct):
    id: str
    state: Literal["running", "done"]
    percent: int
    removed: int


@get("/", guards=[requires_owner], summary="A site with all its settings")
async def owned_site(own_site: NamedDependency[Site], services: NamedDependency[Services]) -> SiteView:
    """For owners, or with the secret key. Secrets themselves are never shown again."""
    return await _view(services, own_site)


@patch("/", guards=[requires_owner], summary="Change a site")
async def change_site(
    data: JSONBody[SiteChange],
    own_site: NamedDependency[Site],
    actor: NamedDependency[UserId | None],
    services: NamedDependency[Services],
) -> SiteView:
    """Any of name, domain and settings. Settings that are not named stay; one that does not exist is an error.

    Two who change different settings at once both get their way. Send the `version` you looked at to change only that.
    """
    changed = await services.sites.change(
        own_site.id,
        name=data.name,
        domain=data.domain,
        settings=dotted(data.settings or {}),
        strict=True,
        only_version=data.version,
        by=actor,
    )
    return await _view(services, changed)


@delete("/", status_code=202, guards=[requires_owner, requires_recent_proof], summary="Delete a site completely")
async def delete_site(
    data: JSONBody[Confirmation], own_site: NamedDependency[Site], services: NamedDependency[Services]
) -> DeletionView:
    """With all its comments, for ever. Its keys are dead at once, the rest follows: `GET /v1/deletions/{id}` says how
    far it is."""
    return await _deletion(services, await services.deletions.begin(own_site, confirm=data.confirm))


@post(
    "/keys/{kind:str}/rotate",
    status_code=200,
    guards=[requires_owner, requires_recent_proof],
    summary="Replace a key by a new one",
)
async def rotate_key(
    kind: FromPath[str],
    own_site: NamedDependency[Site],
    actor: NamedDependency[UserId | None],
    services: NamedDependency[Services],
    grace_s: Annotated[int, QueryParameter(ge=0, le=LONGEST_GRACE_S)] = PUBLIC_KEY_GRACE_S,
) -> Response[Keys]:
    """`public`, `secret` or `sso`. An old public key goes on working for `grace_s`, because it stands in people's pages;
    an old secret is dead at once. A new secret is shown in this answer and never again."""
    keys = Keys(site_id=own_site.id, api_key_public=own_site.api_key_public)
    match kind:
        case "public":
            site = await services.sites.rotate_public_key(own_site.id, grace_s=grace_s, by=actor)
            keys.api_key_public = site.api_key_public
            keys.previous_key_until = iso(site.previous_key_until_ms)
        case "secret":
            keys.api_key_secret = (await services.sites.rotate_secret_key(own_site.id, by=actor)).secret_key
        case "sso":
            keys.sso_secret = await services.sites.rotate_sso_secret(own_site.id, by=actor)
        case _:
            raise InvalidParameter(name="kind", why="must be public, secret or sso", field="kind")
    return Response(keys, headers={"Cache-Control": "no-store"})


@get("/posting", guards=[requires_admin_or_key], summary="Whether people may write on the site")
async def site_posting(own_site: NamedDependency[Site], services: NamedDependency[Services]) -> Posting:
    current = await services.site_queries.by_id(own_site.id) or own_site
    return Posting(current.settings.posting_disabled)


@put("/posting", guards=[requires_admin_or_key], summary="Switch posting off or on")
async def set_site_posting(
    data: JSONBody[Posting],
    own_site: NamedDependency[Site],
    actor: NamedDependency[UserId | None],
    services: NamedDependency[Services],
) -> Posting:
    await services.sites.change(own_site.id, settings={"posting_disabled": data.disabled}, strict=True, by=actor)
    return data


Offset = Annotated[int, QueryParameter(ge=0, le=1_000_000)]
Limit = Annotated[int, QueryParameter(ge=0)]


@get("/comments", guards=[requires_moderator], summary="All comments of the site, or some that are looked for")
async def site_comments(
    own_site: NamedDependency[Site],
    services: NamedDependency[Services],
    offset: Offset = 0,
    limit: Limit = 50,
    status: Annotated[Status | None, QueryParameter()] = None,
    author: Annotated[str | None, QueryParameter(max_length=36, description="The id of a user.")] = None,
    page_url: Annotated[str | None, QueryParameter(min_length=1, max_length=LONGEST_URL)] = None,
    page_id: PageNameParameter = None,
    q: Annotated[
        str | None, QueryParameter(min_length=2, max_length=100, description="In the text, in small or big letters.")
    ] = None,
    cursor: Annotated[str | None, QueryParameter(max_length=60, description="`next` of the answer before.")] = None,
) -> SoughtComments:
    """Newest first, whatever became of them.

    With any of `status`, `author`, `page_url` or `page_id`, `q` and `cursor` it is a search: a call looks through at
    most a thousand comments (`searched`), so it may find few or none and yet have a `next`, with which one goes on.
    `offset` is not for searches. `pending` are those that wait in the queue; with a page, `approved` are those that are
    shown there.
    """
    if not any((status, author, page_url, page_id, q, cursor)):
        listed = await _comments(services, own_site, offset, min(limit, 100))
        return SoughtComments(listed.comments, listed.has_more)
    sought = SoughtComment(
        status=status,
        author_id=as_id(UserId, author) if author else None,
        page_id=await _page(services, own_site, PageRef(page_url, page_id)) if page_url or page_id else None,
        text=q,
    )
    found = await services.comment_search.find(own_site.id, sought, cursor=cursor, limit=min(max(limit, 1), 100))
    items = await services.comments.items(own_site, found.comments, are_for_staff=True)
    return SoughtComments(items, found.next is not None, searched=found.searched, next=found.next)


@get("/owner/comments", guards=[requires_owner], summary="All comments of the site, with the secret key")
async def owner_comments(
    own_site: NamedDependency[Site], services: NamedDependency[Services], offset: Offset = 0, limit: Limit = 50
) -> CommentList:
    return await _comments(services, own_site, offset, min(limit, 100))


@post("/admin/sites", status_code=200, guards=[requires_owner], summary="Make another site", tags=["Administration"])
async def create_site(
    data: JSONBody[SiteDraft], services: NamedDependency[Services], actor: NamedDependency[UserId | None]
) -> Response[CreatedSite]:
    """Only where the server's setting `owners_create_sites` allows it. Whoever is signed in owns the new site too."""
    if not services.settings.owners_create_sites:
        raise SitesAreMadeOnTheServer
    settings = services.sites.checked(SiteSettings(), dotted(data.settings or {}))
    new = await services.sites.create(data.name, data.domain, settings=settings)
    if actor is not None:
        await services.roles.give(new.site.id, actor, Role.OWNER, by=None)
    return Response(CreatedSite(SiteView.of(new.site), new.secret_key), headers={"Cache-Control": "no-store"})


@get("/v1/deletions/{deletion_id:str}", summary="How far the deletion of a site is", tags=["Administration"])
async def deletion_progress(deletion_id: FromPath[str], services: NamedDependency[Services]) -> DeletionView:
    """No key is asked for, because the site's are dead; whoever deleted it was given the id."""
    return await _deletion(services, deletion_id[:100])


async def _view(services: Services, site: Site) -> SiteView:
    return SiteView.of(site, reranking_percent=await services.rankings.percent(site))


async def _deletion(services: Services, deletion_id: str) -> DeletionView:
    found = await services.deletions.progress(deletion_id)
    return DeletionView(deletion_id, "done" if found.is_done else "running", found.percent, found.removed)


async def _comments(services: Services, site: Site, offset: int, limit: int) -> CommentList:
    index = services.keys.site(site.id).comments()
    ids = await services.store.redis.zrange(index, offset, offset + limit, desc=True)
    found = await services.comment_queries.by_ids(site.id, [CommentId(one) for one in ids[:limit]])
    return CommentList(await services.comments.items(site, found, are_for_staff=True), len(ids) > limit)


async def _page(services: Services, site: Site, ref: PageRef) -> PageId:
    """Where the thread of a page is now."""
    (page_id,) = await services.page_queries.moved(site.id, [await services.page_queries.id_of(site, ref)])
    return page_id


router = Router(
    "/",
    route_handlers=[
        Router(
            "/admin/sites/{site_id:str}",
            route_handlers=[
                owned_site,
                change_site,
                delete_site,
                rotate_key,
                site_posting,
                set_site_posting,
                site_comments,
                owner_comments,
            ],
            dependencies={"own_site": Provide(provide_own_site)},
            tags=["Administration"],
        ),
        create_site,
    ],
    dependencies={"actor": Provide(provide_actor)},
)
