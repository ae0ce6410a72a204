"""Deleting what a deactivated user leaves, as all other users hear of it."""

import pytest

from server.actions.departed_users import DELETING, DeletionRequest, deactivate_and_delete
from server.actions.stepped_work import finish
from server.domain.access import GUEST, OWNER

pytestmark = pytest.mark.asyncio


async def test_all_clients_end_with_what_is_there(hall, make, witnesses):
    boss = await make.actor(role=OWNER)
    gone = await make.user("Gone")
    bot = await make.user("Robot", bot_type=1, bot_owner=gone)
    stranger = await make.user("Stranger", role=GUEST)
    for name, is_private in (("kitchen", False), ("cellar", True)):
        channel = await make.channel(
            name, subscribers=[*hall.everyone, gone, bot], invite_only=is_private
        )
        for person in (gone, bot):
            await make.message(person, await make.topic(channel, person.full_name))

    async def delete():
        request = DeletionRequest(profile=True, places=("public channel", "private channel"))
        now = hall.stage.clock.now()
        work_id = await hall.realm_services().write(
            lambda tx: deactivate_and_delete(tx, boss, gone.user_id, request, comment=None, now=now)
        )
        await finish(hall.realm_services(), DELETING, work_id, size=1)

    await witnesses.watch(delete, [*hall.everyone, stranger])
    assert await make.connection.values("SELECT id FROM messages") == []
