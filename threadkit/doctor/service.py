"""Looks at everything that must be right for comments to work, and says what to do where it is not."""

import asyncio
import dataclasses
from collections.abc import Awaitable, Sequence

import msgspec
from redis.exceptions import RedisError

from threadkit.clock import iso
from threadkit.doctor.checks import addresses, agreement, machine, mail, origins, reaching, signing_in, store
from threadkit.doctor.model import Asked, Check, Diagnosis, State
from threadkit.doctor.surroundings import About, ServerCheck, SiteCheck, Surroundings
from threadkit.errors import CannotStart
from threadkit.sites.model import Site
from threadkit.words import Words

LONGEST_S = 10.0

OF_THE_SERVER: dict[str, ServerCheck] = {
    "store": store.store,
    "stamp": store.stamp,
    "persistence": store.persistence,
    "memory_policy": store.memory_policy,
    "memory": store.memory,
    "store_version": store.store_version,
    "store_program": store.store_program,
    "disk": machine.disk,
    "clock": machine.clocks,
    "backups": machine.backups,
    "version": machine.versions,
    "public_url": reaching.public_url,
    "https": reaching.https,
    "proxy": addresses.proxy_headers,
    "client_address": addresses.client_address,
    "forged_header": addresses.forged_headers,
    "localhost_origin": origins.localhost_origin,
    "mail": mail.mail,
}
OF_A_SITE: dict[str, SiteCheck] = {
    "origins": origins.site_origins,
    "sign_in": signing_in.sign_in,
    "services": signing_in.outside_services,
    "websocket": reaching.websocket,
    "outbox": agreement.outbox,
    "indexes": agreement.index_sample,
}


class DoctorService:
    def __init__(self, here: Surroundings) -> None:
        self.here = here

    async def examine(
        self, sites: Sequence[Site], *, whole_server: bool, asked: Asked | None = None, words: Words | None = None
    ) -> Diagnosis:
        """These sites, and with `whole_server` what they share; in English, unless other `words` are given."""
        here = dataclasses.replace(self.here, asked=asked, words=words or self.here.words)
        checks: list[Check] = []
        if whole_server:
            checks += await asyncio.gather(
                *(_careful(here.about(name), look(here)) for name, look in OF_THE_SERVER.items())
            )
        for site in sites:
            found = await asyncio.gather(
                *(_careful(here.about(name), look(here, site)) for name, look in OF_A_SITE.items())
            )
            checks += [msgspec.structs.replace(check, site_id=site.id, site=site.name) for check in found]
        return Diagnosis(
            is_healthy=not any(check.state is State.BAD for check in checks),
            looked_at=iso(here.clock.now_ms()),
            checks=checks,
        )


async def _careful(about: About, look: Awaitable[Check]) -> Check:
    """What cannot be looked at is unknown, and keeps nothing else from being looked at."""
    try:
        async with asyncio.timeout(LONGEST_S):
            return await look
    except (RedisError, OSError, CannotStart) as error:
        return about.not_looked_at(str(error).strip().rstrip("."))
