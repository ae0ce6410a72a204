"""The people that users know."""

import pytest

from storage import shared_contacts
from testkit.factories import Make

pytestmark = pytest.mark.asyncio


async def test_one_knows_whom_one_meets_in_a_channel_or_a_conversation(make_here: Make):
    connection, realm_id = make_here.connection, make_here.realm_id
    guest, neighbour, partner, former, stranger = await make_here.users(5)
    await make_here.channel(subscribers=[guest, neighbour])
    left = await make_here.channel(subscribers=[guest, former])
    await make_here.unsubscribe(left, [guest])
    await make_here.channel(subscribers=[neighbour, stranger])
    together = sorted([guest.user_id, partner.user_id])
    group_id = await connection.value(
        """
        INSERT INTO dm_groups (realm_id, user_ids) VALUES (%(realm_id)s, %(ids)s)
        RETURNING dm_group_id
        """,
        realm_id=realm_id,
        ids=together,
    )
    await connection.execute(
        """
        INSERT INTO dm_group_members (realm_id, user_id, dm_group_id)
        SELECT %(realm_id)s, unnest(%(ids)s::bigint[]), %(group_id)s
        """,
        realm_id=realm_id,
        ids=together,
        group_id=group_id,
    )

    known = await shared_contacts.known_to(connection, realm_id, guest.user_id)

    assert known == {guest.user_id, neighbour.user_id, partner.user_id}
    asked, among = [guest.user_id, neighbour.user_id], [partner.user_id]
    assert await shared_contacts.known_to_each(connection, realm_id, asked, among=among) == {
        guest.user_id: {guest.user_id, partner.user_id},
        neighbour.user_id: {neighbour.user_id},
    }
