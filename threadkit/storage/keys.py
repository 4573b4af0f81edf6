"""Every key and channel in the store: one typed function each, and nowhere else.

Four groups: what belongs to one site, to one user, to one client, and what stands alone. In a cluster the keys of one
site (user, client) share a hash tag, so that one script can touch them; on a single server the tag is empty and the keys
read as documented.
"""

import enum
import functools
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Concatenate, ParamSpec, TypeVar

from threadkit.ids import SiteId, UserId

P = ParamSpec("P")
LONGEST_SESSION_S = 365 * 86_400  # the setting accounts.session_days can say less
REPORT_SOURCES_S = 86_400

G = TypeVar("G", bound="_Group")


class Kind(enum.StrEnum):
    STRING = "string"
    HASH = "hash"
    SET = "set"
    ZSET = "zset"
    LIST = "list"
    STREAM = "stream"
    CHANNEL = "channel"
    STRING_OR_SET = "string or set"


@dataclass(frozen=True)
class Entry:
    """One line of the schema."""

    name: str
    group: str
    pattern: str
    kind: Kind
    meaning: str
    writers: str
    ttl_s: int | None
    score: str | None

    @functools.cached_property
    def _matcher(self) -> re.Pattern[str]:
        return re.compile(re.sub(r"\\\{\w+\\\}", r"[^{}]+?", re.escape(self.pattern)))

    @functools.cached_property
    def _reader(self) -> re.Pattern[str]:
        return re.compile(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^{}]+)", re.escape(self.pattern)))

    def matches(self, key: str) -> bool:
        return self._matcher.fullmatch(key) is not None

    def parts(self, key: str) -> dict[str, str] | None:
        """What a key's name says; None when it is not one of these."""
        match = self._reader.fullmatch(key)
        return match.groupdict() if match else None

    @property
    def glob(self) -> str:
        """For SCAN, with any hash tag in front."""
        return "*" + re.sub(r"\{\w+\}", "*", self.pattern)


SCHEMA: list[Entry] = []


class _Group:
    """Keys that share an owner, and in a cluster a slot."""

    owner: str | None = None

    def __init__(self, space: "Keys", owner_id: str = "") -> None:
        self.front = space.prefix + (f"{{{owner_id}}}" if space.tagged and owner_id else "")
        self._id = owner_id


def key(
    kind: Kind, meaning: str, *, writers: str, ttl_s: int | None = None, score: str | None = None
) -> Callable[[Callable[Concatenate[G, P], str]], Callable[Concatenate[G, P], str]]:
    """Register a key function in SCHEMA; its pattern comes from calling it with its own parameter names."""

    def register(build: Callable[Concatenate[G, P], str]) -> Callable[Concatenate[G, P], str]:
        SCHEMA.append(_entry(build, kind, meaning, writers, ttl_s, score))

        @functools.wraps(build)
        def with_front(group: G, *args: P.args, **kwargs: P.kwargs) -> str:
            return group.front + build(group, *args, **kwargs)

        return with_front  # type: ignore[return-value]

    return register


def _entry(
    build: Callable[..., str], kind: Kind, meaning: str, writers: str, ttl_s: int | None, score: str | None
) -> Entry:
    group = build.__qualname__.split(".")[0]
    owner = {"SiteKeys": "{site_id}", "UserKeys": "{user_id}", "ClientKeys": "{client}"}.get(group, "")
    parameters = list(inspect.signature(build).parameters)[1:]
    pattern = build(_PatternGroup(owner), **{name: f"{{{name}}}" for name in parameters})
    return Entry(build.__name__, group, pattern, kind, meaning, writers, ttl_s, score)


class _PatternGroup:
    def __init__(self, owner: str) -> None:
        self._id = owner


