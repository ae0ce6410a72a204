"""Random bytes that look like HTTP."""

from random import Random

import pytest

from testkit.slow_fuzz import check_slowly
from testkit.wire_fuzz import check, new_server, random_bytes

SEED = 20261122


@pytest.mark.asyncio
async def test_whatever_comes_is_answered_with_http_however_it_is_cut():
    server, random = new_server(), Random(SEED)
    for _ in range(3_000):
        check(server, random_bytes(random), random)


@pytest.mark.asyncio
async def test_what_is_written_is_http_however_slow_the_parties():
    server, random = new_server(), Random(SEED)
    for _ in range(1_500):
        await check_slowly(server, random_bytes(random), random)
