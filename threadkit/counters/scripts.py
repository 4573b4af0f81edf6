"""Atomic writes of what was counted."""

from collections.abc import Sequence

from redis.exceptions import NoScriptError, RedisError

from threadkit.counters.model import (
    DAYS_VISITORS_KEPT_S,
    ENOUGH_VISITORS,
    KEPT_S,
    KEY_KINDS,
    MOST_UNWRITTEN,
    Batch,
)
from threadkit.storage.client import Commands
from threadkit.storage.keys import Keys
from threadkit.storage.lua import KeyedScript

MARK_KEPT_S = 86_400


class AddCounts(KeyedScript):
    """Batches of several sites in one round trip: one script each, because in a cluster sites live apart."""

    file = "add_counts.lua"
    repeatable = True

    def __init__(self, client: Commands, keys: Keys, *, worker: str, is_exact: bool) -> None:
        super().__init__(client, keys)
        self._worker = worker
        self._begin_with = "SADD" if is_exact else "PFADD"

    async def __call__(self, batches: Sequence[Batch]) -> list[Exception | None]:
        """What went wrong with each, if anything did. A batch that failed may still have been added: send it again."""
        calls = [(self._keys_of(batch), self._args_of(batch)) for batch in batches]
        try:
            async with self._client.pipeline(transaction=False) as pipe:
                for keys, args in calls:
                    pipe.execute_command("EVALSHA", self._sha, len(keys), *keys, *args)
                answers = await pipe.execute(raise_on_error=False)
        except (RedisError, OSError) as error:
            return [error] * len(batches)
        troubles = [answer if isinstance(answer, Exception) else None for answer in answers]
        for place, trouble in enumerate(troubles):
            if isinstance(trouble, NoScriptError):
                troubles[place] = await self._alone(*calls[place])
        return troubles

    async def _alone(self, keys: list[str], args: list[str | int]) -> Exception | None:
        try:
            await self._run(keys=keys, args=args)
        except (RedisError, OSError) as error:
            return error
        return None

    def _keys_of(self, batch: Batch) -> list[str]:
        keys = self._keys.site(batch.site_id)
        month = [keys.usage(batch.month), keys.visitors(batch.month)]
        day = [keys.usage_on(batch.day), keys.visitors_on(batch.day)]
        found = [keys.tally_mark(self._worker), *month, keys.viewed_pages(), keys.key_uses(), *day]
        found.append(keys.unwritten_views())
        for page_id in batch.views:
            found += [keys.page(page_id), keys.page_views(page_id), keys.page_views_on(page_id, batch.day)]
        return found

    def _args_of(self, batch: Batch) -> list[str | int]:
        front: list[str | int] = [batch.number, MARK_KEPT_S, KEPT_S, self._begin_with, len(batch.views)]
        uses = [batch.keys.get(kind, 0) for kind in KEY_KINDS]
        views: list[str | int] = [*batch.views.values(), *batch.views, *batch.seen_by]
        bounds = [DAYS_VISITORS_KEPT_S, MOST_UNWRITTEN, ENOUGH_VISITORS]
        return [*front, *batch.usage, *uses, *bounds, *views, *batch.visitors]
