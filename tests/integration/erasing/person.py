"""Somebody who leaves something of every kind behind, and what is known of it without asking the store."""

from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.conftest import NOTHING_HELD
from tests.integration.comments.test_comments import write
from tests.integration.moderation.test_decisions import decide, staff
from tests.integration.moderation.test_people import abroad
from tests.integration.moderation.test_reports import report
from tests.people import Letterbox, Person, create, post
from threadkit.app import Application
from threadkit.ids import UserId
from threadkit.sites.model import AuthSettings, NewSite, SiteSettings
from threadkit.sites.roles import Role

NAME = "quixotilda"
EMAIL = "quixotilda@windmill.example"
PASSWORD = "four giants on a hill"
AVATAR = "https://pictures.example/of-quixotilda-only.png"
LINK = "https://github.com/quixotilda-of-the-mill"
BROWSER = "Mozilla/5.0 (X11; Linux x86_64) Rocinante/16.05"
WORDS = "windmillwords"
A_PAGE = 50
FIRST_PAGE = "https://blog.example.org/page-0"


@dataclass
class Ledger:
    """Written by hand while it is done."""

    comments: dict[str, tuple[str, str]] = field(default_factory=dict)
    """By id: the site and the text."""
    votes: dict[str, str] = field(default_factory=dict)
    told: set[tuple[str, str]] = field(default_factory=set)
    blocked: set[str] = field(default_factory=set)
    roles: set[tuple[str, str]] = field(default_factory=set)
    sites: list[NewSite] = field(default_factory=list)
    reported: set[str] = field(default_factory=set)
    others: list[Person] = field(default_factory=list)
    named_in: str = ""
    """Somebody else's comment, with her name in it."""


async def vote(person: Person, comment_id: object, direction: str) -> None:
    body = {"page_url": FIRST_PAGE, "path": [comment_id], "direction": direction}
    answer = await person.call("POST", f"/v1/comments/{comment_id}/vote", body)
    assert answer.status_code == 200, answer.text


async def sites_of(app: Application) -> list[NewSite]:
    everything = SiteSettings(auth=AuthSettings(password=True), screening=NOTHING_HELD)
    return [
        await app.services.sites.create("Blog", "blog.example.org", settings=everything),
        await app.services.sites.create("Other", "other.example.org", settings=everything),
    ]


async def registered(http: httpx.AsyncClient, site: NewSite) -> Person:
    body = {"name": NAME, "email": EMAIL, "password": PASSWORD}
    answer = await post(http, site, "/v1/auth/register", body, **{"user-agent": BROWSER})
    assert answer.status_code == 200, answer.text
    person = Person.of(http, site.site.api_key_public, answer.json())
    changed = await person.call("PUT", "/v1/users/me", {"avatar_url": AVATAR, "social_links": {"github": LINK}})
    assert changed.status_code == 200, changed.text
    return person


