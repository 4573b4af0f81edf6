"""The bundle of services: built once, by `build`, and handed to whoever needs them."""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass

from threadkit.backup.erasures import ErasureJournal
from threadkit.backup.schedule import BackupSchedule
from threadkit.backup.unfinished import UnfinishedErasures
from threadkit.clock import Clock, SystemClock
from threadkit.comments.leaving import Leaving
from threadkit.comments.queries import CommentQueries
from threadkit.comments.reading import ThreadReader
from threadkit.comments.rerendering import Rerendering
from threadkit.comments.search import CommentSearch
from threadkit.comments.service import CommentService
from threadkit.comments.snapshots import Snapshots
from threadkit.counters.queries import CounterQueries
from threadkit.counters.tally import Tally
from threadkit.counters.visitors import VisitorHashes
from threadkit.doctor.deep.service import DeepDoctor
from threadkit.doctor.service import DoctorService
from threadkit.doctor.surroundings import Surroundings
from threadkit.health.store import StoreReports
from threadkit.http.client_address import ClientAddresses
from threadkit.http.metrics import Metrics
from threadkit.http.outbound import Outbound
from threadkit.ids import SiteId
from threadkit.keyring import Keyring
from threadkit.live.changes import ChangeQueries
from threadkit.live.hub import Hub
from threadkit.live.lookups import Lookups
from threadkit.live.meters import LiveMeters
from threadkit.live.staff import StaffStreams
from threadkit.live.streams import Streams
from threadkit.moderation.appeals import AppealService
from threadkit.moderation.burying import Burying
from threadkit.moderation.cards import CardQueries
from threadkit.moderation.claims import ClaimService
from threadkit.moderation.decisions import DecisionService
from threadkit.moderation.deleting import Deleting
from threadkit.moderation.desk import DeskQueries
from threadkit.moderation.everywhere import BansEverywhere
from threadkit.moderation.filter import LearningFilter
from threadkit.moderation.forgetting import Deeds
from threadkit.moderation.gate import ModerationGate
from threadkit.moderation.impartiality import Impartiality
from threadkit.moderation.jobs import JobService
from threadkit.moderation.learning import Learning
from threadkit.moderation.log import ModerationLog
from threadkit.moderation.notes import NoteService
from threadkit.moderation.outside.building import Outside, build_outside
from threadkit.moderation.outside.model import OutsideEndpoints
from threadkit.moderation.people import PeopleService
from threadkit.moderation.people_search import PeopleSearch
from threadkit.moderation.queries import QueueQueries
from threadkit.moderation.removing import Remover
from threadkit.moderation.reporters import ReporterRecords
from threadkit.moderation.reports import ReportService
from threadkit.moderation.screener import Screener
from threadkit.moderation.standing import StandingQueries
from threadkit.moderation.undoing import UndoService
from threadkit.moderation.unshadowing import Unshadowing
from threadkit.notifications.queries import NotificationQueries
from threadkit.notifications.service import NotificationService
from threadkit.notifications.telling import Telling
from threadkit.outbox.queries import OutboxQueries
from threadkit.outbox.service import DeadLetters
from threadkit.outbox.worker import SERVER_LOOK_S, WORKER_LOOK_S, OutboxWorker
from threadkit.pages.queries import PageQueries
from threadkit.pages.service import PageService
from threadkit.ratelimit.outage import Outage
from threadkit.ratelimit.queries import LimitQueries
from threadkit.ratelimit.quotas import Quotas
from threadkit.ratelimit.requests import RequestLimits
from threadkit.ratelimit.windows import Windows
from threadkit.rebuild.reranking import RankingQueries, Reranker
from threadkit.rebuild.service import RebuildService
from threadkit.sending.service import PostOffice, build_office
from threadkit.sending.testing import MailTester
from threadkit.settings import Settings
from threadkit.setup.service import SetupService
from threadkit.sites.deletion import SiteDeletions
from threadkit.sites.queries import SiteQueries
from threadkit.sites.roles import RoleService
from threadkit.sites.service import SiteService
from threadkit.sites.staff import StaffBadges
from threadkit.staff.service import StaffService
from threadkit.storage.client import Store
from threadkit.storage.keys import Keys
from threadkit.storage.listener import Listener
from threadkit.users.codes import CodeService
from threadkit.users.courier import Courier
from threadkit.users.oauth.model import ProviderEndpoints
from threadkit.users.oauth.pending import PendingSignIns
from threadkit.users.oauth.provider import Provider
from threadkit.users.oauth.provider_sessions import ProviderSessions
from threadkit.users.oauth.providers import build_outbound, build_providers
from threadkit.users.oauth.service import OAuthService
from threadkit.users.oauth.testing import ProviderTester
from threadkit.users.passwords import Passwords
from threadkit.users.queries import UserQueries
from threadkit.users.registry import UserRegistry
from threadkit.users.second_step.passkeys import Passkeys
from threadkit.users.second_step.queries import FactorQueries
from threadkit.users.second_step.service import SecondStep
from threadkit.users.second_step.telling import FactorNews
from threadkit.users.second_step.tries import Tries
from threadkit.users.service import UserService
from threadkit.users.sessions import SessionService
from threadkit.users.sign_in import SignIn
from threadkit.users.tokens import Tokens
from threadkit.votes.service import VoteService


