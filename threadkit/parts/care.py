"""What owners need to begin, and what keeps the store well: backups, the doctor, indexes made again."""

from dataclasses import dataclass

from threadkit.backup.schedule import BackupSchedule
from threadkit.comments.rerendering import Rerendering
from threadkit.doctor.deep.service import DeepDoctor
from threadkit.doctor.service import DoctorService
from threadkit.doctor.surroundings import Surroundings
from threadkit.health.service import HealthService
from threadkit.health.store import StoreReports
from threadkit.parts.accounts import Accounts
from threadkit.parts.base import Base
from threadkit.parts.reading import Reading
from threadkit.rebuild.reranking import RankingQueries, Reranker
from threadkit.rebuild.service import RebuildService
from threadkit.setup.service import SetupService


@dataclass(frozen=True, kw_only=True)
class Care:
    setup: SetupService
    health: HealthService
    store_reports: StoreReports
    backups: BackupSchedule
    rebuild: RebuildService
    rerendering: Rerendering
    rankings: RankingQueries
    reranker: Reranker
    doctor: DoctorService
    deep_doctor: DeepDoctor


def build_care(base: Base, accounts: Accounts, reading: Reading) -> Care:
    redis, keys, clock, settings, store = base.redis, base.keys, base.clock, base.settings, base.store
    rebuild = RebuildService(store=store, keys=keys, clock=clock, site_queries=base.site_queries)
    rerendering = Rerendering(redis=redis, keys=keys, queries=reading.comment_queries)
    return Care(
        setup=SetupService(
            redis=redis,
            keys=keys,
            clock=clock,
            settings=settings,
            sites=base.sites,
            site_queries=base.site_queries,
            roles=base.roles,
            registry=accounts.user_registry,
            user_queries=accounts.user_queries,
            passwords=accounts.passwords,
        ),
        health=HealthService(
            store=store,
            keys=keys,
            settings=settings,
            site_queries=base.site_queries,
            metrics=base.metrics,
            limiter_outage=base.limiter_outage,
        ),
        store_reports=StoreReports(store=store, keys=keys, clock=clock),
        backups=BackupSchedule(
            store=store, keys=keys, clock=clock, settings=settings, fingerprint=base.keyring.fingerprint
        ),
        rebuild=rebuild,
        rerendering=rerendering,
        rankings=RankingQueries(redis=redis, keys=keys),
        reranker=Reranker(redis=redis, keys=keys, clock=clock, site_queries=base.site_queries),
        doctor=DoctorService(
            Surroundings(
                settings=settings,
                store=store,
                keys=keys,
                keyring=base.keyring,
                clock=clock,
                providers=frozenset(accounts.providers),
                outboxes=base.outbox_queries,
                samples=rebuild,
            )
        ),
        deep_doctor=DeepDoctor(
            settings=settings,
            store=store,
            keys=keys,
            clock=clock,
            site_queries=base.site_queries,
            registry=accounts.user_registry,
            rebuild=rebuild,
            rerendering=rerendering,
        ),
    )
