"""The factories make what the server would."""

import pytest

from server.domain.access import GUEST
from storage import subscription_spans
from testkit.factories import Make, user_ids

pytestmark = pytest.mark.asyncio


async def test_people_are_subscribed_from_a_position_on(make_here: Make):
    people = await make_here.users(2)
    channel = await make_here.channel(subscribers=people, invite_only=True)

    spans = await subscription_spans.of_users(
        make_here.connection, make_here.realm_id, user_ids(people)
    )

    assert channel.subscriber_count == 2
    assert {s.user_id for s in spans} == set(user_ids(people))
    assert {(s.first, s.last) for s in spans} == {(await make_here.position() + 1, None)}


async def test_a_permission_names_people_or_a_group(make_here: Make):
    guest = await make_here.user(role=GUEST)
    members = (await make_here.role_groups())["role:members"]

    channel = await make_here.channel(can_subscribe_group=[guest], can_send_message_group=members)

    assert channel.permissions["can_subscribe_group"]["direct_members"] == [guest.user_id]
    assert channel.permissions["can_send_message_group"] == members


async def test_rows_are_committed_and_cleared(make: Make):
    assert await make.position() == 0
    channel = await make.channel(subscribers=[await make.user()])

    await make.unsubscribe(channel, [])

    assert await make.position() == 2