class SiteKeys(_Group):
    """What belongs to one site."""

    @key(Kind.HASH, "a site: name, domain, keys (the secret one as a digest), settings", writers="sites")
    def config(self) -> str:
        return f"site:{self._id}:config"

    @key(Kind.SET, "users who own the site", writers="roles")
    def owners(self) -> str:
        return f"site:{self._id}:owners"

    @key(Kind.SET, "users who administrate the site", writers="roles")
    def admins(self) -> str:
        return f"site:{self._id}:admins"

    @key(Kind.SET, "users who moderate the site", writers="roles")
    def moderators(self) -> str:
        return f"site:{self._id}:moderators"

    @key(Kind.SET, "users who may not write here", writers="moderation")
    def blocked(self) -> str:
        return f"site:{self._id}:blocked"

    @key(Kind.SET, "users whose words only they themselves see", writers="moderation")
    def shadowbanned(self) -> str:
        return f"site:{self._id}:shadowbanned"

    @key(Kind.HASH, "a page: url, title, version, number of shown comments, lock", writers="comments moderation")
    def page(self, page_id: str) -> str:
        return f"page:{page_id}"

    @key(
        Kind.ZSET,
        "the comments that changed last on a page, for clients who were away; the newest 1,000",
        writers="comments votes moderation pages",
        score="page version",
    )
    def page_changes(self, page_id: str) -> str:
        return f"page:{page_id}:changes"

    @key(
        Kind.CHANNEL,
        "what happens on a page, as flat JSON with a `type`, whose it is, and the page's `version` afterwards",
        writers="comments votes moderation pages live",
    )
    def page_channel(self, page_id: str) -> str:
        return f"page:{page_id}"

    @key(Kind.STRING, "how often a page was viewed", writers="counters")
    def page_views(self, page_id: str) -> str:
        return f"page:{page_id}:views"

    @key(Kind.STRING, "how often a page was viewed on a day of UTC", writers="counters", ttl_s=7_776_000)
    def page_views_on(self, page_id: str, date: str) -> str:
        return f"page:{page_id}:views:{date}"

    @key(Kind.ZSET, "a page's shown comments", writers="comments moderation", score="created ms")
    def page_new(self, page_id: str) -> str:
        return f"page:{page_id}:comments:new"

    @key(Kind.ZSET, "a page's shown comments", writers="comments votes moderation", score="upvotes - downvotes")
    def page_top(self, page_id: str) -> str:
        return f"page:{page_id}:comments:top"

    @key(Kind.ZSET, "a page's shown comments", writers="comments votes moderation", score="scoring.hot")
    def page_hot(self, page_id: str) -> str:
        return f"page:{page_id}:comments:hot"

    @key(Kind.ZSET, "a page's shown root comments, one index a sort", writers="comments votes", score="as the sort")
    def roots(self, page_id: str, sort: str) -> str:
        return f"page:{page_id}:roots:{sort}"

    @key(Kind.ZSET, "a page's pinned comments", writers="comments", score="pinned ms")
    def pinned(self, page_id: str) -> str:
        return f"page:{page_id}:pinned"

    @key(
        Kind.ZSET,
        "a user's comments on a page that only they see: held or shadowed",
        writers="comments moderation",
        score="created ms",
    )
    def unlisted(self, page_id: str, user_id: str) -> str:
        return f"page:{page_id}:unlisted:{user_id}"

    @key(Kind.HASH, "a comment", writers="comments votes moderation")
    def comment(self, comment_id: str) -> str:
        return f"comment:{comment_id}"

    @key(Kind.ZSET, "a comment's shown replies", writers="comments moderation", score="created ms")
    def replies(self, comment_id: str) -> str:
        return f"comment:{comment_id}:replies"

    @key(Kind.ZSET, "a comment's shown replies, one index a sort", writers="comments votes", score="as the sort")
    def replies_by(self, comment_id: str, sort: str) -> str:
        return f"comment:{comment_id}:replies:{sort}"

    @key(Kind.STRING, "how a user voted on a comment: up or down", writers="votes")
    def vote(self, user_id: str, comment_id: str) -> str:
        return f"vote:{user_id}:{comment_id}"

    @key(Kind.HASH, "a user's votes on one page, by comment", writers="votes")
    def page_votes(self, user_id: str, page_id: str) -> str:
        return f"votes:{user_id}:{page_id}"

    @key(Kind.SET, "pages on which a user voted", writers="votes")
    def voted_pages(self, user_id: str) -> str:
        return f"votes:{user_id}:pages"

    # Until something was written on a page, and where it is another site's, these four stand under an id that only the
    # site has: anybody may look at any page id, and strangers do not meet.

    @key(Kind.SET, "signed-in users who look at a page now", writers="live", ttl_s=60)
    def presence(self, page_id: str) -> str:
        return f"page:{page_id}:presence"

    @key(
        Kind.ZSET,
        "where those users are: `{user_id}|{worker}`",
        writers="live",
        ttl_s=60,
        score="last heartbeat, ms",
    )
    def presence_conns(self, page_id: str) -> str:
        return f"page:{page_id}:presence:conns"

    @key(
        Kind.HASH,
        "how many connections look at a page, by worker: `{number} {last heartbeat, ms}`",
        writers="live",
        ttl_s=60,
    )
    def viewers(self, page_id: str) -> str:
        return f"page:{page_id}:viewers"

    @key(Kind.ZSET, "users who write something on a page now", writers="live", ttl_s=60, score="ms")
    def typing(self, page_id: str) -> str:
        return f"page:{page_id}:typing"

    @key(Kind.ZSET, "pages on which somebody wrote", writers="comments pages", score="last written ms")
    def pages(self) -> str:
        return f"site:{self._id}:pages"

    @key(Kind.ZSET, "all comments of the site", writers="comments", score="created ms")
    def comments(self) -> str:
        return f"site:{self._id}:comments"

    @key(Kind.ZSET, "a user's comments on this site", writers="comments", score="created ms")
    def comments_of(self, user_id: str) -> str:
        return f"user:{user_id}:{self._id}:comments"

    @key(Kind.ZSET, "comments that wait for a moderator", writers="comments moderation", score="created ms")
    def modqueue(self) -> str:
        return f"site:{self._id}:modqueue"

    @key(
        Kind.HASH,
        "which moderator looks at a comment now: by comment `{until, ms} {user_id}`",
        writers="moderation comments",
        ttl_s=60,
    )
    def claims(self) -> str:
        return f"site:{self._id}:claims"

    @key(
        Kind.CHANNEL,
        "what moderators do and what waits for them, as JSON with a `type`, and the length of the `queue`",
        writers="comments moderation",
    )
    def staff_channel(self) -> str:
        return f"site:{self._id}:staff"

    @key(
        Kind.STRING,
        "what a moderator's deletion took from a comment, as JSON, for as long as it can be undone",
        writers="comments moderation",
        ttl_s=30,
    )
    def kept(self, comment_id: str) -> str:
        return f"comment:{comment_id}:kept"

    @key(
        Kind.SET,
        "addresses (keyed hashes) of guests who reported a comment: they weigh together what one does",
        writers="moderation",
        ttl_s=REPORT_SOURCES_S,
    )
    def report_sources(self, comment_id: str) -> str:
        return f"comment:{comment_id}:reports:from"

    @key(
        Kind.STRING,
        "the reports of a comment that a decision closed, as JSON, for as long as it can be undone",
        writers="comments moderation",
        ttl_s=30,
    )
    def closed_reports(self, comment_id: str) -> str:
        return f"comment:{comment_id}:reports:closed"

    @key(
        Kind.HASH,
        "what the filter knows of a token: `{rejected} {approved} {day}`, in how many texts it was and when last",
        writers="moderation",
    )
    def filter_tokens(self) -> str:
        return f"site:{self._id}:filter:tokens"

    @key(
        Kind.HASH, "how many decisions, texts and tokens of both kinds the filter has learnt from", writers="moderation"
    )
    def filter_totals(self) -> str:
        return f"site:{self._id}:filter:totals"

    @key(
        Kind.HASH,
        "by comment what the filter learnt from it, as JSON, to be able to take it back; the newest 2,000",
        writers="moderation",
        ttl_s=2_592_000,
    )
    def filter_learnt(self) -> str:
        return f"site:{self._id}:filter:learnt"

    @key(Kind.ZSET, "those comments", writers="moderation", ttl_s=2_592_000, score="learnt ms")
    def filter_order(self) -> str:
        return f"site:{self._id}:filter:order"

    @key(Kind.HASH, "how often they have the same text: it counts once", writers="moderation", ttl_s=2_592_000)
    def filter_texts(self) -> str:
        return f"site:{self._id}:filter:texts"

    @key(Kind.HASH, "how many of a user's comments here moderators approved and rejected", writers="moderation")
    def author_decisions(self, user_id: str) -> str:
        return f"site:{self._id}:author:{user_id}:decisions"

    @key(
        Kind.ZSET,
        "what was decided about a user's comments here in seven days: `{comment_id} {decision}`; the newest 200",
        writers="moderation",
        ttl_s=604_800,
        score="decided ms",
    )
    def author_lately(self, user_id: str) -> str:
        return f"site:{self._id}:author:{user_id}:lately"

    @key(
        Kind.ZSET,
        "sketches of what a user or a guest's address wrote a short while ago; the newest 20",
        writers="moderation",
        ttl_s=3600,
        score="written ms",
    )
    def recent_texts(self, who: str) -> str:
        return f"site:{self._id}:recent:{who}"

    @key(Kind.HASH, "with which formula the hot scores were made, or how far they are", writers="rebuild")
    def ranking(self) -> str:
        return f"site:{self._id}:ranking"

    @key(Kind.STRING, "the worker that makes hot scores anew", writers="rebuild", ttl_s=15)
    def ranking_lease(self) -> str:
        return f"lock:ranking:{self._id}"

    @key(Kind.ZSET, "reports that wait for a moderator, as JSON", writers="moderation", score="ms")
    def reports(self) -> str:
        return f"site:{self._id}:reports"

    @key(Kind.HASH, "who reported a comment: reporter → the report as it stands in the list", writers="moderation")
    def comment_reports(self, comment_id: str) -> str:
        return f"comment:{comment_id}:reports"

    @key(Kind.ZSET, "comments whose authors ask for another look", writers="comments moderation", score="asked ms")
    def appeals(self) -> str:
        return f"site:{self._id}:appeals"

    @key(
        Kind.ZSET,
        "what became of a user's reports here: `{comment_id} upheld` or `dismissed`; the newest 100",
        writers="moderation",
        score="closed ms",
    )
    def reporter(self, user_id: str) -> str:
        return f"site:{self._id}:reporter:{user_id}"

    @key(
        Kind.STREAM,
        "what moderators did, each entry as JSON; only ever added to, but for the ids of people who left",
        writers="moderation",
    )
    def modlog(self) -> str:
        return f"site:{self._id}:modlog"

    @key(Kind.STREAM, "the log without somebody who leaves, as far as it is copied", writers="moderation", ttl_s=30)
    def modlog_draft(self) -> str:
        return f"site:{self._id}:modlog:draft"

    @key(Kind.STRING, "who copies the log", writers="moderation", ttl_s=30)
    def modlog_lease(self) -> str:
        return f"lock:modlog:{self._id}"

    @key(Kind.ZSET, "users whose ban ends by itself", writers="moderation", score="when it ends, ms")
    def ban_ends(self) -> str:
        return f"site:{self._id}:bans"

    @key(
        Kind.HASH, "why somebody is banned here: `ban {user_id}` or `shadowban {user_id}` → JSON", writers="moderation"
    )
    def standings(self) -> str:
        return f"site:{self._id}:standings"

    @key(Kind.HASH, "what is being done in the background, by job, as JSON; the newest 100", writers="moderation")
    def jobs(self) -> str:
        return f"site:{self._id}:jobs"

    @key(Kind.HASH, "what moderators noted about a user, by note, as JSON; at most 100", writers="moderation")
    def notes_about(self, user_id: str) -> str:
        return f"site:{self._id}:author:{user_id}:notes"

    @key(Kind.STRING, "a text (a digest) that Akismet called spam", writers="moderation", ttl_s=2_592_000)
    def akismet_spam(self, text_digest: str) -> str:
        return f"site:{self._id}:akismet:{text_digest}"

    @key(Kind.STRING, "a visitor (a keyed hash) who has shown to be human", writers="moderation", ttl_s=86_400)
    def human(self, visitor: str) -> str:
        return f"site:{self._id}:human:{visitor}"

    @key(Kind.STRING, "what a request with an Idempotency-Key made", writers="comments", ttl_s=86_400)
    def repeated(self, request: str) -> str:
        return f"idempotency:{request}"

    @key(Kind.STREAM, "what happened on the site and has effects elsewhere", writers="comments votes notifications")
    def outbox(self) -> str:
        return f"site:{self._id}:outbox"

    @key(Kind.ZSET, "failed outbox entries by handler", writers="outbox", score="when the next try is due, ms")
    def outbox_due(self) -> str:
        return f"site:{self._id}:outbox:due"

    @key(Kind.HASH, "what is tried again: by entry and handler the event and the number of tries", writers="outbox")
    def outbox_retrying(self) -> str:
        return f"site:{self._id}:outbox:retrying"

    @key(Kind.STREAM, "outbox entries that were given up, with the reason; the newest 10,000", writers="outbox")
    def outbox_dead(self) -> str:
        return f"site:{self._id}:outbox:dead"

    @key(Kind.STRING, "the worker that takes the outbox forward", writers="outbox", ttl_s=15)
    def outbox_lease(self) -> str:
        return f"lock:outbox:{self._id}"

    @key(
        Kind.HASH,
        "a site's use in a month: comments, pageviews, api_requests, websocket_connections",
        writers="counters",
        ttl_s=7_776_000,
    )
    def usage(self, month: str) -> str:
        return f"site:{self._id}:usage:{month}"

    @key(
        Kind.STRING_OR_SET,
        "a month's visitors as keyed hashes: a HyperLogLog, or a set where they are counted exactly",
        writers="counters",
        ttl_s=7_776_000,
    )
    def visitors(self, month: str) -> str:
        return f"site:{self._id}:visitors:{month}"

    @key(
        Kind.HASH,
        "a site's use on a day of UTC: as in a month, and how many visitors",
        writers="counters",
        ttl_s=7_776_000,
    )
    def usage_on(self, date: str) -> str:
        return f"site:{self._id}:day:{date}"

    @key(Kind.STRING, "a day's visitors as keyed hashes, a HyperLogLog", writers="counters", ttl_s=172_800)
    def visitors_on(self, date: str) -> str:
        return f"site:{self._id}:day:{date}:visitors"

    @key(Kind.HASH, "when each kind of the site's keys was last used, ms, to the minute", writers="counters")
    def key_uses(self) -> str:
        return f"site:{self._id}:keys:used"

    @key(Kind.SET, "pages whose views are counted by day", writers="counters")
    def viewed_pages(self) -> str:
        return f"site:{self._id}:viewed"

    @key(
        Kind.HASH,
        "views of pages on which nobody wrote, by page: `{views} {visitors, roughly} {the last one}`; at most 10,000",
        writers="counters",
    )
    def unwritten_views(self) -> str:
        return f"site:{self._id}:viewed:unwritten"

    @key(
        Kind.STRING,
        "requests of somebody (`ip`, `user`, `key`) in a minute, reads and writes apart",
        writers="ratelimit",
        ttl_s=120,
    )
    def requests(self, layer: str, who: str, bucket: int) -> str:
        return f"ratelimit:{layer}:{who}.{self._id}:{bucket}"

    @key(Kind.STRING, "the newest counts of a worker that were added", writers="counters", ttl_s=86_400)
    def tally_mark(self, worker: str) -> str:
        return f"site:{self._id}:tally:{worker}"


