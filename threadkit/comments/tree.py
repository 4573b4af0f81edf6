"""Visibility and order: from the comments of a page to the tree that one viewer sees. Pure, and without recursion."""

from collections.abc import Callable, Iterable
from typing import Any

from threadkit import scoring
from threadkit.comments.model import Comment, Sort, Status, TreeComment
from threadkit.ids import CommentId, UserId
from threadkit.scoring import HotFormula
from threadkit.sites.roles import Role
from threadkit.users.viewer import Viewer

# Deeper replies hang beside what they answer (their `q` names it): nested JSON has an end, and so has the way up.
DEEPEST = 100

SortKey = Callable[[Comment], Any]


def is_visible(comment: Comment, viewer_id: UserId | None, blocked: frozenset[UserId]) -> bool:
    """Whether a viewer may see a comment at all. The one place where this is decided."""
    if comment.author_id in blocked and comment.author_id != viewer_id:
        return False
    if comment.status is Status.REJECTED or comment.buried is not None:
        return False
    if comment.status is Status.PENDING or comment.is_shadowed:
        return viewer_id is not None and comment.author_id == viewer_id
    return True


def may_know_of(comment: Comment, viewer: Viewer) -> bool:
    """Whether somebody who may not do something with a comment may be told so, and by that that there is one."""
    return viewer.role >= Role.MODERATOR or is_visible(comment, viewer.id, frozenset())


def build_tree(
    comments: Iterable[Comment],
    *,
    sort: Sort,
    formula: HotFormula,
    viewer_id: UserId | None = None,
    blocked: frozenset[UserId] = frozenset(),
) -> tuple[list[TreeComment], int]:
    """The visible comments as a tree in the wanted order, and how many they are.

    A comment whose parent is not visible goes with it; a deleted one stays as a place only while a reply is seen.
    """
    # Parents first, whatever the clocks of two workers said when a reply was written.
    in_order = sorted(comments, key=lambda comment: (comment.depth, comment.created_at, comment.id))
    nodes: dict[CommentId, TreeComment] = {}
    shown: dict[CommentId, Comment] = {}
    hangs_on: dict[CommentId, CommentId | None] = {}
    depth: dict[CommentId, int] = {}
    for comment in in_order:
        parent = comment.parent_id
        if (parent is not None and parent not in nodes) or not is_visible(comment, viewer_id, blocked):
            continue
        if parent is not None and depth[parent] >= DEEPEST:
            parent = hangs_on[parent]
        nodes[comment.id] = TreeComment.of(comment)
        shown[comment.id] = comment
        hangs_on[comment.id] = parent
        depth[comment.id] = 0 if parent is None else depth[parent] + 1
    _drop_empty_places(nodes, shown, hangs_on)
    key, is_reversed = _order(sort, formula)
    # Sorting all of them once and then handing them out keeps every level in order. Nodes of a level are in posting
    # order, and a stable sort keeps that order among equals.
    ranked = sorted((shown[comment_id] for comment_id in nodes), key=key, reverse=is_reversed)
    roots: list[TreeComment] = []
    for comment in ranked:
        parent = hangs_on[comment.id]
        (roots if parent is None else nodes[parent].r).append(nodes[comment.id])
    return roots, len(nodes)


def _drop_empty_places(
    nodes: dict[CommentId, TreeComment],
    shown: dict[CommentId, Comment],
    hangs_on: dict[CommentId, CommentId | None],
) -> None:
    replies = dict.fromkeys(nodes, 0)
    for comment_id in nodes:
        if (parent := hangs_on[comment_id]) is not None:
            replies[parent] += 1
    # Children come after their parents, so going backwards sees every place after what hangs on it.
    for comment_id in reversed(list(nodes)):
        if shown[comment_id].status is Status.DELETED and replies[comment_id] == 0:
            del nodes[comment_id]
            if (parent := hangs_on[comment_id]) is not None:
                replies[parent] -= 1


def _order(sort: Sort, formula: HotFormula) -> tuple[SortKey, bool]:
    """Ties keep the order of posting: `sorted` is stable, also when it is reversed."""
    match sort:
        case "old":
            return (lambda comment: comment.created_at), False
        case "new":
            return (lambda comment: comment.created_at), True
        case "top":
            return (lambda comment: scoring.top(comment.upvotes, comment.downvotes)), True
        case "controversial":
            return (lambda comment: scoring.controversial(comment.upvotes, comment.downvotes)), True
        case "hot":
            return (lambda comment: scoring.hot(formula, comment.upvotes, comment.downvotes, comment.created_ms)), True
