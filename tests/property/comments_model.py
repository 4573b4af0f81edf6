"""Comments and votes in plain Python, written from the contract (3.1, 4.3, 5 and rows S3-10…31) and from nothing else.

Every verb answers as the server must answer: a status, and what changes changes here too. There is no index: what the
indexes must hold is computed from the comments each time. A new verb of moderators (approve, reject, ban) is a method
that changes `status`, `is_shadowed` or a person, and a rule in the machine that calls both sides.
"""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from tests.integration.comments.agreement import ANONYMOUS, DELETED, hot_30_days

Status = Literal["pending", "approved", "rejected", "deleted"]
EDIT_WINDOW_MS = 15 * 60 * 1000
ALL_SORTS = ("new", "old", "top", "hot", "controversial")
PLACE = "[deleted]"
HELD_WORD = "casino"
"""A text of this one word waits, unless a moderator wrote it."""
HELD_FOR = ["`casino` in the text (listed as `casino`)"]
TOLD_WHY = ["there is a word in the text that this site does not accept"]


@dataclass
class Somebody:
    """A person as far as comments care. Nobody at all is `None`."""

    id: str
    name: str
    is_moderator: bool = False
    is_shadowed: bool = False
    blocked: set[str] = field(default_factory=set)
    karma: int = 0
    posted: int = 0


@dataclass
class Said:
    """One comment."""

    id: str
    page: str
    author_id: str
    author_name: str
    author_karma: int
    text: str
    created_ms: int
    updated_ms: int
    status: Status
    is_shadowed: bool
    parent: "Said | None"
    edited: bool = False
    is_unposted: bool = False
    pinned_ms: int | None = None
    buried: str | None = None
    """The hidden comment above it with which it is hidden."""
    decided_by: str | None = None
    """The moderator who decided last."""
    is_objected_to: bool = False
    """It has, or had since it was last approved, the word that waits."""
    wrote: str = ""
    """Who wrote it, also after it lost its author."""

    @property
    def depth(self) -> int:
        return 0 if self.parent is None else self.parent.depth + 1

    def is_seen_by(self, viewer: Somebody | None) -> bool:
        """Contract 5.1, without the parts that depend on other comments."""
        viewer_id = viewer.id if viewer else None
        if viewer and self.author_id in viewer.blocked and self.author_id != viewer_id:
            return False
        return self.is_shown_to(viewer_id)

    def is_shown_to(self, viewer_id: str | None) -> bool:
        """Whomever they may have blocked."""
        if self.status == "rejected" or self.buried:
            return False
        if self.status == "pending" or self.is_shadowed:
            return viewer_id is not None and viewer_id == self.author_id
        return True

    def refusal(self, by: Somebody) -> int:
        """Of somebody else's comment: whoever does not see it is not told either that it is there."""
        return 403 if by.is_moderator or self.is_shown_to(by.id) else 404


