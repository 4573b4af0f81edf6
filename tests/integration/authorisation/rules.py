"""What everybody gets, object by object and state by state: written from the contract and from docs/moderation.md.

A row is one call. Who is refused at the door stands in `routes.py`; whoever gets past it finds their answer in the first
of the row's rules that fits: (who, which states, status). `any` fits everybody and everything. `staff` is a moderator, an
admin or an owner; `author` is whose the object is, in the role they have; `far` is everybody who comes with the other
site's key, and finds nothing unless the row says otherwise. Where the contract is silent, a comment gives our reason.
"""

from dataclasses import dataclass, field
from typing import Any

Rule = tuple[str, str, int]
FAR: list[Rule] = [("far", "any", 404)]

COMMENT = (
    "approved, pending, rejected, spam, deleted, gone, buried, shadowed, locked, moved, reported, claimed, appealed, "
    "of a banned author, of an erased author, rejected and a moderator's, missing"
)
# Seen by nobody, or by its author alone. Contract 5.1: moderators get no wider view on a page.
REJECTED = "rejected, spam, appealed, rejected and a moderator's"
WAITING = "pending, claimed"
UNSEEN = f"{WAITING}, {REJECTED}, buried, shadowed"
NO_MORE = "deleted, gone, missing"
USER = "ordinary, guest, banned, shadow-banned, banned everywhere, never here, erased, a moderator, an admin, an owner, missing"
NOT_THERE = "erased, missing"
PAGE = "open, locked, moved, missing"
SITE = "own, other, missing"
NOTIFICATION = "unread, read, taken away, of a banned person, missing"
SESSION = "open, ended, of a banned person, missing"
ENTRY = (
    "a rejection, a deletion, a ban, a ban of a moderator, a ban everywhere, a role, rejection of a moderator's own, "
    "overtaken, too old, missing"
)
JOB = "a moderator's, an admin's, over, missing"
NOTE = "about somebody, about a moderator, missing"
LETTER = "dead, missing"
DELETION = "under way, missing"
PASSKEY = "theirs, missing"


@dataclass(frozen=True)
class Row:
    call: str
    """Method and path, as the application has it."""
    states: str
    """Of which object, as one of the lists above."""
    rules: list[Rule]
    body: Any = None
    query: str = ""
    about: str = ""
    """Tells two rows of one call apart."""
    is_list: bool = False
    """Takes many ids, and says of each what came of it: that is the status which is meant."""
    far: list[Rule] = field(default_factory=lambda: FAR)

    @property
    def name(self) -> str:
        return f"{self.call} {self.about}".strip()


def _editing(call: str, body: dict[str, str]) -> Row:
    # Whoever cannot see a comment is not told that it exists; a moderator can see it, and is told whose it is not.
    return Row(
        call,
        COMMENT,
        [
            ("any", NO_MORE, 404),
            ("author", "locked", 403),
            ("author", "any", 200),
            ("staff", "any", 403),
            ("any", UNSEEN, 404),
            ("any", "any", 403),
        ],
        body=body,
    )


def _decided(*exceptions: Rule) -> list[Rule]:
    return [("any", NO_MORE, 404), *exceptions, ("any", "any", 200)]


def _deciding(action: str, *exceptions: Rule) -> Row:
    return Row(f"POST /v1/moderation/{action}/{{comment_id}}", COMMENT, _decided(*exceptions), body={})


def _deciding_many(action: str, *exceptions: Rule) -> Row:
    body = {"action": action, "ids": ["{comment_id}"]}
    return Row("POST /v1/moderation/bulk", COMMENT, _decided(*exceptions), body=body, about=action, is_list=True)


