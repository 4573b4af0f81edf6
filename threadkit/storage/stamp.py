"""The stamp on the data: which schema it has, and which server secret it was made with."""

from threadkit.clock import Clock, iso
from threadkit.errors import CannotStart
from threadkit.keyring import Keyring
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys

# Raised with an entry in migrations_none/CHANGES.md whenever stored data changes its meaning.
SCHEMA_VERSION = 1
_FIELDS = {"schema_version", "created_at", "secret"}


class WrongStamp(CannotStart):
    """Data that this server would misread. `why` is for programs, `facts` what the text names."""

    def __init__(self, why: str, text: str, **facts: str) -> None:
        super().__init__(text)
        self.why = why
        self.facts = facts


def refuse_open_prefix(keys: Keys) -> None:
    """Of data that is new: `blog` could not be told from `blog2` at a glance. What has such a prefix already keeps it."""
    if keys.prefix and keys.prefix[-1].isalnum():
        raise CannotStart(
            f"key_prefix: {keys.prefix!r} must end with a sign that parts it from what follows, such as {keys.prefix + ':'!r}."
        )


async def stamp_store(redis: Commands, keys: Keys, keyring: Keyring, clock: Clock, *, may_be_new: bool = True) -> None:
    """Stamp an empty store, and refuse one whose data this server would misread."""
    stamp = keys.shared.stamp()
    found = await redis.hgetall(stamp)
    # One that is there is only read, because a store whose disk or memory is full takes no writes.
    if may_be_new and not found.keys() >= _FIELDS:
        refuse_open_prefix(keys)
        await redis.hsetnx(stamp, "schema_version", str(SCHEMA_VERSION))
        await redis.hsetnx(stamp, "created_at", iso(clock.now_ms()))
        await redis.hsetnx(stamp, "secret", keyring.fingerprint)
        found = await redis.hgetall(stamp)
    # After the stamp: a restore or copy that begins in this moment sees it, or we see its mark.
    if restoring := await redis.hget(keys.shared.restoring(), "file"):
        raise WrongStamp(
            "restoring",
            f"The backup {restoring} was not put back to the end, so the data is not complete. "
            "Run `threadkit backup restore` with it once more; it begins anew.",
            file=restoring,
        )
    if copying := await redis.hget(keys.shared.copying(), "source"):
        raise WrongStamp(
            "copying",
            f"The copy of the store at {copying} did not come to its end, so the data is not complete. "
            "Run `threadkit copy` once more; it goes on.",
            source=copying,
        )
    if not found.keys() >= _FIELDS:
        raise CannotStart(
            f"There is no data of ThreadKit with the key_prefix {keys.prefix!r} in this store. Run the command where the "
            "server finds its settings, or name them with --config."
        )
    version = int(found["schema_version"])
    if version > SCHEMA_VERSION:
        raise WrongStamp(
            "newer",
            f"The data has schema version {version}, this ThreadKit knows up to {SCHEMA_VERSION}. "
            "Start the newer ThreadKit that wrote it.",
            version=str(version),
            known=str(SCHEMA_VERSION),
        )
    if found["secret"] != keyring.fingerprint:
        raise WrongStamp(
            "secret",
            "The data was made with another server secret, so nobody could stay signed in and nothing encrypted could "
            "be read. Put the old secret.key back into the data folder, or set THREADKIT_SECRET to the old secret.",
        )
