"""How much an organization may upload, as all users hear of it."""

import pytest

from server.actions.upload_quota import change_upload_quota

pytestmark = pytest.mark.asyncio


async def test_all_users_are_told_of_a_quota(hall, witnesses):
    async def change():
        for mib in (5, 5, None):
            await hall.realm_services().write(lambda tx, mib=mib: change_upload_quota(tx, mib))

    await witnesses.watch(change, hall.everyone)