_READING_AND_WRITING = [
    Row(
        "GET /v1/comments/{comment_id}/replies",
        COMMENT,
        [
            ("any", "gone, missing", 404),
            ("author", f"{WAITING}, shadowed", 200),
            ("any", UNSEEN, 404),
            ("any", "any", 200),  # of a deleted one with replies the place is shown
        ],
    ),
    Row(
        "GET /v1/comments",
        COMMENT,
        [
            ("any", "gone, missing", 404),
            ("author", f"{WAITING}, shadowed", 200),
            ("any", UNSEEN, 404),
            ("any", "any", 200),
        ],
        query="around={comment_id}",
        about="around a comment",
    ),
    Row(
        "POST /v1/comments",
        COMMENT,
        [
            ("banned", "any", 403),
            ("any", "locked", 403),
            ("any", NO_MORE, 404),  # nobody answers a place
            ("author", "shadowed", 200),  # as anybody could answer themselves
            ("any", UNSEEN, 404),
            ("any", "any", 200),
        ],
        body={"page_url": "{page_url}", "content": "a reply", "parent_path": ["{comment_id}"], "author_name": "Nobody"},
        about="in reply",
    ),
    _editing("PUT /v1/comments/{comment_id}", {"content": "other words"}),
    _editing("PATCH /v1/comments/{comment_id}", {"text": "other words"}),
    Row(
        "DELETE /v1/comments/{comment_id}",
        COMMENT,
        [
            ("any", NO_MORE, 404),
            ("author, staff", "any", 204),  # on a locked page too
            ("any", UNSEEN, 404),
            ("any", "any", 403),
        ],
    ),
    Row(
        "POST /v1/comments/{comment_id}/vote",
        COMMENT,
        [
            ("any", NO_MORE, 404),
            ("author", "shadowed", 200),
            ("any", UNSEEN, 404),  # while it waits its author cannot vote for it either
            ("any", "any", 200),  # a lock keeps people from writing, not from voting
        ],
        body={"direction": "up"},
    ),
    Row(
        "POST /v1/comments/{comment_id}/report",
        COMMENT,
        [("any", NO_MORE, 404), ("any", UNSEEN, 404), ("author", "any", 400), ("any", "any", 204)],
        body={},
    ),
    Row(
        "POST /v1/comments/{comment_id}/appeal",
        COMMENT,
        [
            ("any", NO_MORE, 404),
            ("author", "appealed", 409),  # once
            ("author", REJECTED, 204),
            ("author", "any", 409),
            ("staff", "any", 403),
            ("any", UNSEEN, 404),
            ("any", "any", 403),
        ],
        body={"text": "Please look again."},
    ),
]

_MODERATING = [
    Row(
        "POST /v1/comments/{comment_id}/pin",
        COMMENT,
        [("any", NO_MORE, 404), ("any", UNSEEN, 404), ("any", "any", 200)],  # only what is shown, or its id would tell
        body={},
    ),
    Row(
        "GET /v1/moderation/comments/{comment_id}",
        COMMENT,
        [("any", NO_MORE, 404), ("any", "any", 200)],
    ),
    _deciding("approve", ("author", "rejected and a moderator's", 403)),
    _deciding("reject"),
    _deciding("spam"),
    _deciding("delete"),
    _deciding_many("approve", ("author", "rejected and a moderator's", 403)),
    _deciding_many("delete"),
    Row(
        "POST /v1/moderation/appeals/{comment_id}",
        COMMENT,
        [("any", "appealed", 200), ("any", "missing", 404), ("any", "any", 409)],
        body={"decision": "decline"},
    ),
    Row(
        "POST /v1/moderation/reports/{comment_id}/dismiss",
        COMMENT,
        [
            ("any", "missing", 404),
            ("author", "rejected and a moderator's", 403),
            ("any", "any", 200),  # also where nobody had reported it
        ],
    ),
    Row(
        "POST /v1/moderation/claim/{comment_id}",
        COMMENT,
        [("any", NO_MORE, 404), ("any", "claimed", 409), ("any", "any", 200)],
    ),
    Row(
        "DELETE /v1/moderation/claim/{comment_id}",
        COMMENT,
        [
            ("far", "any", 204),
            ("any", "claimed", 409),
            ("any", "any", 204),
        ],  # what is not there is as good as given back
        far=[],
    ),
]

# Nobody can act on themselves or on somebody with the same or a higher role. People have one account on the whole
# server, so the other site's staff can act on them too: there.
_ON_LOWER: list[Rule] = [
    ("any", NOT_THERE, 404),
    ("author", "any", 400),
    ("moderator", "a moderator, an admin, an owner", 403),
    ("admin", "an admin, an owner", 403),
    ("owner", "an owner", 403),
]


def _acting(call: str, status: int = 200, body: Any = None) -> Row:
    return Row(call, USER, [*_ON_LOWER, ("any", "any", status)], body=body, far=[])


# For who owns every site of the server, which no key shows and no owner of one of them does.
_EVERYWHERE: list[Rule] = [
    ("any", NOT_THERE, 404),
    ("author", "an owner", 400),
    ("owner everywhere", "an owner", 403),
    ("owner everywhere", "any", 200),
    ("any", "any", 403),
]

