"""How often a session's or key's credentials are verified again."""

from datetime import timedelta

import pytest

from server.api.credentials import MAX_TRUST_SECONDS, Credential
from server.domain.errors import UnauthorizedError
from server.runtime.batch_loader import BatchLoader
from storage.ids import RealmId
from testkit.clock import StoppedClock

pytestmark = pytest.mark.asyncio


async def test_a_credential_is_looked_at_again_after_a_moment_and_not_each_time():
    clock = StoppedClock()
    looks = 0
    is_live = True

    async def live(keys):
        nonlocal looks
        looks += 1
        return dict.fromkeys(keys, is_live)

    credential = Credential(
        BatchLoader(live), clock, (RealmId(1), b"digest"), lambda: UnauthorizedError("no")
    )
    for _ in range(3):
        await credential.check()
    assert looks == 0
    clock.advance(timedelta(seconds=MAX_TRUST_SECONDS))
    for _ in range(3):
        await credential.check()
    assert looks == 1
    is_live = False
    clock.advance(timedelta(seconds=MAX_TRUST_SECONDS))
    for _ in range(2):
        with pytest.raises(UnauthorizedError):
            await credential.check()