async def lived(app: Application, http: httpx.AsyncClient, *, comments: int) -> tuple[Person, Ledger]:
    """As many comments on two sites, and a bit of everything else that somebody can do or have done to them."""
    letterbox = Letterbox(app)
    ledger = Ledger(sites=await sites_of(app))
    blog, other = ledger.sites
    her = await registered(http, blog)
    eve, mo, owner = await create(http, blog, "eve"), await staff(app, http, blog), await create(http, other, "owner")
    ledger.others = [eve, mo]
    there = await abroad(app, http, her, other)
    await app.services.roles.grant(other.site.id, UserId(owner.id), Role.OWNER)

    hers = await _wrote(her, blog, ledger, range(comments - comments // 4))
    hers += await _wrote(there, other, ledger, range(comments - comments // 4, comments))
    await _talked(her, eve, hers, ledger)
    await app.services.outbox.drain()
    await her.call("POST", f"/v1/users/{eve.id}/block")
    await eve.call("POST", f"/v1/users/{her.id}/block")
    ledger.blocked.add(eve.id)
    await _was_judged(her, mo, hers, ledger)
    await _judged(app, there, eve, owner, other, ledger)
    await _asked_for_codes(http, blog, letterbox)
    await app.services.outbox.drain()
    return her, ledger


async def _wrote(person: Person, site: NewSite, ledger: Ledger, numbers: range) -> list[dict[str, Any]]:
    """On several pages, three in a row below each other, some of them edited."""
    written: list[dict[str, Any]] = []
    for page, start in enumerate(range(0, len(numbers), A_PAGE)):
        url = f"https://{site.site.domain}/page-{page}"
        above: list[str] = []
        for number in numbers[start : start + A_PAGE]:
            text = f"{WORDS} {number} and what follows"
            comment = await write(person, text, under=above if number % 3 else None, url=url)
            above = [*above, str(comment["i"])] if number % 3 else [str(comment["i"])]
            if number % 10 == 0:
                text += ", edited"
                edited = await person.call("PATCH", f"/v1/comments/{comment['i']}", {"text": text})
                assert edited.status_code == 200, edited.text
            ledger.comments[str(comment["i"])] = (site.site.id, text)
            written.append(comment)
    return written


async def _talked(her: Person, eve: Person, hers: list[dict[str, Any]], ledger: Ledger) -> None:
    """Answers, mentions and votes in both directions."""
    root = await write(eve, "a root of hers", url=FIRST_PAGE)
    reply = await write(her, f"{WORDS} hello @eve", under=[str(root["i"])], url=FIRST_PAGE)
    ledger.comments[str(reply["i"])] = (ledger.sites[0].site.id, f"{WORDS} hello @eve")
    answer = await write(eve, "indeed", under=[str(root["i"]), str(reply["i"])], url=FIRST_PAGE)
    ledger.told.add(("reply", str(answer["i"])))
    named = await write(eve, f"what does @{NAME} say?", under=[str(root["i"])], url=FIRST_PAGE)
    ledger.named_in = str(named["i"])
    ledger.told.add(("mention", ledger.named_in))
    await vote(eve, str(hers[0]["i"]), "up")
    ledger.told.add(("upvote", str(hers[0]["i"])))
    for comment, way in ((root, "up"), (answer, "down")):
        await vote(her, str(comment["i"]), way)
        ledger.votes[str(comment["i"])] = way
    await report(her, root)
    ledger.reported.add(str(root["i"]))


async def _was_judged(her: Person, mo: Person, hers: list[dict[str, Any]], ledger: Ledger) -> None:
    """Reported, rejected, asked again; noted, banned and let in again."""
    await report(ledger.others[0], hers[1])
    await decide(mo, "reject", str(hers[1]["i"]), reason="off topic")
    await her.call("POST", f"/v1/comments/{hers[1]['i']}/appeal", {"text": f"{WORDS}: why?"})
    for path, body in (
        (f"/v1/moderation/users/{her.id}/notes", {"text": f"{NAME} again"}),
        (f"/v1/moderation/ban/{her.id}", {"hours": 24, "reason": f"{NAME} was rude"}),
        (f"/v1/moderation/unban/{her.id}", {}),
        (f"/v1/moderation/shadowban/{her.id}", {"reason": f"{NAME} again"}),
        (f"/v1/moderation/ban/{her.id}", {"hours": 24}),
        (f"/v1/comments/{hers[0]['i']}/pin", {}),
        (f"/v1/moderation/claim/{hers[2]['i']}", {}),
    ):
        answer = await mo.call("POST", path, body)
        assert answer.status_code in (200, 204), (path, answer.text)
    ledger.told.add(("mod_action", str(hers[1]["i"])))


async def _judged(app: Application, there: Person, eve: Person, owner: Person, other: NewSite, ledger: Ledger) -> None:
    """An admin of the other site, with deeds in its log."""
    granted = await owner.call("POST", f"/v1/admin/sites/{other.site.id}/admins", {"user_id": there.id})
    assert granted.status_code in (200, 201), granted.text
    ledger.roles.add((other.site.id, "admin"))
    stranger = await abroad(app, there.http, eve, other)
    rude, fine = [await write(stranger, text, url=f"https://{other.site.domain}/page-0") for text in ("rude", "fine")]
    await decide(there, "reject", str(rude["i"]), reason="not here")
    await decide(there, "reject", str(fine["i"]))
    await decide(there, "approve", str(fine["i"]))
    await there.call("POST", f"/v1/comments/{fine['i']}/pin", {})
    for path, body in (
        (f"/v1/moderation/users/{eve.id}/notes", {"text": "seen"}),
        (f"/v1/moderation/ban/{eve.id}", {"hours": 24}),
    ):
        answer = await there.call("POST", path, body)
        assert answer.status_code in (200, 204), (path, answer.text)
    spammer = await create(there.http, other, "spammer")
    await write(spammer, "buy", url=f"https://{other.site.domain}/page-0")
    began = await there.call("POST", f"/v1/moderation/users/{spammer.id}/delete-comments", {})
    assert began.status_code == 202, began.text


async def _asked_for_codes(http: httpx.AsyncClient, site: NewSite, letterbox: Letterbox) -> None:
    """One that is never used, one password that was wrong, one that was forgotten."""
    for path, body in (
        ("/v1/auth/send-otp", {"email": EMAIL}),
        ("/v1/auth/login", {"email": EMAIL, "password": "not this one"}),
        ("/v1/auth/forgot", {"email": EMAIL}),
    ):
        answer = await post(http, site, path, body)
        assert answer.status_code < 500, (path, answer.text)
    assert letterbox.mails
