"""Passwords are hashed in a few threads, and checking costs the same for unknown users."""

import asyncio
import os
import threading

import argon2
import pytest

from server.domain.passwords import NICENESS, Passwords

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("production_hashes")]


@pytest.fixture
def passwords():
    with Passwords(2) as passwords:
        yield passwords


async def test_a_hash_is_of_one_password(passwords):
    kept = await passwords.hash("correct horse")

    assert (await passwords.verify("correct horse", kept)).right
    assert not (await passwords.verify("battery staple", kept)).right


async def test_a_hash_says_how_much_work_it_was(passwords):
    kept = await passwords.hash("correct horse")

    assert kept.startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    assert kept != await passwords.hash("correct horse")


async def test_who_has_no_password_is_never_right(passwords):
    assert not (await passwords.verify("", None)).right
    assert not (await passwords.verify("correct horse", None)).right


async def test_what_is_no_hash_is_never_right(passwords):
    assert not (await passwords.verify("correct horse", "plain text")).right


async def test_a_hash_with_less_work_is_to_be_replaced(passwords):
    weak = argon2.PasswordHasher(time_cost=1, memory_cost=1024, parallelism=1).hash("correct horse")

    right = await passwords.verify("correct horse", weak)
    wrong = await passwords.verify("battery staple", weak)

    assert right.right
    assert right.new_hash is not None
    assert not (await passwords.verify("correct horse", right.new_hash)).new_hash
    assert wrong.new_hash is None


async def test_only_hashing_threads_run_at_low_priority(passwords):
    before = os.getpriority(os.PRIO_PROCESS, 0)

    await passwords.hash("correct horse")

    [worker] = [t for t in threading.enumerate() if t.name.startswith("passwords")]
    assert worker.native_id is not None
    own = os.getpriority(os.PRIO_PROCESS, worker.native_id)
    assert own == min(19, before + NICENESS)
    assert os.getpriority(os.PRIO_PROCESS, threading.get_native_id()) == before


async def test_many_are_hashed_in_order_and_few_at_once(passwords):
    many = [f"password {number}" for number in range(8)]

    hashes = await passwords.hash_all(many)

    verdicts = await asyncio.gather(*map(passwords.verify, many, hashes))
    assert all(verdict.right for verdict in verdicts)
    workers = [t for t in threading.enumerate() if t.name.startswith("passwords")]
    assert len(workers) <= 2
