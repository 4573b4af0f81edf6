"""An export against a ledger that was written by hand while it was done. G26."""

import os

import httpx

from tests.integration.erasing.person import AVATAR, EMAIL, LINK, NAME, lived
from threadkit.app import Application

COMMENTS = 1000 if os.environ.get("THREADKIT_SOAK") else 40


async def test_an_export_has_all_that_is_in_the_ledger(app: Application, http: httpx.AsyncClient) -> None:
    her, ledger = await lived(app, http, comments=COMMENTS)
    answer = await her.call("GET", "/v1/users/me/export")
    assert answer.status_code == 200, answer.text
    export = answer.json()
    profile = export["profile"]
    assert (profile["id"], profile["name"], profile["email"]) == (her.id, NAME, EMAIL)
    assert (profile["avatar_url"], profile["social_links"]["github"]) == (AVATAR, LINK)
    assert {one["id"]: (one["site_id"], one["content"]) for one in export["comments"]} == ledger.comments
    assert all(one["page_url"].startswith("https://") and one["created_at"] for one in export["comments"])
    assert {one["comment_id"]: one["vote"] for one in export["votes"]} == ledger.votes
    assert {one["comment_id"] for one in export["reports"]} == ledger.reported
    assert set(export["blocked"]) == ledger.blocked
    assert {(one["site_id"], one["role"]) for one in export["roles"]} == ledger.roles
    told = {(one["notification_type"], one["comment_id"]) for one in export["notifications"]}
    assert ledger.told <= told
    assert {one["action"] for one in export["moderation"]} >= {"reject", "ban", "unban", "role"}
    assert len(export["sessions"]) == 2, "she is signed in on both sites"
    assert export["has_password"] is True
    print(f"\nG26: an export of {len(export['comments'])} comments has all that the ledger has")