@dataclass(frozen=True)
class Services:
    settings: Settings
    keyring: Keyring
    clock: Clock
    keys: Keys
    store: Store
    store_reports: StoreReports
    listener: Listener
    office: PostOffice
    mail_tester: MailTester
    passwords: Passwords
    addresses: ClientAddresses
    limiter_outage: Outage
    request_limits: RequestLimits
    quotas: Quotas
    limit_queries: LimitQueries
    site_queries: SiteQueries
    sites: SiteService
    roles: RoleService
    staff_badges: StaffBadges
    deletions: SiteDeletions
    user_queries: UserQueries
    user_registry: UserRegistry
    users: UserService
    sessions: SessionService
    sign_in: SignIn
    staff: StaffService
    factors: FactorQueries
    second_step: SecondStep
    passkeys: Passkeys
    setup: SetupService
    comment_queries: CommentQueries
    comment_search: CommentSearch
    comments: CommentService
    threads: ThreadReader
    page_queries: PageQueries
    pages: PageService
    snapshots: Snapshots
    votes: VoteService
    notifications: NotificationService
    queue: QueueQueries
    desk: DeskQueries
    decisions: DecisionService
    claims: ClaimService
    undo: UndoService
    reports: ReportService
    reporters: ReporterRecords
    appeals: AppealService
    everywhere: BansEverywhere
    people: PeopleService
    people_search: PeopleSearch
    standing: StandingQueries
    jobs: JobService
    notes: NoteService
    cards: CardQueries
    moderation_log: ModerationLog
    outbox: OutboxWorker
    rebuild: RebuildService
    doctor: DoctorService
    deep_doctor: DeepDoctor
    rerendering: Rerendering
    rankings: RankingQueries
    reranker: Reranker
    backups: BackupSchedule
    erasures: ErasureJournal
    unfinished: UnfinishedErasures
    outbox_queries: OutboxQueries
    dead_letters: DeadLetters
    tally: Tally
    metrics: Metrics
    live_meters: LiveMeters
    hub: Hub
    streams: Streams
    staff_streams: StaffStreams
    changes: ChangeQueries
    counter_queries: CounterQueries
    outbound: Outbound
    outside: Outside
    learning_filter: LearningFilter
    screener: Screener
    providers: Mapping[str, Provider]
    oauth: OAuthService
    provider_tester: ProviderTester

    async def start(self, *, is_worker: bool = False) -> None:
        """What runs beside the requests, or all that `threadkit worker` is for."""
        await self.listener.start()
        await self.office.start()
        if is_worker or self.settings.outbox == "in-process":
            await self.outbox.start(look_every_s=WORKER_LOOK_S if is_worker else SERVER_LOOK_S)
        await self.tally.start()
        await self.request_limits.start()
        await self.reranker.start()
        await self.deletions.start()
        if not is_worker:
            await self.hub.start()
            await self.backups.start()
            await self.unfinished.start()

    async def stop(self) -> None:
        """In this order, and each whatever became of the others."""
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(self.store.close)
            stack.callback(self.passwords.close)
            stack.push_async_callback(self.outbound.close)
            stack.push_async_callback(self.outside.close)
            for part in (
                *(self.listener, self.office, self.outbox, self.tally, self.request_limits),
                *(self.reranker, self.deletions, self.hub, self.backups, self.unfinished),
            ):
                stack.push_async_callback(part.stop)


