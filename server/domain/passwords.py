"""Password hashing in a small thread pool, off the event loop."""

import asyncio
import os
import sys
import threading
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
NICENESS: Final = 14
"""Niceness of the hashing threads. The maximum (19) would starve sign-ins on a saturated
machine."""
MIN_LENGTH: Final = 6
MAX_LENGTH: Final = 100
MIN_GUESSES: Final = 10_000
MAX_CHECKED_CHARACTERS: Final = 40
"""Number of characters that the strength check examines: 0.1 s at worst. The rest can only make it
stronger.
"""

_hasher: Final = argon2.PasswordHasher(
    time_cost=TIME_COST, memory_cost=MEMORY_KIB, parallelism=PARALLELISM
)

# Hash of a random password: checking against it takes as long as a real check.
_DUMMY_HASH: Final = (
    "$argon2id$v=19$m=19456,t=2,p=1$"
    "ziaDNobrHjZeiFrwQbgQAw$HWH2nWFwYYKvyttHvzqoTpPI8BpzVjyzHD3GKkoL9kY"
)


@dataclass(frozen=True, slots=True)
class PasswordCheck:
    """Whether the password was right; and a new hash to store if the old one is outdated."""

    right: bool
    new_hash: str | None = None


class Passwords:
    """Hashes and checks passwords in at most `threads` threads; each takes 19 MiB and 20 ms.

    On a saturated machine only sign-ins wait.
    """

    def __init__(self, threads: int = 2) -> None:
        self._threads = ThreadPoolExecutor(
            threads, thread_name_prefix="passwords", initializer=_stand_back
        )
        self.hashed = 0
        """Number of passwords hashed so far."""

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
        """Return the hashes, in the same order."""
        return list(await asyncio.gather(*(self.hash(password) for password in passwords)))

    async def verify(self, password: str, known_hash: str | None) -> PasswordCheck:
        """Return whether the password matches; a hash of None takes as long, and never does."""
        verdict = await self._run(_verify, password, known_hash or _DUMMY_HASH)
        return verdict if known_hash else PasswordCheck(right=False)

    async def is_weak(self, password: str, *known: str) -> bool:
        """Return whether it could be guessed.

        `known` are the user's data that one would try first.
        """
        return await self._run(_is_weak, password, *known)

    async def _run(self, work: Callable[..., Result], *args: str) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, *args)


def _stand_back() -> None:
    """Lower the thread's priority, where threads have one."""
    if sys.platform == "linux":
        thread = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, 0) + NICENESS)


def _verify(password: str, known_hash: str) -> PasswordCheck:
    try:
        _hasher.verify(known_hash, password)
    except (VerificationError, InvalidHashError):
        return PasswordCheck(right=False)
    outdated = _hasher.check_needs_rehash(known_hash)
    return PasswordCheck(right=True, new_hash=_hasher.hash(password) if outdated else None)


def _is_weak(password: str, *known: str) -> bool:
    from zxcvbn import zxcvbn  # its dictionaries take a while to load

    found = zxcvbn(password[:MAX_CHECKED_CHARACTERS], user_inputs=list(known))
    return int(found["guesses"]) < MIN_GUESSES