class UserKeys(_Group):
    """What belongs to one user."""

    @key(Kind.HASH, "a user's profile", writers="users")
    def profile(self) -> str:
        return f"user:{self._id}"

    @key(Kind.STRING, "the user's password as an argon2id hash", writers="users")
    def password(self) -> str:
        return f"user:{self._id}:password"

    @key(
        Kind.ZSET,
        "the networks from which the user signed in, as keyed hashes",
        writers="users",
        ttl_s=15_552_000,
        score="ms",
    )
    def networks(self) -> str:
        return f"user:{self._id}:networks"

    @key(
        Kind.HASH,
        "the user's one-time codes: their secret (encrypted), since when, and the newest step that was used",
        writers="users",
    )
    def totp(self) -> str:
        return f"user:{self._id}:totp"

    @key(Kind.STRING, "a secret for one-time codes that awaits its first code, encrypted", writers="users", ttl_s=900)
    def totp_draft(self) -> str:
        return f"user:{self._id}:totp:draft"

    @key(Kind.HASH, "the user's passkeys, as JSON", writers="users")
    def passkeys(self) -> str:
        return f"user:{self._id}:passkeys"

    @key(Kind.SET, "the recovery codes the user has left, as keyed digests", writers="users")
    def recovery_codes(self) -> str:
        return f"user:{self._id}:recovery"

    @key(
        Kind.HASH,
        "one signed-in device: user, site, times, user agent, refresh family",
        writers="users",
        ttl_s=LONGEST_SESSION_S,
    )
    def session(self, session_id: str) -> str:
        return f"session:{session_id}"

    @key(
        Kind.STRING,
        "the provider's side of a session, as JSON; its tokens are encrypted",
        writers="users",
        ttl_s=LONGEST_SESSION_S,
    )
    def provider_session(self, session_id: str) -> str:
        return f"sess:{session_id}"

    @key(Kind.STRING, "held while a provider's token is refreshed", writers="users", ttl_s=5)
    def session_lock(self, session_id: str) -> str:
        return f"lock:sess:{session_id}"

    @key(Kind.SET, "the user's session ids", writers="users", ttl_s=LONGEST_SESSION_S)
    def sessions(self) -> str:
        return f"user:{self._id}:sessions"

    @key(Kind.SET, "users whom this one does not want to read", writers="users")
    def blocked(self) -> str:
        return f"user:{self._id}:blocked"

    @key(Kind.SET, "users who do not want to read this one", writers="users")
    def blocked_by(self) -> str:
        return f"user:{self._id}:blocked_by"

    @key(Kind.HASH, "by site the newest outbox entry that was meant for this user, and any put off", writers="outbox")
    def applied(self) -> str:
        return f"user:{self._id}:applied"

    @key(
        Kind.CHANNEL,
        "what concerns one user, as JSON with a `type`: session_ended, rights_changed, blocks_changed, notification",
        writers="users moderation notifications",
    )
    def channel(self) -> str:
        return f"user:{self._id}:events"

    @key(
        Kind.ZSET,
        "what the user was told, as JSON; the newest 500 (notifications.most), and 50 that are about something hidden",
        writers="notifications",
        score="ms; below zero what is about something hidden",
    )
    def notifications(self) -> str:
        return f"user:{self._id}:notifications"

    @key(Kind.STRING, "how many notifications are unread", writers="notifications")
    def unread(self) -> str:
        return f"user:{self._id}:unread"

    @key(Kind.HASH, "how many of them on each site", writers="notifications")
    def unread_by_site(self) -> str:
        return f"user:{self._id}:unread:sites"

    @key(
        Kind.HASH,
        "who voted a comment of the user's up in the hour after its last notification, and that notification",
        writers="notifications",
        ttl_s=3600,
    )
    def upvoters(self, comment_id: str) -> str:
        return f"user:{self._id}:upvoters:{comment_id}"


