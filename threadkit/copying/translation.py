"""What a key of one store is called in the other."""

from collections.abc import Sequence

from threadkit.copying.owners import Owners
from threadkit.copying.side import Side, raw
from threadkit.doctor.deep.names import Known

_VOTED_PAGES = "site.voted_pages"


class Translation:
    def __init__(self, source: Side, target: Side) -> None:
        self._source = source
        self._target = target
        self._owners = Owners(source)

    def is_regrouped(self, name: Known) -> bool:
        """The pages on which a person voted are one key for all sites on a single server, and one for each in a cluster.
        It is the only key of a site in whose name there is nothing that no other site has."""
        return name.of == _VOTED_PAGES and self._source.keys.tagged != self._target.keys.tagged

    async def names(self, names: Sequence[Known]) -> list[bytes | None]:
        """None for a key of which nothing in the store says whose it is."""
        if self._source.keys.tagged or not self._target.keys.tagged:
            owners: Sequence[str | None] = [name.tag for name in names]
        else:
            owners = await self._owners.of(names)
        return [
            None if owner is None else self._target.key(self._source.bare(name), owner)
            for name, owner in zip(names, owners, strict=True)
        ]

    async def groups(self, name: Known) -> tuple[dict[bytes, list[bytes]], list[bytes]]:
        """For a regrouped key: what belongs into which key of the other store, and what into none."""
        pages: list[bytes] = sorted(await self._source.ask_one("SMEMBERS", raw(name.key)))
        bare = self._source.bare(name)
        if self._source.keys.tagged:
            return {self._target.key(bare, ""): pages}, []
        sites = await self._owners.sites_of_pages(page.decode() for page in pages)
        groups: dict[bytes, list[bytes]] = {}
        lost = []
        for page in pages:
            if site_id := sites.get(page.decode()):
                groups.setdefault(self._target.key(bare, site_id), []).append(page)
            else:
                lost.append(page)
        return groups, lost
