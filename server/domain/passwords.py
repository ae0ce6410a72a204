"""Passwords: hashed slowly, off the event loop, a few at a time."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self, TypeVar

import argon2
from argon2.exceptions import InvalidHashError, VerificationError

Result = TypeVar("Result")

MEMORY_KIB: Final = 19_456
TIME_COST: Final = 2
PARALLELISM: Final = 1
MIN_LENGTH: Final = 6
MAX_LENGTH: Final = 100
MIN_GUESSES: Final = 10_000

_hasher: Final = argon2.PasswordHasher(
    time_cost=TIME_COST, memory_cost=MEMORY_KIB, parallelism=PARALLELISM
)

# Of a random password that nobody kept: checking against it takes as long as a real check.
_NOBODYS_HASH: Final = (
    "$argon2id$v=19$m=19456,t=2,p=1$"
    "ziaDNobrHjZeiFrwQbgQAw$HWH2nWFwYYKvyttHvzqoTpPI8BpzVjyzHD3GKkoL9kY"
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the password was right; and a hash to keep instead, if the old one is outdated."""

    right: bool
    new_hash: str | None = None


class Passwords:
    """Hashes and checks passwords in at most `threads` threads; each takes 19 MiB and 20 ms."""

    def __init__(self, threads: int = 2) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="passwords")
        self.hashed = 0
        """How many passwords have been hashed so far."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._threads.shutdown(wait=True, cancel_futures=True)

    async def hash(self, password: str) -> str:
        hashed = await self._run(_hasher.hash, password)
        self.hashed += 1
        return hashed

    async def hash_all(self, passwords: Sequence[str]) -> list[str]:
        """The hashes, in the same order."""
        return list(await asyncio.gather(*(self.hash(password) for password in passwords)))

    async def verify(self, password: str, known_hash: str | None) -> Verdict:
        """Whether the hash is that of the password; None takes as long, and never is."""
        verdict = await self._run(_verify, password, known_hash or _NOBODYS_HASH)
        return verdict if known_hash else Verdict(right=False)

    async def _run(self, work: Callable[..., Result], *args: str) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, *args)


def _verify(password: str, known_hash: str) -> Verdict:
    try:
        _hasher.verify(known_hash, password)
    except (VerificationError, InvalidHashError):
        return Verdict(right=False)
    outdated = _hasher.check_needs_rehash(known_hash)
    return Verdict(right=True, new_hash=_hasher.hash(password) if outdated else None)