class Comments:
    """Everything that was said on a site, in the order of posting."""

    def __init__(self, people: list[Somebody]) -> None:
        self.people = {person.id: person for person in people}
        self.said: list[Said] = []
        self.votes: dict[tuple[str, str], str] = {}
        self.pins: dict[str, int] = {}
        self.holds_new_ones = False

    # What can be done. Each says with which status the server answers.

    def may_post(self, page: str, author: Somebody | None, parent: Said | None) -> int:
        if parent is None:
            return 200
        is_own_shadow = parent.is_shadowed and author is not None and parent.author_id == author.id
        is_there = parent.page == page and parent.status == "approved" and (not parent.is_shadowed or is_own_shadow)
        is_there = is_there and not parent.buried
        return 200 if is_there else 404

    def post(
        self,
        comment_id: str,
        page: str,
        author: Somebody | None,
        name: str,
        text: str,
        parent: Said | None,
        now_ms: int,
    ) -> Said:
        is_objected_to = self._is_objected_to(text, author)
        is_held = is_objected_to or (self.holds_new_ones and not (author and author.is_moderator))
        said = Said(
            id=comment_id,
            page=page,
            author_id=author.id if author else ANONYMOUS,
            author_name=author.name if author else name,
            author_karma=author.karma if author else 0,
            text=text,
            created_ms=now_ms,
            updated_ms=now_ms,
            status="pending" if is_held else "approved",
            is_shadowed=bool(author and author.is_shadowed),
            parent=parent,
            is_objected_to=is_objected_to,
            wrote=author.id if author else ANONYMOUS,
        )
        self.said.append(said)
        said.is_unposted = not self.is_listed(said)
        if author and not said.is_unposted:
            author.posted += 1
        return said

    def edit(self, said: Said, editor: Somebody | None, text: str, now_ms: int) -> int:
        if editor is None:
            return 401
        if said.status == "deleted":
            return 404
        if said.author_id != editor.id:
            return said.refusal(editor)
        if self.holds_new_ones and said.status == "approved" and not editor.is_moderator:
            return 409
        if now_ms - said.created_ms > EDIT_WINDOW_MS:
            return 409
        # Two texts never have the same time.
        said.text, said.updated_ms, said.edited = text, max(now_ms, said.updated_ms + 1), True
        if self._is_objected_to(text, editor) and said.status != "rejected":
            said.is_objected_to = True
            if said.status == "approved":
                self._turn(said, "pending", None)
        return 200

    def _is_objected_to(self, text: str, author: Somebody | None) -> bool:
        return text == HELD_WORD and not (author and author.is_moderator)

    def delete(self, said: Said, by: Somebody | None) -> int:
        if by is None:
            return 401
        if said.status == "deleted":
            return 404
        if said.author_id != by.id and not by.is_moderator:
            return said.refusal(by)
        # What is hidden together with its replies stays hidden with them.
        is_hidden = not self.is_listed(said) and any(self.is_listed(reply) for reply in self._replies(said))
        if said.author_id in self.people and not said.is_unposted:
            self.people[said.author_id].posted -= 1
        said.status, said.text, said.is_shadowed = "rejected" if is_hidden else "deleted", PLACE, False
        said.is_unposted, said.decided_by, said.is_objected_to = False, None, False
        said.author_id, said.author_name, said.author_karma = DELETED, PLACE, 0
        self.pins.pop(said.id, None)
        said.pinned_ms = None
        return 204

    def moderate(self, said: Said, by: Somebody | None, status: Status) -> int:
        """Approve or reject. What hangs on a rejected comment goes and comes back with it (contract 5.1)."""
        if by is None:
            return 401
        if not by.is_moderator:
            return 403
        if said.status == "deleted":
            return 404
        comes_back = status == "approved" and not self.is_listed(said) and not said.is_shadowed
        if comes_back and said.parent and said.parent.status not in ("approved", "deleted"):
            return 404
        if status == "approved":
            said.is_objected_to = False
        self._turn(said, status, by.id)
        return 200

    def _turn(self, said: Said, status: Status, by: str | None) -> None:
        """Another status, and what it means for what hangs on it."""
        was_listed = self.is_listed(said)
        places, buried = self._gap_above(said)
        said.status, said.decided_by = status, by
        is_listed = self.is_listed(said)
        if was_listed and not is_listed:
            said.buried = None
            self._keep_pin(said)
            for below in self._below(said):
                if below.buried is None:
                    below.buried = said.id
                    self._keep_pin(below)
        if is_listed and not was_listed:
            for revived in (said, *places):
                revived.buried = buried
            self._give_pin_back(said)
            for below in self._below(said):
                if said.buried is None or below.buried == said.id:
                    below.buried = said.buried
                    self._give_pin_back(below)
            if said.is_unposted:
                said.is_unposted = False
                if said.author_id in self.people:
                    self.people[said.author_id].posted += 1

    def _keep_pin(self, said: Said) -> None:
        """For when it is shown again."""
        said.pinned_ms = self.pins.pop(said.id, said.pinned_ms)

    def _give_pin_back(self, said: Said) -> None:
        if said.pinned_ms is not None and said.buried is None:
            self.pins[said.id], said.pinned_ms = said.pinned_ms, None

    def _gap_above(self, said: Said) -> tuple[list[Said], str | None]:
        """The places of deleted comments that went with the last they held and come back with this one; and what hides
        whatever is above them."""
        places, above = [], said.parent
        while above and above.status == "deleted" and not self.is_listed(above):
            places.append(above)
            above = above.parent
        if above is None:
            return places, None
        return places, above.buried if not places or self.is_listed(above) else above.id

    def _replies(self, said: Said) -> list[Said]:
        return [reply for reply in self.said if reply.parent is said]

    def _below(self, said: Said) -> list[Said]:
        found = [reply for reply in self._replies(said) if self.is_listed(reply)]
        return found + [below for reply in found for below in self._below(reply)]

    def vote(self, said: Said, voter: Somebody | None, way: str) -> tuple[int, dict[str, Any]]:
        if voter is None:
            return 401, {}
        if said.status != "approved" or said.buried or (said.is_shadowed and said.author_id != voter.id):
            return 404, {}
        up, down = self.counts(said)
        own = None if self.votes.get((voter.id, said.id)) == way else way
        if own is None:
            del self.votes[voter.id, said.id]
        else:
            self.votes[voter.id, said.id] = own
        if voter.is_shadowed:
            # Counts for nobody else, and the answer does not show that.
            up, down = up + (own == "up"), down + (own == "down")
        else:
            before = up - down
            up, down = self.counts(said)
            author = self.people.get(said.author_id)
            if author and author is not voter:
                author.karma += (up - down) - before
        return 200, {"upvotes": up, "downvotes": down, "user_vote": own}

    def pin(self, said: Said, by: Somebody | None, now_ms: int) -> tuple[int, dict[str, Any]]:
        if by is None:
            return 401, {}
        if not by.is_moderator:
            return 403, {}
        if said.status != "approved" or said.is_shadowed or said.buried:
            return 404, {}
        if self.pins.pop(said.id, None) is not None:
            return 200, {"pinned": False, "pinned_at": None}
        self.pins[said.id] = now_ms
        return 200, {"pinned": True, "pinned_at": now_ms}

    # What can be asked.

    def counts(self, said: Said, viewer: Somebody | None = None) -> tuple[int, int]:
        """Votes from the shadow count for those who cast them."""
        ways = [
            way
            for (voter, comment_id), way in self.votes.items()
            if comment_id == said.id and (not self.people[voter].is_shadowed or self.people[voter] is viewer)
        ]
        return ways.count("up"), ways.count("down")

    def my_votes(self, person: Somebody, page: str) -> dict[str, str]:
        here = {said.id for said in self.said if said.page == page}
        return {
            comment_id: way
            for (voter, comment_id), way in self.votes.items()
            if voter == person.id and comment_id in here
        }

    def pinned(self, page: str) -> set[tuple[str, int]]:
        here = {said.id for said in self.said if said.page == page}
        return {(comment_id, ms) for comment_id, ms in self.pins.items() if comment_id in here}

    def tree(self, page: str, viewer: Somebody | None, sort: str) -> tuple[list[dict[str, Any]], int]:
        """What a viewer gets, and how many comments that are."""
        here = [said for said in self.said if said.page == page]

        def level(parent: Said | None) -> list[dict[str, Any]]:
            nodes = []
            for said in sorted(
                (each for each in here if each.parent is parent), key=lambda each: self._rank(each, sort, viewer)
            ):
                if not said.is_seen_by(viewer):
                    continue
                replies = level(said)
                if said.status != "deleted" or replies:
                    nodes.append(self.wire(said, viewer) | ({"r": replies} if replies else {}))
            return nodes

        roots = level(None)
        return roots, _size(roots)

    def _rank(self, said: Said, sort: str, viewer: Somebody | None) -> float:
        """Smaller comes first; `sorted` keeps the order of posting among equals."""
        up, down = self.counts(said, viewer)
        return {
            "new": -said.created_ms,
            "old": said.created_ms,
            "top": down - up,
            "controversial": -min(up, down),
            "hot": -hot_30_days(up, down, said.created_ms),
        }[sort]

    def wire(self, said: Said, viewer: Somebody | None = None) -> dict[str, Any]:
        """Contract 3.1, without the HTML and the replies."""
        up, down = self.counts(said, viewer)
        node: dict[str, Any] = {
            "i": said.id,
            "a": said.author_id,
            "n": said.author_name,
            "p": None,
            "k": said.author_karma,
            "t": said.text,
            "u": up,
            "d": down,
            "x": said.created_ms // 1000,
            "m": said.updated_ms // 1000,
        }
        if said.edited:
            node["e"] = True
        if said.status != "approved":
            node["s"] = said.status
        if said.parent:
            node["q"] = said.parent.id
        return node

    def listed_by(self, author: Somebody, *, is_own: bool) -> list[str]:
        """Ids in a person's list: their own in every status, another's where anybody may see them."""
        theirs = [said for said in self.said if said.author_id == author.id]
        return [said.id for said in theirs if is_own or (said.status == "approved" and said.is_seen_by(None))]

    # What the store must hold.

    def store(self, site_id: str, pages: dict[str, str]) -> dict[str, Any]:
        """Every key about comments and votes, with its value; `pages` gives the id of each page's address."""
        keys: dict[str, Any] = {}

        def add(key: str, member: str, score: float) -> None:
            keys.setdefault(key, {})[member] = score

        for said in self.said:
            page_id = pages[said.page]
            up, down = self.counts(said)
            keys[f"comment:{said.id}"] = self._record(said, site_id, page_id)
            add(f"site:{site_id}:comments", said.id, said.created_ms)
            add(f"user:{said.wrote}:{site_id}:comments", said.id, said.created_ms)
            if self.is_listed(said):
                scores = {"new": said.created_ms, "top": up - down, "hot": hot_30_days(up, down, said.created_ms)}
                for sort, score in scores.items() if not said.buried else ():
                    add(f"page:{page_id}:comments:{sort}", said.id, score)
                for sort, score in (scores | {"controversial": min(up, down)}).items():
                    if said.parent is None:
                        add(f"page:{page_id}:roots:{sort}", said.id, score)
                    else:
                        add(f"comment:{said.parent.id}:replies" + (f":{sort}" if sort != "new" else ""), said.id, score)
            elif said.status not in ("deleted", "rejected"):
                add(f"page:{page_id}:unlisted:{said.author_id}", said.id, said.created_ms)
            if said.status == "pending" and not said.is_shadowed:
                add(f"site:{site_id}:modqueue", said.id, said.created_ms)
            if said.id in self.pins:
                add(f"page:{page_id}:pinned", said.id, self.pins[said.id])
        for (voter, comment_id), way in self.votes.items():
            page_id = next(pages[said.page] for said in self.said if said.id == comment_id)
            keys[f"vote:{voter}:{comment_id}"] = way
            keys.setdefault(f"votes:{voter}:{page_id}", {})[comment_id] = way
            keys.setdefault(f"votes:{voter}:pages", set()).add(page_id)
        return keys

    def is_listed(self, said: Said) -> bool:
        """In the indexes is what everybody sees; a deleted one while something listed hangs on it (S3-12, S3-18)."""
        if said.status == "deleted":
            return any(self.is_listed(reply) for reply in self.said if reply.parent is said)
        return said.status == "approved" and not said.is_shadowed

    def total(self, page: str) -> int:
        return sum(self.is_listed(said) and not said.buried for said in self.said if said.page == page)

    def _record(self, said: Said, site_id: str, page_id: str) -> dict[str, str]:
        up, down = self.counts(said)
        record = {
            "id": said.id,
            "site_id": site_id,
            "page_id": page_id,
            "page_url": said.page,
            "author_id": said.author_id,
            "author_name": said.author_name,
            "author_karma": str(said.author_karma),
            "content": said.text,
            "status": said.status,
            "created_at": _iso(said.created_ms),
            "updated_at": _iso(said.updated_ms),
            "upvotes": str(up),
            "downvotes": str(down),
            "reply_count": str(sum(self.is_listed(reply) for reply in self.said if reply.parent is said)),
            "depth": str(said.depth),
            "edited": "true" if said.edited else "false",
        }
        if said.parent:
            record["parent_id"] = said.parent.id
        if said.is_shadowed:
            record["is_shadowed"] = "true"
        if said.is_unposted:
            record["is_unposted"] = "true"
        if said.buried:
            record["buried"] = said.buried
        if said.pinned_ms is not None:
            record["pinned_ms"] = str(said.pinned_ms)
        if said.decided_by:
            record["decided_by"] = said.decided_by
        if said.is_objected_to:
            record["held_for"], record["told_why"] = json.dumps(HELD_FOR), json.dumps(TOLD_WHY)
        return record


def _iso(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{ms % 1000:03d}Z"


def _size(nodes: list[dict[str, Any]]) -> int:
    return sum(1 + _size(node.get("r", [])) for node in nodes)