_USERS = [
    Row("GET /v1/users/{user_id}", USER, [("any", NOT_THERE, 404), ("any", "any", 200)], far=[]),
    Row("GET /v1/users/{user_id}/comments", USER, [("any", NOT_THERE, 404), ("any", "any", 200)], far=[]),
    Row(
        "POST /v1/users/{user_id}/block",
        USER,
        [("author", "any", 400), ("far author", "any", 400), ("any", NOT_THERE, 404), ("any", "any", 200)],
        far=[],
    ),
    Row("DELETE /v1/users/{user_id}/block", USER, [("any", "any", 200)], far=[]),
    Row("POST /v1/users/{user_id}/unblock", USER, [("any", "any", 200)], far=[]),
    _acting("POST /v1/users/{user_id}/ban"),
    _acting("POST /v1/moderation/ban/{user_id}", body={}),
    _acting("POST /v1/moderation/unban/{user_id}"),
    _acting("POST /v1/moderation/shadowban/{user_id}"),
    _acting("DELETE /v1/moderation/shadowban/{user_id}"),
    _acting("POST /v1/moderation/users/{user_id}/delete-comments", 202),
    _acting("GET /v1/moderation/users/{user_id}/notes"),
    _acting("POST /v1/moderation/users/{user_id}/notes", body={"text": "seen before"}),
    Row("GET /v1/moderation/users/{user_id}", USER, [("any", NOT_THERE, 404), ("any", "any", 200)], far=[]),
    Row("POST /v1/admin/users/{user_id}/ban", USER, _EVERYWHERE, body={}, far=[]),
    Row("DELETE /v1/admin/users/{user_id}/ban", USER, _EVERYWHERE, far=[]),
]

# Contract 4.6: an id in the address that is not the key's own site is 403.
_MISMATCH: list[Rule] = [("far", "any", 403)]


def _appointing(role: str, *refusals: Rule) -> Row:
    return Row(
        f"POST /v1/admin/sites/{{site_id}}/{role}",
        USER,
        [("any", NOT_THERE, 404), *refusals, ("any", "any", 200)],
        body={"user_id": "{user_id}"},
        about="somebody",
        far=_MISMATCH,
    )


def _dismissing(role: str, *refusals: Rule) -> Row:
    # Whoever does not have the role, or is not there, is as good as dismissed.
    return Row(
        f"DELETE /v1/admin/sites/{{site_id}}/{role}/{{user_id}}",
        USER,
        [*refusals, ("any", "any", 200)],
        far=_MISMATCH,
    )


_STAFF = [
    _appointing("owners"),
    _appointing("admins", ("any", "an owner", 400)),
    _appointing("moderators", ("any", "an admin, an owner", 400)),
    _dismissing("owners"),
    _dismissing("admins"),
    _dismissing("moderators", ("admin", "an admin, an owner", 403)),
]


def _site(call: str, status: int = 200, body: Any = None, about: str = "") -> Row:
    rules = [("far", "other", status), ("far", "any", 403), ("any", "own", status), ("any", "any", 403)]
    return Row(call, SITE, rules, body=body, about=about, far=[])


_SITES = [
    _site("GET /v1/admin/sites/{site_id}"),
    _site("PATCH /v1/admin/sites/{site_id}", body={}),
    _site("DELETE /v1/admin/sites/{site_id}", 400, {"confirm": "another.example"}),  # let in, and not confirmed
    _site("POST /v1/admin/sites/{site_id}/keys/{kind}/rotate"),
    _site("GET /v1/admin/sites/{site_id}/keys"),
    _site("GET /v1/admin/sites/{site_id}/settings/schema"),
    _site("GET /v1/admin/sites/{site_id}/staff"),
    _site("GET /v1/admin/sites/{site_id}/owners"),
    _site("GET /v1/admin/sites/{site_id}/admins"),
    _site("GET /v1/admin/sites/{site_id}/moderators"),
    _site("POST /v1/admin/sites/{site_id}/owners", 422, {"user_id": "nobody"}, "without an id"),
    _site("POST /v1/admin/sites/{site_id}/admins", 422, {"user_id": "nobody"}, "without an id"),
    _site("POST /v1/admin/sites/{site_id}/moderators", 422, {"user_id": "nobody"}, "without an id"),
    _site("GET /v1/admin/sites/{site_id}/posting"),
    _site("PUT /v1/admin/sites/{site_id}/posting", body={"disabled": False}),
    _site("GET /v1/admin/sites/{site_id}/comments"),
    _site("GET /v1/admin/sites/{site_id}/owner/comments"),
    _site("GET /v1/admin/sites/{site_id}/usage"),
    _site("GET /v1/admin/sites/{site_id}/pages"),
]

