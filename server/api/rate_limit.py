"""Rate limits by user, by address and by name: sliding windows of requests.

All processes of a server share the budget of a key. A process leases a quarter of what is left of
it, and counts against its lease in memory: the database is queried for a key once a window, or when
a lease is used up, and never for a single request.
"""

import asyncio
import unicodedata
from dataclasses import dataclass
from hashlib import sha256
from ipaddress import IPv6Address, ip_address
from typing import Final

import structlog

from server.app import App
from server.domain.clock import Clock
from server.domain.errors import RateLimitedError
from server.settings import Rate, Rates
from storage import rate_limits
from storage.database import Connection, Database, DatabaseUnavailableError, StatementTimeoutError
from storage.ids import RealmId, UserId
from storage.rate_limits import LeaseRow

logger = structlog.get_logger(__name__)

MAX_KEYS: Final = 20_000
"""Maximum number of leases in memory per kind; the oldest are evicted, and their rest is lost."""
LEASE_TIMEOUT_SECONDS: Final = 1.0
"""Timeout of a request for a lease: after that it is allowed without one."""
UNAVAILABLE_SECONDS: Final = 5.0
"""How long an unresponsive database is not queried again."""
EXHAUSTED_SECONDS: Final = 10.0
"""How long it is not queried again about a key with an exhausted budget."""
SWEEP_SECONDS: Final = 600.0
MAX_ATTEMPTS: Final = 3
"""Number of attempts to lease what other processes are leasing at the same moment."""
NETWORK_PREFIX_BITS: Final = 64
"""Addresses in an IPv6 network of this size count as one."""


@dataclass(slots=True)
class _Lease:
    """What this process may allow under a key without a query; or that the budget is exhausted."""

    left: int
    until: float
    elsewhere: int = 0
    """What is left of the budget besides this lease."""
    window: int = 0
    reset: str = ""
    retry_at: float | None = None


