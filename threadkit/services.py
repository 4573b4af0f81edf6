"""The bundle of services: built once, by `build`, and handed to whoever needs them."""

from dataclasses import dataclass

from threadkit.clock import Clock, SystemClock
from threadkit.keyring import Keyring
from threadkit.settings import Settings
from threadkit.setup.service import SetupService
from threadkit.sites.queries import SiteQueries
from threadkit.sites.roles import RoleService
from threadkit.sites.service import SiteService
from threadkit.storage.client import Store
from threadkit.storage.keys import Keys
from threadkit.storage.listener import Listener


@dataclass(frozen=True)
class Services:
    settings: Settings
    keyring: Keyring
    clock: Clock
    keys: Keys
    store: Store
    listener: Listener
    site_queries: SiteQueries
    sites: SiteService
    roles: RoleService
    setup: SetupService


def build(settings: Settings, keyring: Keyring, store: Store, *, clock: Clock | None = None) -> Services:
    clock = clock or SystemClock()
    keys = Keys(settings.key_prefix, tagged=store.address.topology == "cluster")
    redis = store.redis
    listener = Listener(store)
    site_queries = SiteQueries(redis=redis, keys=keys, clock=clock, listener=listener)
    sites = SiteService(redis=redis, keys=keys, clock=clock, queries=site_queries)
    roles = RoleService(redis=redis, keys=keys)
    return Services(
        settings=settings,
        keyring=keyring,
        clock=clock,
        keys=keys,
        store=store,
        listener=listener,
        site_queries=site_queries,
        sites=sites,
        roles=roles,
        setup=SetupService(
            redis=redis, keys=keys, settings=settings, sites=sites, site_queries=site_queries, roles=roles
        ),
    )
