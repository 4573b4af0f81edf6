"""The bundle of services: built once, by `build`, and handed to whoever needs them."""

from collections.abc import Mapping
from dataclasses import dataclass

from threadkit.clock import Clock, SystemClock
from threadkit.comments.leaving import Leaving
from threadkit.comments.queries import CommentQueries
from threadkit.comments.service import CommentService
from threadkit.comments.snapshots import Snapshots
from threadkit.http.outbound import Outbound
from threadkit.keyring import Keyring
from threadkit.outbox.worker import OutboxWorker
from threadkit.ratelimit.windows import Windows
from threadkit.sending.service import PostOffice, build_office
from threadkit.settings import Settings
from threadkit.setup.service import SetupService
from threadkit.sites.queries import SiteQueries
from threadkit.sites.roles import RoleService
from threadkit.sites.service import SiteService
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
from threadkit.users.passwords import Passwords
from threadkit.users.queries import UserQueries
from threadkit.users.registry import UserRegistry
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
    listener: Listener
    office: PostOffice
    passwords: Passwords
    site_queries: SiteQueries
    sites: SiteService
    roles: RoleService
    user_queries: UserQueries
    user_registry: UserRegistry
    users: UserService
    sessions: SessionService
    sign_in: SignIn
    setup: SetupService
    comment_queries: CommentQueries
    comments: CommentService
    snapshots: Snapshots
    votes: VoteService
    outbox: OutboxWorker
    outbound: Outbound
    providers: Mapping[str, Provider]
    oauth: OAuthService

    async def start(self) -> None:
        """What runs beside the requests."""
        await self.listener.start()
        await self.office.start()
        await self.outbox.start()

    async def stop(self) -> None:
        await self.outbox.stop()
        await self.office.stop()
        await self.listener.stop()
        await self.outbound.close()
        self.passwords.close()
        await self.store.close()


def build(
    settings: Settings,
    keyring: Keyring,
    store: Store,
    *,
    clock: Clock | None = None,
    endpoints: ProviderEndpoints | None = None,
) -> Services:
    clock = clock or SystemClock()
    keys = Keys(settings.key_prefix, tagged=store.address.topology == "cluster")
    redis, accounts = store.redis, settings.accounts
    listener = Listener(store)
    office = build_office(settings)
    windows = Windows(redis=redis, keys=keys, clock=clock)
    passwords = Passwords(accounts)
    tokens = Tokens(
        keyring.jwt,
        clock=clock,
        access_s=accounts.access_token_hours * 3600,
        refresh_s=accounts.session_days * 86_400,
    )

    site_queries = SiteQueries(redis=redis, keys=keys, clock=clock, listener=listener)
    sites = SiteService(redis=redis, keys=keys, clock=clock, queries=site_queries, keyring=keyring)
    roles = RoleService(redis=redis, keys=keys)

    user_queries = UserQueries(redis=redis, keys=keys)
    user_registry = UserRegistry(redis=redis, keys=keys, clock=clock, queries=user_queries)
    sessions = SessionService(
        redis=redis, keys=keys, clock=clock, queries=user_queries, tokens=tokens, accounts=accounts
    )
    codes = CodeService(
        redis=redis,
        keys=keys,
        clock=clock,
        windows=windows,
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
    users = UserService(
        redis=redis,
        keys=keys,
        clock=clock,
        queries=user_queries,
        registry=user_registry,
        site_queries=site_queries,
        roles=roles,
        traces=Leaving(
            redis=redis,
            keys=keys,
            clock=clock,
            queries=comment_queries,
            site_queries=site_queries,
            on_deletion=accounts.on_deletion,
        ),
    )
    snapshots = Snapshots(clock=clock)
    comments = CommentService(
        redis=redis,
        keys=keys,
        clock=clock,
        settings=settings,
        queries=comment_queries,
        user_queries=user_queries,
        snapshots=snapshots,
    )
    setup = SetupService(
        redis=redis,
        keys=keys,
        clock=clock,
        settings=settings,
        sites=sites,
        site_queries=site_queries,
        roles=roles,
        registry=user_registry,
        passwords=passwords,
    )
    return Services(
        settings=settings,
        keyring=keyring,
        clock=clock,
        keys=keys,
        store=store,
        listener=listener,
        office=office,
        passwords=passwords,
        site_queries=site_queries,
        sites=sites,
        roles=roles,
        user_queries=user_queries,
        user_registry=user_registry,
        users=users,
        sessions=sessions,
        sign_in=sign_in,
        setup=setup,
        comment_queries=comment_queries,
        comments=comments,
        snapshots=snapshots,
        votes=VoteService(redis=redis, keys=keys, comment_queries=comment_queries, snapshots=snapshots),
        outbox=OutboxWorker(redis=redis, keys=keys, site_queries=site_queries),
        outbound=outbound,
        providers=providers,
        oauth=oauth,
    )