class Limiter:
    """A rate limit for keys of one kind."""

    def __init__(
        self,
        kind: str,
        rate: Rate,
        database: Database,
        clock: Clock,
        *,
        capacity: int = MAX_KEYS,
    ) -> None:
        self._kind = kind
        self._rate = rate
        self._limit = str(rate.limit)
        self._database = database
        self._clock = clock
        self._capacity = capacity
        self._leases: dict[str, _Lease] = {}
        self._renewing: dict[str, asyncio.Task[None]] = {}
        self._sweeping: asyncio.Task[None] | None = None
        self._swept_at = clock.monotonic()
        self._away_until = clock.monotonic()

    async def count(self, key: str, headers: dict[str, str]) -> None:
        """Count a request of the key; `headers` get the state of its budget.

        Raises RateLimitedError, and then the request does not count.
        """
        while True:
            lease = self._leases.get(key)
            now = self._clock.monotonic()
            if lease is not None and now < lease.until:
                if lease.left > 0:
                    lease.left -= 1
                    self._add_headers(headers, lease)
                    return
                if lease.retry_at is not None:
                    self._add_headers(headers, lease)
                    raise RateLimitedError(round(lease.retry_at - now, 3))
            await self._renewed(key)

    async def forget(self, key: str) -> None:
        """Reset the key's budget."""
        self._leases.pop(key, None)
        async with self._database.connection() as connection:
            await rate_limits.forget(connection, self._name(key))

    def __len__(self) -> int:
        """Return how many keys are in memory."""
        return len(self._leases)

    def _name(self, key: str) -> str:
        return f"{self._kind}:{key}"

    def _add_headers(self, headers: dict[str, str], lease: _Lease) -> None:
        headers["X-RateLimit-Limit"] = self._limit
        headers["X-RateLimit-Remaining"] = str(lease.left + lease.elsewhere)
        headers["X-RateLimit-Reset"] = lease.reset

    async def _renewed(self, key: str) -> None:
        """Renew the lease of a key; concurrent requests of the key share the query."""
        task = self._renewing.get(key)
        if task is None:
            task = asyncio.create_task(self._renew(key))
            self._renewing[key] = task
            task.add_done_callback(lambda _: self._renewing.pop(key, None))
        await asyncio.shield(task)

    async def _renew(self, key: str) -> None:
        old = self._leases.pop(key, None)
        lease = None
        if self._clock.monotonic() >= self._away_until:
            try:
                async with asyncio.timeout(LEASE_TIMEOUT_SECONDS):
                    lease = self._lease_of(await self._lease_from_database(key, old))
            except (DatabaseUnavailableError, StatementTimeoutError, TimeoutError) as error:
                logger.warning("rate_limit.lease_failed", kind=self._kind, error=repr(error))
                self._away_until = self._clock.monotonic() + UNAVAILABLE_SECONDS
        if len(self._leases) >= self._capacity:
            del self._leases[next(iter(self._leases))]
        self._leases[key] = lease or self._fallback_lease()
        self._maybe_sweep()

    async def _lease_from_database(self, key: str, old: _Lease | None) -> LeaseRow:
        unused, window = (old.left, old.window) if old is not None else (0, 0)
        async with self._database.connection() as connection:
            row = await self._lease_once(connection, key, unused, window)
            for _ in range(MAX_ATTEMPTS - 1):
                if row.granted or not row.free:
                    break
                row = await self._lease_once(connection, key)
            return row

    async def _lease_once(
        self, connection: Connection, key: str, unused: int = 0, unused_window: int = 0
    ) -> LeaseRow:
        return await rate_limits.lease(
            connection,
            self._name(key),
            limit=self._rate.limit,
            seconds=self._rate.seconds,
            unused=unused,
            unused_window=unused_window,
        )

    def _lease_of(self, row: LeaseRow) -> _Lease:
        now = self._clock.monotonic()
        window_left = self._rate.seconds - row.elapsed
        whole_again = self._clock.now().timestamp() + window_left + self._rate.seconds
        lease = _Lease(
            left=row.granted,
            until=now + window_left,
            elsewhere=row.free - row.granted,
            window=row.window,
            reset=str(int(whole_again)),
        )
        if not row.granted:
            wait = _wait(self._rate, row)
            lease.until = now + min(wait, EXHAUSTED_SECONDS)
            lease.retry_at = now + wait
        return lease

    def _fallback_lease(self) -> _Lease:
        """Return a lease of this process's own while the database cannot be queried."""
        now = self._clock.monotonic()
        reset = self._clock.now().timestamp() + self._rate.seconds
        return _Lease(left=self._rate.limit, until=now + UNAVAILABLE_SECONDS, reset=str(int(reset)))

    def _maybe_sweep(self) -> None:
        if self._clock.monotonic() - self._swept_at >= SWEEP_SECONDS:
            self._swept_at = self._clock.monotonic()
            self._sweeping = asyncio.create_task(self.sweep())

    async def sweep(self) -> None:
        """Delete the rows of windows that no longer count."""
        try:
            async with self._database.connection() as connection:
                await rate_limits.delete_old(connection, self._name(""), seconds=self._rate.seconds)
        except (DatabaseUnavailableError, StatementTimeoutError) as error:
            logger.warning("rate_limit.sweep_failed", kind=self._kind, error=str(error))


def _wait(rate: Rate, row: LeaseRow) -> float:
    """Return the seconds until one request is allowed: usage fades through the next window."""
    if row.used >= rate.limit:
        window_left = rate.seconds - row.elapsed
        return window_left + rate.seconds * (1 - (rate.limit - 1) / row.used)
    share_gone = 1 - (rate.limit - 1 - row.used) / max(1, row.used_before)
    return max(rate.seconds * share_gone - row.elapsed, 0.0)


