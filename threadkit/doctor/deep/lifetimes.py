"""Every key has a line in the schema, its type, and an end exactly when the schema says so. (V14)"""

from threadkit.doctor.deep.look import DeepLook
from threadkit.doctor.deep.names import AllNames, Known
from threadkit.doctor.deep.scripts import SettleLifetime
from threadkit.rebuild.model import Finding
from threadkit.rebuild.names import INDEXES, RECORDS, VOTE_INDEXES
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys

# These a rebuild looks after.
_REBUILT = frozenset(f"site.{name}" for name in INDEXES | RECORDS | VOTE_INDEXES)
# These are made again from what they are derived from; of the wrong type they are dropped.
DERIVED = frozenset(
    {
        *("site.reports", "site.appeals", "user.sessions", "user.unread", "user.unread_by_site", "user.blocked_by"),
        *(
            "shared.sites",
            "shared.email",
            "shared.phone",
            "shared.username",
            "shared.look_alike",
            "shared.provider",
            "shared.api_key_site",
        ),
    }
)
# Dropping this one takes a word to those who were away, which is said elsewhere.
_CHANGES = "site.page_changes"
# What lives at most a day is a help and no record: it is dropped too.
PASSING_S = 86_400


class Lifetimes:
    def __init__(self, *, redis: Commands, names: AllNames, session_s: int) -> None:
        self._redis = redis
        # The schema has the longest that the setting can say.
        self._given_s = dict.fromkeys(("user.session", "user.provider_session", "user.sessions"), session_s)
        self._names = names
        self._others: dict[str, bool] = {}
        self._settle_lifetime = SettleLifetime(redis)

    async def unknown(self, keys: list[str], look: DeepLook) -> list[Known]:
        """The known ones of these keys; the others are told, and left alone."""
        found = []
        for key in keys:
            if not self._names.is_ours(key):
                continue
            if (name := self._names.parse(key)) is not None:
                found.append(name)
            elif not await self._is_of_another(key) and await self._redis.exists(key):
                look.note(Finding("key", "unknown", key, "no line of the schema describes it"))
        return found

    async def _is_of_another(self, key: str) -> bool:
        """Of an installation whose prefix begins with ours; each has a stamp."""
        for prefix in self._names.others(key):
            if prefix not in self._others:
                self._others[prefix] = bool(await self._redis.exists(Keys(prefix).shared.stamp()))
            if self._others[prefix]:
                return True
        return False

    async def go_through(self, found: list[Known], look: DeepLook) -> None:
        names = [name for name in found if name.of not in _REBUILT]
        async with self._redis.pipeline(transaction=False) as pipe:
            for name in names:
                pipe.type(name.key)
                pipe.ttl(name.key)
            answers = await pipe.execute()
        for place, name in enumerate(names):
            kind, ttl_s = answers[2 * place : 2 * place + 2]
            if kind != "none":
                await self._settle(name, kind, ttl_s, look)

    async def _settle(self, name: Known, kind: str, ttl_s: int, look: DeepLook) -> None:
        limit_s = name.entry.ttl_s
        if kind not in name.entry.kind.split(" or "):
            if name.of == _CHANGES:
                return
            is_passing = limit_s is not None and limit_s <= PASSING_S
            what = "type" if is_passing or name.of in DERIVED else "damaged"
            found = kind if what == "type" else f"it is a {kind} and no {name.entry.kind}"
            finding = Finding(name.of, what, name.key, found, name.entry.kind)  # type: ignore[arg-type]
            if look.note_and_may_mend(finding) and what == "type":
                await self._redis.unlink(name.key)
            return
        is_wrong = (limit_s is None) != (ttl_s == -1) or (limit_s is not None and ttl_s > limit_s)
        if is_wrong and look.note_and_may_mend(
            Finding(name.of, "lifetime", name.key, str(ttl_s), str(limit_s or "for ever"))
        ):
            await self._settle_lifetime(name.key, self._given_s.get(name.of, limit_s))
