"""Who may send to which channel."""

import pytest

from server.actions.messages import send
from server.actions.messages.decide import OutgoingMessage
from server.domain.access import ADMINISTRATOR
from server.domain.errors import BadRequestError, ChannelDoesNotExistError
from storage import realms

pytestmark = pytest.mark.asyncio


async def posts(hall, row, name):
    """Whether they may; raises what hides the channel from them."""
    actor = hall.actor(row)
    draft = OutgoingMessage(type="channel", to=name, topic="t", content="x")
    try:
        await hall.stage.run(send.send_message, actor, draft, None, hall.stage.clock.now())
    except BadRequestError:
        return False
    return True


async def test_people_post_where_they_read(hall):
    await hall.make.channel("public", subscribers=[hall.guest])
    await hall.make.channel("secret", invite_only=True, subscribers=[hall.member])
    await hall.make.channel("plaza", is_web_public=True)
    await hall.make.channel("old", is_archived=True, subscribers=[hall.member])

    assert await posts(hall, hall.member, "public")
    assert await posts(hall, hall.guest, "public")
    assert await posts(hall, hall.guest, "plaza")
    assert await posts(hall, hall.member, "secret")
    # An administrator knows of a private channel, and no more.
    assert not await posts(hall, hall.admin, "secret")
    assert not await posts(hall, hall.member, "old")
    for row, name in ((hall.other, "secret"), (hall.guest, "nothing")):
        with pytest.raises(ChannelDoesNotExistError):
            await posts(hall, row, name)


async def test_announcements_are_for_those_whom_the_channel_names(hall, make):
    administrators = (await make.role_groups())["role:administrators"]
    await make.channel("news", can_send_message_group=administrators, subscribers=[hall.member])

    assert await posts(hall, hall.admin, "news")
    assert not await posts(hall, hall.member, "news")


async def test_a_group_that_opens_a_private_channel_lets_post_where_history_is_shared(hall):
    for name, shares in (("shared", True), ("protected", False)):
        await hall.make.channel(
            name, invite_only=True, shares_history=shares, can_subscribe_group=[hall.other]
        )

    assert await posts(hall, hall.other, "shared")
    assert not await posts(hall, hall.other, "protected")


async def test_a_bot_posts_where_it_or_its_owner_may(hall, make):
    bot = await make.user(bot_type=1, bot_owner=hall.member)
    strange = await make.user(bot_type=1, bot_owner=hall.other, role=ADMINISTRATOR)
    administrators = (await make.role_groups())["role:administrators"]
    await make.channel("secret", invite_only=True, subscribers=[hall.member])
    await make.channel("news", can_send_message_group=administrators)

    assert await posts(hall, bot, "secret")
    assert not await posts(hall, strange, "secret")
    assert not await posts(hall, bot, "news")
    assert await posts(hall, strange, "news")


async def test_the_systems_bots_post_everywhere_but_in_the_archive(hall, make):
    bot = await make.notification_bot()
    await make.channel("secret", invite_only=True)
    await make.channel("old", is_archived=True)

    assert await posts(hall, bot, "secret")
    assert not await posts(hall, bot, "old")


async def writes(hall, row, *others):
    """Whether they may send a direct message; raises nothing else than a refusal's text."""
    to = [other.user_id for other in others]
    draft = OutgoingMessage(type="direct", to=to, topic=None, content="x")
    now = hall.stage.clock.now()
    try:
        await hall.stage.run(send.send_message, hall.actor(row), draft, None, now)
    except BadRequestError as refusal:
        return refusal.message
    return True


async def permit_direct(hall, **groups):
    await hall.make.change_settings(**groups)
    await hall.make.at_position(realms.changed(hall.make.realm_id))
    hall.stage.realm_caches.of(hall.make.realm_id).forget_everything()


async def test_whom_the_organization_names_begins_direct_messages(hall, make):
    administrators = (await make.role_groups())["role:administrators"]
    bot = await make.user(bot_type=1, bot_owner=hall.member)
    await permit_direct(hall, direct_message_initiator_group=administrators)
    refusal = "You do not have permission to initiate direct message conversations."

    assert await writes(hall, hall.member, hall.admin) == refusal
    assert await writes(hall, hall.member, hall.member) is True
    assert await writes(hall, hall.member, bot) is True
    assert await writes(hall, bot, hall.other) is True
    assert await writes(hall, hall.admin, hall.member) is True
    assert await writes(hall, hall.member, hall.admin) is True
    assert await writes(hall, hall.member, hall.admin, hall.other) == refusal
    assert await writes(hall, hall.admin, hall.member, hall.other) is True
    assert await writes(hall, hall.other, hall.admin, hall.member) is True


async def test_who_authorizes_direct_messages_does_not_concern_bots(hall, make):
    nobody = (await make.role_groups())["role:nobody"]
    bot = await make.user(bot_type=1, bot_owner=hall.member)
    await permit_direct(hall, direct_message_permission_group=nobody)

    assert await writes(hall, hall.member, hall.other) is not True
    assert await writes(hall, bot, hall.other) is True
