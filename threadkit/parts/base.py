"""What everything else stands on: the store, the clock, limits, sites, the outbox."""

from dataclasses import dataclass

from threadkit.clock import Clock, SystemClock
from threadkit.http.client_address import ClientAddresses
from threadkit.http.metrics import Metrics
from threadkit.http.outbound import Outbound
from threadkit.keyring import Keyring
from threadkit.outbox.queries import OutboxQueries
from threadkit.outbox.service import DeadLetters
from threadkit.outbox.worker import OutboxWorker
from threadkit.ratelimit.outage import Outage
from threadkit.ratelimit.queries import LimitQueries
from threadkit.ratelimit.quotas import Quotas
from threadkit.ratelimit.requests import RequestLimits
from threadkit.ratelimit.windows import Windows
from threadkit.sending.service import PostOffice, build_office
from threadkit.sending.testing import MailTester
from threadkit.settings import Settings
from threadkit.sites.deletion import SiteDeletions
from threadkit.sites.model import PageRule
from threadkit.sites.queries import SiteQueries
from threadkit.sites.roles import RoleService
from threadkit.sites.service import SiteService
from threadkit.sites.staff import StaffBadges
from threadkit.storage.client import Commands, Store
from threadkit.storage.keys import Keys
from threadkit.storage.listener import Listener
from threadkit.storage.store_time import StoreTime


@dataclass(frozen=True, kw_only=True)
class Base:
    settings: Settings
    keyring: Keyring
    clock: Clock
    keys: Keys
    store: Store
    store_time: StoreTime
    listener: Listener
    office: PostOffice
    mail_tester: MailTester
    addresses: ClientAddresses
    metrics: Metrics
    limiter_outage: Outage
    request_limits: RequestLimits
    windows: Windows
    quotas: Quotas
    limit_queries: LimitQueries
    outbox: OutboxWorker
    outbox_queries: OutboxQueries
    dead_letters: DeadLetters
    page_rule: PageRule
    site_queries: SiteQueries
    sites: SiteService
    roles: RoleService
    staff_badges: StaffBadges
    deletions: SiteDeletions

    @property
    def redis(self) -> Commands:
        return self.store.redis


def build_base(settings: Settings, keyring: Keyring, store: Store, clock: Clock | None) -> Base:
    # Quotas of a day are counted by the store's clock, unless a test has one of its own.
    store_clock, clock = clock, clock or SystemClock()
    keys = Keys(settings.key_prefix, tagged=store.address.topology == "cluster")
    redis, limits = store.redis, settings.limits
    listener = Listener(store)
    office = build_office(settings)
    outage = Outage(clock)
    windows = Windows(redis=redis, keys=keys, clock=clock)
    outbox_queries = OutboxQueries(redis=redis, keys=keys)
    site_queries = SiteQueries(redis=redis, keys=keys, clock=clock, listener=listener)
    roles = RoleService(redis=redis, keys=keys, clock=clock)
    return Base(
        settings=settings,
        keyring=keyring,
        clock=clock,
        keys=keys,
        store=store,
        store_time=StoreTime(redis),
        listener=listener,
        office=office,
        mail_tester=MailTester(office=office, windows=windows, settings=settings.mail),
        addresses=ClientAddresses(settings.trusted_proxies, keyring.derive("client-address")),
        metrics=Metrics(),
        limiter_outage=outage,
        request_limits=RequestLimits(redis=redis, keys=keys, clock=clock, settings=limits, outage=outage),
        windows=windows,
        quotas=Quotas(redis=redis, keys=keys, clock=store_clock, settings=limits, outage=outage),
        limit_queries=LimitQueries(redis=redis, keys=keys, clock=clock, settings=limits),
        outbox=OutboxWorker(redis=redis, keys=keys, clock=clock, queries=outbox_queries),
        outbox_queries=outbox_queries,
        dead_letters=DeadLetters(redis=redis, keys=keys, clock=clock, queries=outbox_queries),
        page_rule=PageRule.of(settings.base_url, allow_localhost=settings.allow_localhost_origin),
        site_queries=site_queries,
        sites=SiteService(
            redis=redis, keys=keys, clock=clock, queries=site_queries, keyring=keyring, outbound=Outbound()
        ),
        roles=roles,
        staff_badges=StaffBadges(roles=roles, clock=clock),
        deletions=SiteDeletions(store=store, keys=keys, clock=clock, site_queries=site_queries),
    )
