"""Erasing a person, as all other users hear of it."""

import pytest

from server.actions.erasing import ERASING, erase_person
from server.actions.stepped_work import finish
from server.domain.access import GUEST

pytestmark = pytest.mark.asyncio


async def test_all_clients_end_with_what_is_there(hall, make, witnesses):
    gone = await make.user("Gone")
    stranger = await make.user("Stranger", role=GUEST)
    channel = await make.channel("kitchen", subscribers=[*hall.everyone, gone])
    await make.message(gone, await make.topic(channel, "soup"))

    async def erase():
        now = hall.stage.clock.now()
        work_id = await hall.realm_services().write(
            lambda tx: erase_person(tx, gone.user_id, now=now)
        )
        await finish(hall.realm_services(), ERASING, work_id, size=1)

    await witnesses.watch(erase, [*hall.everyone, stranger])