class RateLimits:
    """The rate limits of a server, or none if its settings disable them."""

    def __init__(self, app: App) -> None:
        settings = app.settings
        self._is_on = settings.rate_limits
        self.by_user = Limiter("user", settings.rate_limit_user, app.database, app.clock)
        self.by_address = Limiter("address", settings.rate_limit_address, app.database, app.clock)
        self.directories = Limiter("scim", settings.rate_limit_scim, app.database, app.clock)
        self.sign_ins = Limiter("sign-in", settings.rate_limit_sign_in, app.database, app.clock)
        self.second_factors = _limiters("second-factor", settings.rate_limit_second_factor, app)
        self.mails_to = _limiters("mail-to", settings.rate_limit_account_mail, app)
        self.joins_from = _limiters("join-from", settings.rate_limit_join_address, app)
        self.mails_from = _limiters("mail-from", settings.rate_limit_account_mail_address, app)

    async def count_user(self, realm_id: RealmId, user_id: UserId, headers: dict[str, str]) -> None:
        """Count a request of a user. Raises RateLimitedError."""
        if self._is_on:
            await self.by_user.count(f"{realm_id}:{user_id}", headers)

    async def count_address(self, address: str, headers: dict[str, str]) -> None:
        """Count an unauthenticated request by network address. Raises RateLimitedError."""
        if self._is_on:
            await self.by_address.count(network_of(address), headers)

    async def count_directory(self, realm_id: RealmId, headers: dict[str, str]) -> None:
        """Count a request of an organization's directory. Raises RateLimitedError."""
        if self._is_on:
            await self.directories.count(str(realm_id), headers)

    async def count_sign_in(self, realm_id: RealmId, name: str, headers: dict[str, str]) -> None:
        """Count a sign-in attempt under this name. Raises RateLimitedError."""
        if self._is_on:
            await self.sign_ins.count(_sign_in_key(realm_id, name), headers)

    async def forget_sign_ins(self, realm_id: RealmId, name: str) -> None:
        """Reset the count after a successful sign-in."""
        if self._is_on:
            await self.sign_ins.forget(_sign_in_key(realm_id, name))

    async def count_second_factor(
        self, realm_id: RealmId, user_id: UserId, headers: dict[str, str]
    ) -> None:
        """Count a code for the account's second factor, whatever its address.

        Raises RateLimitedError.
        """
        if self._is_on:
            for limiter in self.second_factors:
                await limiter.count(f"{realm_id}:{user_id}", headers)

    async def forget_second_factor(self, realm_id: RealmId, user_id: UserId) -> None:
        """Reset the shortest count after a right code; the longer ones go on."""
        if self._is_on:
            await self.second_factors[0].forget(f"{realm_id}:{user_id}")

    async def count_join(self, address: str, headers: dict[str, str]) -> None:
        """Count an attempt to join without an email, by network address.

        Raises RateLimitedError.
        """
        if self._is_on:
            for limiter in self.joins_from:
                await limiter.count(network_of(address), headers)

    async def count_account_mail(
        self, realm_id: RealmId, email: str, address: str, headers: dict[str, str]
    ) -> None:
        """Count an account email requested from this network address. Raises RateLimitedError.

        The same whether or not a user has the email address. Raises RateLimitedError.
        """
        if not self._is_on:
            return
        for limiter in self.mails_from:
            await limiter.count(network_of(address), headers)
        for limiter in self.mails_to:
            await limiter.count(_sign_in_key(realm_id, email), headers)


def _limiters(kind: str, rates: Rates, app: App) -> list[Limiter]:
    """Return one limiter for each rate."""
    return [Limiter(f"{kind}-{rate.seconds}", rate, app.database, app.clock) for rate in rates]


def _sign_in_key(realm_id: RealmId, name: str) -> str:
    # Names that directories treat as equal are counted as one. A name may have any length, and a
    # key may not.
    known = " ".join(unicodedata.normalize("NFKC", name).casefold().split())
    return f"{realm_id}:{sha256(known.encode(errors='replace')).hexdigest()[:32]}"


def network_of(address: str) -> str:
    """Return the address, or its network for IPv6."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    network = int(parsed) >> NETWORK_PREFIX_BITS << NETWORK_PREFIX_BITS
    return f"{IPv6Address(network)}/{NETWORK_PREFIX_BITS}"