_PAGES = [
    Row("GET /v1/admin/pages/{page_id}/posting", PAGE, [("any", "missing", 404), ("any", "any", 200)]),
    Row(
        "PUT /v1/admin/pages/{page_id}/posting",
        PAGE,
        [("any", "missing", 404), ("any", "any", 200)],
        body={"disabled": True},
    ),
    Row(
        "PUT /v1/admin/pages/{page_id}/address",
        PAGE,
        [("any", "missing", 404), ("any", "any", 200)],
        body={"url": "http://localhost/article"},
    ),
    Row("GET /v1/admin/pages/{page_id}/views", PAGE, [("any", "missing", 404), ("any", "any", 200)]),
    Row(
        "POST /v1/comments",
        PAGE,
        # A lock holds for the staff too. An address is a page of every site: the other one's is another page.
        [("banned", "any", 403), ("far", "any", 200), ("any", "locked", 403), ("any", "any", 200)],
        body={"page_url": "{page_url}", "content": "something new", "author_name": "Nobody"},
        about="on a page",
        far=[],
    ),
]

_OWN_THINGS = [
    Row(
        "POST /v1/notifications/{notification_id}/read",
        NOTIFICATION,
        [("author", "unread, read, of a banned person", 200), ("any", "any", 404)],
    ),
    Row(
        "DELETE /v1/notifications/{notification_id}",
        NOTIFICATION,
        [("author", "unread, read, of a banned person", 204), ("any", "any", 404)],
    ),
    Row(
        "DELETE /v1/users/me/sessions/{session_id}",
        SESSION,
        # An account and its devices are one on the whole server.
        [("author, far author", "open, of a banned person", 200), ("any", "any", 404)],
        far=[],
    ),
    Row(
        "PATCH /v1/staff/passkeys/{passkey_id}",
        PASSKEY,
        [("foreign page", "any", 403), ("author", "theirs", 200), ("author, staff", "any", 404), ("any", "any", 401)],
        body={"name": "Blue key"},
        far=[],
    ),
    Row(
        "DELETE /v1/staff/passkeys/{passkey_id}",
        PASSKEY,
        [("foreign page", "any", 403), ("author", "theirs", 200), ("author, staff", "any", 404), ("any", "any", 401)],
        far=[],
    ),
]

_UNDONE: list[Rule] = [
    ("any", "a role, missing", 404),
    ("any", "overtaken, too old", 409),
    ("author", "rejection of a moderator's own", 403),
    ("moderator", "a ban of a moderator", 403),
    ("owner everywhere", "a ban everywhere", 200),
    ("any", "a ban everywhere", 403),
    ("any", "any", 200),
]

_OF_MODERATORS = [
    Row("POST /v1/moderation/undo/{entry_id}", ENTRY, _UNDONE),
    Row("POST /v1/moderation/undo", ENTRY, _UNDONE, body={"ids": ["{entry_id}"]}, is_list=True),
    Row("GET /v1/moderation/jobs/{job_id}", JOB, [("any", "missing", 404), ("any", "any", 200)]),
    Row(
        "DELETE /v1/moderation/jobs/{job_id}",
        JOB,
        [
            ("any", "missing", 404),
            ("any", "over", 409),
            ("author", "any", 200),
            ("moderator", "any", 403),
            ("admin", "an admin's", 403),
            ("any", "any", 200),
        ],
    ),
    Row(
        "DELETE /v1/moderation/users/{user_id}/notes/{note_id}",
        NOTE,
        [
            ("moderator", "about a moderator", 403),
            ("any", "missing", 404),
            ("author", "any", 200),
            ("moderator", "any", 403),
            ("any", "any", 200),
        ],
    ),
]

_OF_THE_SERVER = [
    Row("POST /v1/admin/server/outbox/{letter_id}/retry", LETTER, [("any", "missing", 404), ("any", "any", 200)]),
    Row("DELETE /v1/admin/server/outbox/{letter_id}", LETTER, [("any", "missing", 404), ("any", "any", 204)]),
    # Whoever deleted a site was given the id, and there is no key left to ask for.
    Row("GET /v1/deletions/{deletion_id}", DELETION, [("any", "missing", 404), ("any", "any", 200)], far=[]),
]

GROUPS = {
    "reading and writing": _READING_AND_WRITING,
    "moderating": _MODERATING,
    "people": _USERS,
    "staff": _STAFF,
    "sites": _SITES,
    "pages": _PAGES,
    "own things": _OWN_THINGS,
    "what moderators leave": _OF_MODERATORS,
    "the server": _OF_THE_SERVER,
}
ROWS = [row for rows in GROUPS.values() for row in rows]


def fits(words: set[str], pattern: str) -> bool:
    return not words.isdisjoint(pattern.split(", "))


def expected(row: Row, who: set[str], state: str) -> int:
    """The answer for whoever got past the door."""
    for pattern, states, status in [*row.far, *row.rules]:
        if fits(who, pattern) and fits({state, "any"}, states):
            return status
    raise AssertionError(f"{row.name} does not say what {sorted(who)} get when it is {state}")
