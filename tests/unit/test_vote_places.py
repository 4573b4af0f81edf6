"""What is remembered of comments that were voted on: the newest, and no more than so many."""

import pytest

from threadkit.comments.model import CommentPlace
from threadkit.ids import CommentId, PageId, SiteId
from threadkit.votes import places
from threadkit.votes.places import Places

SITE = SiteId("site")


def place(name: str) -> CommentPlace:
    return CommentPlace(CommentId(name), SITE, PageId("page"), None, 0, 0)


def test_whatever_was_not_voted_on_for_longest_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "MOST", 2)
    known = Places()
    for name in ("a", "b", "a", "c"):
        known.keep(place(name))
    assert [known.get(SITE, CommentId(name)) is not None for name in ("a", "b", "c")] == [True, False, True]


def test_one_sites_comments_are_not_anothers() -> None:
    known = Places()
    known.keep(place("a"))
    assert known.get(SiteId("other"), CommentId("a")) is None
    known.drop(SITE, CommentId("a"))
    assert known.get(SITE, CommentId("a")) is None
