"""People: accounts, sessions, and every way to sign in."""

from collections.abc import Mapping
from dataclasses import dataclass

from threadkit.http.outbound import Outbound
from threadkit.parts.base import Base
from threadkit.staff.service import StaffService
from threadkit.users.codes import CodeService
from threadkit.users.courier import Courier
from threadkit.users.guesses import Guesses
from threadkit.users.name_rules import NameRules
from threadkit.users.news import AccountNews
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
from threadkit.users.second_step.tries import Tries
from threadkit.users.sessions import SessionService
from threadkit.users.sign_in import SignIn
from threadkit.users.tokens import Tokens


@dataclass(frozen=True, kw_only=True)
class Accounts:
    passwords: Passwords
    user_queries: UserQueries
    user_registry: UserRegistry
    names: NameRules
    sessions: SessionService
    sign_in: SignIn
    staff: StaffService
    factors: FactorQueries
    second_step: SecondStep
    passkeys: Passkeys
    outbound: Outbound
    providers: Mapping[str, Provider]
    oauth: OAuthService
    provider_tester: ProviderTester


def build_accounts(base: Base, endpoints: ProviderEndpoints) -> Accounts:
    redis, keys, clock, settings = base.redis, base.keys, base.clock, base.settings
    passwords = Passwords(settings.accounts)
    queries = UserQueries(redis=redis, keys=keys, clock=clock)
    registry = UserRegistry(redis=redis, keys=keys, clock=clock, queries=queries)
    names = NameRules(queries=queries, site_queries=base.site_queries, roles=base.roles)
    news = AccountNews(office=base.office, windows=base.windows, server_name=settings.site.name)
    sessions = _sessions(base, queries, news)
    codes = _codes(base)
    base.roles.on_loss = sessions.end_staff
    sign_in = SignIn(
        redis=redis,
        keys=keys,
        clock=clock,
        keyring=base.keyring,
        queries=queries,
        registry=registry,
        names=names,
        sessions=sessions,
        codes=codes,
        passwords=passwords,
        guesses=Guesses(windows=base.windows, queries=queries, codes=codes, news=news, limits=settings.limits),
        windows=base.windows,
        limits=settings.limits,
    )
    factors = FactorQueries(redis=redis, keys=keys)
    second_step, passkeys = _second_step(base, queries, factors, sessions, news)
    outbound = build_outbound(settings, endpoints)
    providers = build_providers(settings, endpoints, outbound, clock)
    return Accounts(
        passwords=passwords,
        user_queries=queries,
        user_registry=registry,
        names=names,
        sessions=sessions,
        sign_in=sign_in,
        staff=StaffService(
            sign_in=sign_in,
            sessions=sessions,
            user_queries=queries,
            site_queries=base.site_queries,
            roles=base.roles,
            factors=factors,
            second_step=second_step,
            passkeys=passkeys,
            server_name=settings.site.name,
        ),
        factors=factors,
        second_step=second_step,
        passkeys=passkeys,
        outbound=outbound,
        providers=providers,
        oauth=OAuthService(
            settings=settings,
            providers=providers,
            pending=PendingSignIns(redis=redis, keys=keys),
            provider_sessions=ProviderSessions(redis=redis, keys=keys, clock=clock, keyring=base.keyring),
            sites=base.site_queries,
            sign_in=sign_in,
            windows=base.windows,
        ),
        provider_tester=ProviderTester(
            build=lambda: build_providers(settings, endpoints, outbound, clock),
            outbound=outbound,
            windows=base.windows,
            base_url=settings.base_url,
        ),
    )


def _sessions(base: Base, queries: UserQueries, news: AccountNews) -> SessionService:
    accounts = base.settings.accounts
    tokens = Tokens(
        base.keyring.jwt,
        clock=base.clock,
        access_s=accounts.access_token_hours * 3600,
        refresh_s=accounts.session_days * 86_400,
    )
    return SessionService(
        redis=base.redis, keys=base.keys, clock=base.clock, queries=queries, tokens=tokens, news=news, accounts=accounts
    )


def _codes(base: Base) -> CodeService:
    return CodeService(
        redis=base.redis,
        keys=base.keys,
        clock=base.clock,
        windows=base.windows,
        quotas=base.quotas,
        sender=Courier(base.office),
        digest_key=base.keyring.derive("codes"),
        accounts=base.settings.accounts,
    )


def _second_step(
    base: Base, queries: UserQueries, factors: FactorQueries, sessions: SessionService, news: AccountNews
) -> tuple[SecondStep, Passkeys]:
    settings = base.settings
    second_step = SecondStep(
        redis=base.redis,
        keys=base.keys,
        clock=base.clock,
        keyring=base.keyring,
        queries=factors,
        sessions=sessions,
        tries=Tries(base.windows, queries=queries, per_hour=settings.limits.sign_ins_per_account_per_hour),
        news=news,
        server_name=settings.site.name,
    )
    passkeys = Passkeys(
        redis=base.redis,
        keys=base.keys,
        clock=base.clock,
        queries=factors,
        sessions=sessions,
        second_step=second_step,
        news=news,
        base_url=settings.base_url,
        server_name=settings.site.name,
    )
    return second_step, passkeys