class ClientKeys(_Group):
    """What one client, an address or a user, has done of a costly action."""

    @key(Kind.ZSET, "costly actions of the last minute", writers="ratelimit", ttl_s=90, score="seconds")
    def minute(self) -> str:
        return f"rate:minute:{self._id}"

    @key(Kind.STRING, "how many costly actions there were on a day of UTC", writers="ratelimit", ttl_s=86_400)
    def daily(self, day: str) -> str:
        return f"rate:daily:{self._id}:{day}"

    @key(Kind.ZSET, "costly actions that need a pause between them", writers="ratelimit", ttl_s=3600, score="seconds")
    def pace(self) -> str:
        return f"rate:pace:{self._id}"


class GlobalKeys(_Group):
    """What stands alone; no script touches two of these."""

    @key(
        Kind.HASH, "which schema the data has, since when, and which server secret it was made with", writers="storage"
    )
    def stamp(self) -> str:
        return "threadkit:stamp"

    @key(Kind.HASH, "which backup is being put back; nothing starts on the store until it is", writers="backup")
    def restoring(self) -> str:
        return "threadkit:restoring"

    @key(Kind.HASH, "which store is being copied into this one; nothing starts here until it is", writers="copying")
    def copying(self) -> str:
        return "threadkit:copying"

    @key(Kind.HASH, "when a server last tried to make a backup, and when one was made", writers="backup")
    def backups(self) -> str:
        return "threadkit:backups"

    @key(Kind.STRING, "the worker that makes the backup of the day", writers="backup", ttl_s=60)
    def backup_lease(self) -> str:
        return "lock:backup"

    @key(Kind.STRING, "shows that the store takes writes", writers="storage", ttl_s=1)
    def write_probe(self) -> str:
        return "threadkit:probe"

    @key(Kind.STREAM, "what was erased, sealed: each server's journal takes it over", writers="backup")
    def erasures(self) -> str:
        return "threadkit:erasures"

    @key(Kind.HASH, "which servers keep a journal of what was erased, and until when (ms) they did", writers="backup")
    def erasure_journals(self) -> str:
        return "threadkit:erasure-journals"

    @key(Kind.ZSET, "all sites", writers="sites", score="created_at ms")
    def sites(self) -> str:
        return "sites:index"

    @key(Kind.STRING, "which site an API key belongs to", writers="sites")
    def api_key_site(self, api_key: str) -> str:
        return f"apikey:{api_key}:site"

    @key(Kind.STRING, "what an API key opens, as JSON", writers="sites", ttl_s=300)
    def api_key(self, api_key: str) -> str:
        return f"apikey:{api_key}"

    @key(Kind.CHANNEL, "a site's keys or settings changed: `{site_id} {version}`", writers="sites")
    def site_changes(self) -> str:
        return "sites:changes"

    @key(Kind.HASH, "sites that are being deleted: by site its deletion, as JSON", writers="sites")
    def deleting(self) -> str:
        return "sites:deleting"

    @key(Kind.STRING, "how far the deletion of a site is, as JSON", writers="sites", ttl_s=2_592_000)
    def deletion(self, deletion_id: str) -> str:
        return f"deletion:{deletion_id}"

    @key(Kind.STRING, "the worker that deletes a site", writers="sites", ttl_s=60)
    def deletion_lease(self, deletion_id: str) -> str:
        return f"lock:deletion:{deletion_id}"

    @key(Kind.CHANNEL, "a site is deleted: its id", writers="sites")
    def site_deletions(self) -> str:
        return "sites:deletions"

    @key(Kind.STRING, "which user has this address", writers="users")
    def email(self, email: str) -> str:
        return f"email:{email}"

    @key(Kind.STRING, "which user has this number", writers="users")
    def phone(self, phone: str) -> str:
        return f"phone:{phone}"

    @key(Kind.STRING, "which user has this name, in lower case", writers="users")
    def username(self, name: str) -> str:
        return f"username:{name}"

    @key(Kind.STRING, "which member has a name that looks like this: its UTS 39 skeleton", writers="users")
    def look_alike(self, skeleton: str) -> str:
        return f"lookalike:{skeleton}"

    @key(Kind.STRING, "which user an account elsewhere belongs to", writers="users")
    def provider(self, provider: str, provider_id: str) -> str:
        return f"provider:{provider}:{provider_id}"

    @key(
        Kind.STRING,
        "a code sent to an address or number, as JSON with the code as a keyed digest",
        writers="users",
        ttl_s=600,
    )
    def verification(self, email_or_phone: str) -> str:
        return f"verify:{email_or_phone}"

    @key(
        Kind.STRING,
        "the same for something other than signing in on a site, so that neither voids the other",
        writers="users",
        ttl_s=600,
    )
    def verification_for(self, email_or_phone: str, purpose: str) -> str:
        return f"verify:{email_or_phone}:{purpose}"

    @key(Kind.STRING, "what a passkey was asked to sign, and what for, as JSON", writers="users", ttl_s=300)
    def passkey_challenge(self, challenge: str) -> str:
        return f"passkey:challenge:{challenge}"

    @key(Kind.STRING, "a sign-in under way at a provider, as JSON", writers="users", ttl_s=600)
    def provider_state(self, provider: str, state: str) -> str:
        return f"{provider}:auth:{state}"

    @key(
        Kind.ZSET,
        "what was done lately, to count it in a sliding window",
        writers="ratelimit",
        ttl_s=86_400,
        score="ms",
    )
    def window(self, action: str, subject: str) -> str:
        return f"rate:window:{action}:{subject}"

    @key(Kind.CHANNEL, "a user's sessions or rights changed: the user's id", writers="users")
    def user_changes(self) -> str:
        return "users:changes"

    @key(
        Kind.STRING,
        "digests of the one-time links that make the first owner, each with `@` and until when it is good, ms",
        writers="setup",
        ttl_s=86_400,
    )
    def owner_link(self) -> str:
        return "setup:owner-link"


