"""Hashes of passwords that cost next to nothing, for the tests that are not about their cost."""

import secrets
from typing import Final

import pytest
from argon2 import PasswordHasher

from server.domain import passwords

CHEAP: Final = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
OURS: Final = {
    "_hasher": passwords._hasher,
    "_DUMMY_HASH": passwords._DUMMY_HASH,
}


def pytest_configure() -> None:
    """Hash cheaply in this process: processes that tests start are as they are in production."""
    setattr(passwords, "_hasher", CHEAP)  # noqa: B010 - it is final for the server
    setattr(passwords, "_DUMMY_HASH", CHEAP.hash(secrets.token_hex()))  # noqa: B010


@pytest.fixture
def production_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hash as in production, in this test."""
    for name, value in OURS.items():
        monkeypatch.setattr(passwords, name, value)
