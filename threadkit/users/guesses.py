"""How guessing passwords is slowed down without locking the right person out.

Guesses at an account from networks that it does not know share a small number an hour. When it is used up, such a network
needs a code from the account's mailbox beside the password, and the answer no longer tells whether the password was
right: so guessing on is worth nothing. A network that the account has signed in from has tries of its own.
"""

from collections.abc import Awaitable, Callable

from msgspec import Struct

from threadkit.errors import TooMany
from threadkit.ratelimit.windows import Spent, Window, Windows
from threadkit.settings import LimitSettings
from threadkit.users.codes import CodeService
from threadkit.users.model import User
from threadkit.users.news import AccountNews
from threadkit.users.queries import UserQueries

GUARDED_TRIES = 5  # an hour, for one network at one account


class CodeRequired(TooMany):
    """Many wrong passwords were tried on this account. If yours is right, a code was sent to its address: enter it too."""

    code = "code_required"


class Guess(Struct, frozen=True):
    """One try of a password, which was counted."""

    account: str
    """A keyed hash of the address or number."""
    client: str
    spent: Spent
    is_guarded: bool
    """The password alone is not enough now."""


Factor = Callable[[User, str], Awaitable[bool]]
"""Whether this is a code of somebody's second step."""


class Guesses:
    def __init__(
        self,
        *,
        windows: Windows,
        queries: UserQueries,
        codes: CodeService,
        news: AccountNews,
        limits: LimitSettings,
    ) -> None:
        self._windows = windows
        self._queries = queries
        self._codes = codes
        self._news = news
        most = limits.sign_ins_per_account_per_hour
        self._per_account = Window("sign-in-account", most, 3600)
        self._per_known = Window("sign-in-known", most, 3600)
        self._guarded = Window("sign-in-guarded", GUARDED_TRIES, 3600)

    async def begin(self, account: str, user: User | None, *, client: str) -> Guess:
        """Count a try before the password is looked at; raise when this network has had its share."""
        is_known = await self._queries.knows_network(user, client)
        here = f"{account}:{client}"
        limit, subject = (self._per_known, here) if is_known else (self._per_account, account)
        try:
            return Guess(account, client, await self._windows.spend(limit, subject), is_guarded=False)
        except TooMany:
            spent = await self._windows.spend(self._guarded, here)
        await self._news.is_guessed_at(user)
        return Guess(account, client, spent, is_guarded=True)

    async def was_right(self, guess: Guess) -> None:
        await self._windows.give_back(guess.spent)

    async def ask_for_code(self, guess: Guess, to: str, user: User | None, *, is_right: bool, site_name: str) -> None:
        """Send it when the password was right; whoever asked is told the same in both cases."""
        await self._codes.send_beside_password(
            _place(guess),
            to,
            deliver=is_right,
            has_proved=user is not None and user.is_verified,
            client=guess.client,
            site_name=site_name,
        )
        raise CodeRequired

    async def check_code(self, guess: Guess, code: str) -> None:
        await self._codes.check(_place(guess), "password", code, client=guess.client, use_up=True)


def _place(guess: Guess) -> str:
    """Every network has a code of its own, so that no stranger's asking voids another's."""
    return f"{guess.account}:{guess.client}"