class Keys:
    """The key functions of one server: with its prefix, and with hash tags in a cluster."""

    def __init__(self, prefix: str = "", *, tagged: bool = False) -> None:
        self.prefix = prefix
        self.tagged = tagged
        self.shared = GlobalKeys(self)

    def site(self, site_id: SiteId) -> SiteKeys:
        return SiteKeys(self, site_id)

    def user(self, user_id: UserId) -> UserKeys:
        return UserKeys(self, user_id)

    def client(self, client: str) -> ClientKeys:
        return ClientKeys(self, client)


def entry(group: type[_Group], name: str) -> Entry:
    return next(one for one in SCHEMA if (one.group, one.name) == (group.__name__, name))


def schema_entries(key: str) -> list[Entry]:
    """The lines of the schema that a key (without prefix) matches; exactly one for every key we write."""
    bare = re.sub(r"^\{[^}]+\}", "", key)
    # A longer pattern is the more exact one: `apikey:{api_key}:site` before `apikey:{api_key}`.
    found = [entry for entry in SCHEMA if entry.kind is not Kind.CHANNEL and entry.matches(bare)]
    most_fixed = max((_fixed_parts(entry) for entry in found), default=0)
    return [entry for entry in found if _fixed_parts(entry) == most_fixed]


def _fixed_parts(entry: Entry) -> int:
    return len(re.sub(r"\{\w+\}", "", entry.pattern))