def build(
    settings: Settings,
    keyring: Keyring,
    store: Store,
    *,
    clock: Clock | None = None,
    endpoints: ProviderEndpoints | None = None,
    outside_endpoints: OutsideEndpoints | None = None,
) -> Services:
    store_clock, clock = clock, clock or SystemClock()
    keys = Keys(settings.key_prefix, tagged=store.address.topology == "cluster")
    redis, accounts = store.redis, settings.accounts
    listener = Listener(store)
    office = build_office(settings)
    limits = settings.limits
    outage = Outage(clock)
    windows = Windows(redis=redis, keys=keys, clock=clock)
    quotas = Quotas(redis=redis, keys=keys, clock=store_clock, settings=limits, outage=outage)
    passwords = Passwords(accounts)
    tokens = Tokens(
        keyring.jwt,
        clock=clock,
        access_s=accounts.access_token_hours * 3600,
        refresh_s=accounts.session_days * 86_400,
    )

    outbox_queries = OutboxQueries(redis=redis, keys=keys)
    outbox = OutboxWorker(redis=redis, keys=keys, clock=clock, queries=outbox_queries)
    site_queries = SiteQueries(redis=redis, keys=keys, clock=clock, listener=listener)
    sites = SiteService(redis=redis, keys=keys, clock=clock, queries=site_queries, keyring=keyring)
    roles = RoleService(redis=redis, keys=keys, clock=clock)

    user_queries = UserQueries(redis=redis, keys=keys, clock=clock)
    user_registry = UserRegistry(redis=redis, keys=keys, clock=clock, queries=user_queries)
    sessions = SessionService(
        redis=redis, keys=keys, clock=clock, queries=user_queries, tokens=tokens, accounts=accounts
    )
    codes = CodeService(
        redis=redis,
        keys=keys,
        clock=clock,
        windows=windows,
        quotas=quotas,
        sender=Courier(office),
        digest_key=keyring.derive("codes"),
        accounts=accounts,
    )
    sign_in = SignIn(
        redis=redis,
        keys=keys,
        clock=clock,
        keyring=keyring,
        queries=user_queries,
        registry=user_registry,
        sessions=sessions,
        codes=codes,
        passwords=passwords,
        windows=windows,
        limits=limits,
    )
    factors = FactorQueries(redis=redis, keys=keys)
    factor_news = FactorNews(office=office, windows=windows, server_name=settings.site.name)
    second_step = SecondStep(
        redis=redis,
        keys=keys,
        clock=clock,
        keyring=keyring,
        queries=factors,
        sessions=sessions,
        tries=Tries(windows, per_hour=limits.sign_ins_per_account_per_hour),
        news=factor_news,
        server_name=settings.site.name,
    )
    passkeys = Passkeys(
        redis=redis,
        keys=keys,
        clock=clock,
        queries=factors,
        sessions=sessions,
        second_step=second_step,
        news=factor_news,
        base_url=settings.base_url,
        server_name=settings.site.name,
    )
    endpoints = endpoints or ProviderEndpoints()
    outbound = build_outbound(settings, endpoints)
    providers = build_providers(settings, endpoints, outbound, clock)
    oauth = OAuthService(
        settings=settings,
        providers=providers,
        pending=PendingSignIns(redis=redis, keys=keys),
        provider_sessions=ProviderSessions(redis=redis, keys=keys, clock=clock, keyring=keyring),
        sites=site_queries,
        sign_in=sign_in,
        windows=windows,
    )
    comment_queries = CommentQueries(redis=redis, keys=keys)
    page_queries = PageQueries(redis=redis, keys=keys)
    notification_queries = NotificationQueries(redis=redis, keys=keys)
    notifications = NotificationService(
        redis=redis,
        keys=keys,
        queries=notification_queries,
        comment_queries=comment_queries,
        page_queries=page_queries,
        user_queries=user_queries,
        wake_outbox=outbox.wake,
    )
    Telling(
        redis=redis,
        keys=keys,
        clock=clock,
        queries=notification_queries,
        comment_queries=comment_queries,
        page_queries=page_queries,
        most=settings.notifications.most,
    ).register(outbox.handlers)
    outside = build_outside(
        settings,
        outside_endpoints or OutsideEndpoints(),
        redis=redis,
        keys=keys,
        clock=clock,
        keyring=keyring,
        handlers=outbox.handlers,
        site_queries=site_queries,
        comment_queries=comment_queries,
        page_queries=page_queries,
    )
    learning_filter = LearningFilter(redis=redis, keys=keys)
    Learning(redis=redis, keys=keys, clock=clock, learning=learning_filter, comment_queries=comment_queries).register(
        outbox.handlers
    )
    screener = Screener(redis=redis, keys=keys, clock=clock, learning=learning_filter, outside=outside.checks)
    reporters = ReporterRecords(redis=redis, keys=keys)
    reporters.register(outbox.handlers)
    erasures = ErasureJournal(settings.backup_folder, clock)
    moderation_log = ModerationLog(redis=redis, keys=keys)
    users = UserService(
        redis=redis,
        keys=keys,
        clock=clock,
        queries=user_queries,
        factors=factors,
        registry=user_registry,
        site_queries=site_queries,
        roles=roles,
        traces=Leaving(
            redis=redis,
            keys=keys,
            clock=clock,
            queries=comment_queries,
            site_queries=site_queries,
            notices=notifications,
            learning=learning_filter,
            reporters=reporters,
            deeds=Deeds(store=store, keys=keys, log=moderation_log),
            on_deletion=accounts.on_deletion,
        ),
        journal=erasures,
    )
    snapshots = Snapshots(clock=clock, keys=keys, listener=listener)
    threads = ThreadReader(
        redis=redis,
        keys=keys,
        settings=settings,
        queries=comment_queries,
        page_queries=page_queries,
        user_queries=user_queries,
        snapshots=snapshots,
    )
    addresses = ClientAddresses(settings.trusted_proxies, keyring.derive("client-address"))
    tally = Tally(
        redis=redis,
        keys=keys,
        clock=clock,
        visitors=VisitorHashes(addresses, keyring),
        settings=settings.counters,
    )

    deleting = Deleting(
        redis=redis,
        keys=keys,
        clock=clock,
        comment_queries=comment_queries,
        snapshots=snapshots,
        wake_outbox=outbox.wake,
    )
    Burying(
        redis=redis,
        keys=keys,
        clock=clock,
        comment_queries=comment_queries,
        site_queries=site_queries,
        snapshots=snapshots,
        wake_outbox=outbox.wake,
    ).register(outbox.handlers)
    impartiality = Impartiality(roles=roles)
    standing = StandingQueries(redis=redis, keys=keys, clock=clock)
    claims = ClaimService(redis=redis, keys=keys, clock=clock, user_queries=user_queries)
    decisions = DecisionService(
        redis=redis,
        keys=keys,
        clock=clock,
        comment_queries=comment_queries,
        user_queries=user_queries,
        snapshots=snapshots,
        deleting=deleting,
        impartiality=impartiality,
        standing=standing,
        wake_outbox=outbox.wake,
    )

    def on_posted(site_id: SiteId) -> None:
        tally.comment(site_id)
        outbox.wake(site_id)

    comments = CommentService(
        redis=redis,
        keys=keys,
        clock=clock,
        settings=settings,
        queries=comment_queries,
        user_queries=user_queries,
        page_queries=page_queries,
        snapshots=snapshots,
        gate=ModerationGate(screener=screener, turnstile=outside.turnstile, decisions=decisions),
        quotas=quotas,
        journal=erasures,
        on_posted=on_posted,
        on_changed=outbox.wake,
    )
    Unshadowing(
        redis=redis,
        keys=keys,
        comment_queries=comment_queries,
        site_queries=site_queries,
        standing=standing,
        decisions=decisions,
        wake_outbox=outbox.wake,
    ).register(outbox.handlers)
    notes = NoteService(redis=redis, keys=keys, clock=clock)
    jobs = JobService(
        redis=redis,
        keys=keys,
        clock=clock,
        standing=standing,
        user_queries=user_queries,
        remover=Remover(redis=redis, keys=keys, clock=clock, comment_queries=comment_queries, snapshots=snapshots),
        wake_outbox=outbox.wake,
    )
    jobs.register(outbox.handlers)
    setup = SetupService(
        redis=redis,
        keys=keys,
        clock=clock,
        settings=settings,
        sites=sites,
        site_queries=site_queries,
        roles=roles,
        registry=user_registry,
        user_queries=user_queries,
        passwords=passwords,
    )
    metrics = Metrics()
    live_meters = LiveMeters(metrics)
    hub = Hub(
        redis=redis,
        keys=keys,
        clock=clock,
        listener=listener,
        user_queries=user_queries,
        lookups=Lookups(clock=clock, comment_queries=comment_queries, user_queries=user_queries),
        meters=live_meters,
    )
    reports = ReportService(
        redis=redis,
        keys=keys,
        clock=clock,
        comment_queries=comment_queries,
        site_queries=site_queries,
        roles=roles,
        decisions=decisions,
        reporters=reporters,
        quotas=quotas,
        wake_outbox=outbox.wake,
    )
    reports.register(outbox.handlers)
    people = PeopleService(
        redis=redis,
        keys=keys,
        clock=clock,
        standing=standing,
        wake_outbox=outbox.wake,
    )
    everywhere = BansEverywhere(
        redis=redis,
        keys=keys,
        clock=clock,
        standing=standing,
        registry=user_registry,
        site_queries=site_queries,
        wake_outbox=outbox.wake,
    )
    appeals = AppealService(
        redis=redis,
        keys=keys,
        clock=clock,
        comment_queries=comment_queries,
        roles=roles,
        decisions=decisions,
        wake_outbox=outbox.wake,
    )
    undo = UndoService(
        clock=clock,
        log=moderation_log,
        comment_queries=comment_queries,
        impartiality=impartiality,
        decisions=decisions,
        deleting=deleting,
        people=people,
        everywhere=everywhere,
        reports=reports,
        appeals=appeals,
    )
    comment_search = CommentSearch(redis=redis, keys=keys, queries=comment_queries)
    rebuild = RebuildService(store=store, keys=keys, clock=clock, site_queries=site_queries)
    rerendering = Rerendering(redis=redis, keys=keys, queries=comment_queries)
    doctor = DoctorService(
        Surroundings(
            settings=settings,
            store=store,
            keys=keys,
            keyring=keyring,
            clock=clock,
            providers=frozenset(providers),
            outboxes=outbox_queries,
            samples=rebuild,
        )
    )
    return Services(
        settings=settings,
        keyring=keyring,
        clock=clock,
        keys=keys,
        store=store,
        store_reports=StoreReports(store=store, keys=keys, clock=clock),
        listener=listener,
        office=office,
        mail_tester=MailTester(office=office, windows=windows, settings=settings.mail),
        passwords=passwords,
        addresses=addresses,
        limiter_outage=outage,
        request_limits=RequestLimits(redis=redis, keys=keys, clock=clock, settings=limits, outage=outage),
        quotas=quotas,
        limit_queries=LimitQueries(redis=redis, keys=keys, clock=clock, settings=limits),
        site_queries=site_queries,
        sites=sites,
        roles=roles,
        staff_badges=StaffBadges(roles=roles, clock=clock),
        deletions=SiteDeletions(store=store, keys=keys, clock=clock, site_queries=site_queries),
        user_queries=user_queries,
        user_registry=user_registry,
        users=users,
        sessions=sessions,
        sign_in=sign_in,
        staff=StaffService(
            sign_in=sign_in,
            sessions=sessions,
            user_queries=user_queries,
            site_queries=site_queries,
            roles=roles,
            factors=factors,
            second_step=second_step,
            passkeys=passkeys,
            server_name=settings.site.name,
        ),
        factors=factors,
        second_step=second_step,
        passkeys=passkeys,
        setup=setup,
        comment_queries=comment_queries,
        comment_search=comment_search,
        comments=comments,
        threads=threads,
        page_queries=page_queries,
        pages=PageService(
            redis=redis,
            keys=keys,
            clock=clock,
            queries=page_queries,
            comment_queries=comment_queries,
            snapshots=snapshots,
        ),
        snapshots=snapshots,
        votes=VoteService(
            redis=redis,
            keys=keys,
            comment_queries=comment_queries,
            page_queries=page_queries,
            snapshots=snapshots,
            wake_outbox=outbox.wake,
        ),
        notifications=notifications,
        queue=QueueQueries(redis=redis, keys=keys, comment_queries=comment_queries),
        desk=DeskQueries(
            redis=redis,
            keys=keys,
            comment_queries=comment_queries,
            page_queries=page_queries,
            user_queries=user_queries,
            claims=claims,
        ),
        decisions=decisions,
        claims=claims,
        undo=undo,
        reports=reports,
        reporters=reporters,
        appeals=appeals,
        people=people,
        people_search=PeopleSearch(
            redis=redis, keys=keys, clock=clock, comments=comment_search, user_queries=user_queries
        ),
        everywhere=everywhere,
        standing=standing,
        jobs=jobs,
        notes=notes,
        cards=CardQueries(
            redis=redis,
            keys=keys,
            clock=clock,
            standing=standing,
            comment_queries=comment_queries,
            comments=comments,
            user_queries=user_queries,
            log=moderation_log,
            notes=notes,
        ),
        moderation_log=moderation_log,
        outbox=outbox,
        backups=BackupSchedule(store=store, keys=keys, clock=clock, settings=settings, fingerprint=keyring.fingerprint),
        erasures=erasures,
        unfinished=UnfinishedErasures(journal=erasures, users=users, queries=user_queries, clock=clock),
        outbox_queries=outbox_queries,
        dead_letters=DeadLetters(redis=redis, keys=keys, clock=clock, queries=outbox_queries),
        tally=tally,
        metrics=metrics,
        live_meters=live_meters,
        hub=hub,
        streams=Streams(hub=hub, meters=live_meters, settings=settings.live),
        staff_streams=StaffStreams(keys=keys, hub=hub, meters=live_meters, settings=settings.live),
        changes=ChangeQueries(
            redis=redis,
            keys=keys,
            comment_queries=comment_queries,
            page_queries=page_queries,
            user_queries=user_queries,
        ),
        counter_queries=CounterQueries(redis=redis, keys=keys, clock=clock),
        rebuild=rebuild,
        doctor=doctor,
        deep_doctor=DeepDoctor(
            settings=settings,
            store=store,
            keys=keys,
            clock=clock,
            site_queries=site_queries,
            registry=user_registry,
            rebuild=rebuild,
            rerendering=rerendering,
        ),
        rerendering=rerendering,
        rankings=RankingQueries(redis=redis, keys=keys),
        reranker=Reranker(redis=redis, keys=keys, clock=clock, site_queries=site_queries),
        outbound=outbound,
        outside=outside,
        learning_filter=learning_filter,
        screener=screener,
        providers=providers,
        oauth=oauth,
        provider_tester=ProviderTester(
            build=lambda: build_providers(settings, endpoints, outbound, clock),
            outbound=outbound,
            windows=windows,
            base_url=settings.base_url,
        ),
    )
