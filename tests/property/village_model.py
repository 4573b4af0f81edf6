"""A site as a whole in plain Python: who is who, what was said, and what each person therefore sees. From contract 4.3, 4.4
and 5 and docs/moderation.md. Finer things (windows of time, karma, pins, reports, the log) have models of their own."""

from dataclasses import dataclass, field
from typing import Any

PLACE, BY_ADMIN = "[deleted]", "[deleted by admin]"
HELD_WORD = "casino"
"""A text of this one word waits, unless a moderator wrote it."""


@dataclass
class Villager:
    id: str
    name: str
    is_moderator: bool = False
    is_banned: bool = False
    is_shadowed: bool = False
    blocked: set[str] = field(default_factory=set)


@dataclass
class Remark:
    id: str
    page: str
    author: Villager | None
    """None as soon as it has lost its author."""
    text: str
    number: int
    parent: "Remark | None"
    status: str = "approved"
    is_shadowed: bool = False
    votes: dict[str, str] = field(default_factory=dict)
    """Of those who can still change theirs."""
    kept: list[str] = field(default_factory=list)
    """Of those who have left."""

    uncounted: set[str] = field(default_factory=set)
    """Of those who voted under a shadow ban that still holds."""

    def counts(self, viewer: Villager | None) -> tuple[int, int]:
        seen_by = viewer.id if viewer else ""
        votes = [way for voter, way in self.votes.items() if voter == seen_by or voter not in self.uncounted]
        ways = [*votes, *self.kept]
        return ways.count("up"), ways.count("down")


class Village:
    def __init__(self) -> None:
        self.people: dict[str, Villager] = {}
        self.remarks: list[Remark] = []

    # What happens.

    def post(self, comment_id: str, page: str, author: Villager, text: str, parent: Remark | None) -> None:
        is_held = text == HELD_WORD and not author.is_moderator
        status = "pending" if is_held else "approved"
        number = len(self.remarks)
        remark = Remark(comment_id, page, author, text, number, parent, status, author.is_shadowed)
        self.remarks.append(remark)

    def vote(self, remark: Remark, voter: Villager, way: str) -> None:
        remark.uncounted.discard(voter.id)
        if remark.votes.get(voter.id) == way:
            del remark.votes[voter.id]
            return
        remark.votes[voter.id] = way
        if voter.is_shadowed:
            remark.uncounted.add(voter.id)

    def delete(self, remark: Remark, *, text: str = PLACE) -> None:
        remark.status, remark.text, remark.author, remark.is_shadowed = "deleted", text, None, False

    def ban(self, person: Villager, *, is_cleaned_up: bool) -> None:
        person.is_banned = True
        if is_cleaned_up:
            for remark in self.remarks:
                if remark.author is person:
                    hidden = not self.is_listed(remark) and any(map(self.is_listed, self._replies(remark)))
                    self.delete(remark, text=BY_ADMIN)
                    remark.status = "rejected" if hidden else "deleted"

    def unshadow(self, person: Villager) -> None:
        """What they wrote meanwhile is like anything else, and their votes count."""
        person.is_shadowed = False
        for remark in self.remarks:
            remark.uncounted.discard(person.id)
            if remark.author is person:
                remark.is_shadowed = False

    def leave(self, person: Villager) -> None:
        """Texts, votes and replies stay; who wrote them does not."""
        for remark in self.remarks:
            if remark.author is person:
                remark.author = None
            if person.id in remark.votes:
                way = remark.votes.pop(person.id)
                if person.id not in remark.uncounted:
                    remark.kept.append(way)
        for other in self.people.values():
            other.blocked.discard(person.id)
        del self.people[person.id]

    # What can be seen.

    def is_listed(self, remark: Remark) -> bool:
        """Whether everybody sees it, as far as it depends on itself; a deleted one while something hangs on it."""
        if remark.status == "deleted":
            return any(self.is_listed(reply) for reply in self._replies(remark))
        return remark.status == "approved" and not remark.is_shadowed

    def is_public(self, remark: Remark) -> bool:
        """Whether everybody sees it, and it can be answered and voted for."""
        above = remark.parent
        while above is not None:
            if not self.is_listed(above):
                return False
            above = above.parent
        return remark.status == "approved" and not remark.is_shadowed

    def thread(self, page: str, viewer: Villager | None, sort: str) -> list[Any]:
        """Text, name, votes and replies of everything that somebody gets to see, in order."""
        here = [remark for remark in self.remarks if remark.page == page]

        def level(parent: Remark | None) -> list[Any]:
            found = []
            for remark in sorted(
                (one for one in here if one.parent is parent), key=lambda one: _rank(one, sort, viewer)
            ):
                if not _is_seen(remark, viewer):
                    continue
                replies = level(remark)
                if remark.status != "deleted" or replies:
                    name = remark.author.name if remark.author else PLACE
                    found.append((remark.text, name, *remark.counts(viewer), replies))
            return found

        return level(None)

    def _replies(self, remark: Remark) -> list[Remark]:
        return [reply for reply in self.remarks if reply.parent is remark]


def _is_seen(remark: Remark, viewer: Villager | None) -> bool:
    is_own = viewer is not None and remark.author is viewer
    if viewer and remark.author and remark.author.id in viewer.blocked:
        return False
    if remark.status == "rejected":
        return False
    return is_own if remark.status == "pending" or remark.is_shadowed else True


def _rank(remark: Remark, sort: str, viewer: Villager | None) -> int:
    up, down = remark.counts(viewer)
    return down - up if sort == "top" else -remark.number