def schema_markdown() -> str:
    """The schema as a page: `threadkit keys --markdown`, kept in KEYS.md."""
    lines = [
        "# Every key in the store",
        "",
        "Written by `make keys` from `keys.py`; a test keeps the two the same. With a `key_prefix` it stands in front",
        "of everything. In a cluster the keys of one site (user, client) begin with the hash tag `{site_id}` (`{user_id}`,",
        "`{client}`).",
        "",
    ]
    for group, title in (
        ("SiteKeys", "Of one site"),
        ("UserKeys", "Of one user"),
        ("ClientKeys", "Of one client"),
        ("GlobalKeys", "Alone"),
    ):
        entries = [entry for entry in SCHEMA if entry.group == group]
        if not entries:
            continue
        lines += [f"## {title}", "", "| key | type | lifetime | written by | meaning |", "|---|---|---|---|---|"]
        lines += [
            f"| `{entry.pattern}` | {entry.kind} | {_lifetime(entry)} | {entry.writers} | {entry.meaning}"
            f"{f'; score: {entry.score}' if entry.score else ''} |"
            for entry in entries
        ]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _lifetime(entry: Entry) -> str:
    return "–" if entry.kind is Kind.CHANNEL else "for ever" if entry.ttl_s is None else f"≤ {entry.ttl_s} s"
