"""What a channel's own topic says of changes to the channel."""

import pytest

from server.actions import stepped_work
from server.actions.access.deferred import ACCESS_CHANGE
from server.domain.access import EVERYONE_GROUP, OWNERS_GROUP, GroupSetting
from server.domain.group_settings import PermissionChange
from server.domain.groups import DESCRIPTIONS
from tests.actions.test_channels import OPEN, change, let_spectators_look, permit

pytestmark = pytest.mark.asyncio

OWNERS, EVERYONE = DESCRIPTIONS[OWNERS_GROUP], DESCRIPTIONS[EVERYONE_GROUP]


async def told_in(hall, channel, work_id):
    """The notices, once they are sent: topics and texts."""
    await stepped_work.finish(hall.realm_services(), ACCESS_CHANGE, work_id)
    return [
        (topic, content)
        for topic, content in await hall.make.connection.tuples(
            """
            SELECT t.name, m.content FROM messages m
              JOIN topics t ON t.realm_id = m.realm_id AND t.topic_id = m.conversation_id
             WHERE m.realm_id = %(realm_id)s AND m.channel_id = %(channel_id)s ORDER BY m.id
            """,
            realm_id=hall.make.realm_id,
            channel_id=channel.channel_id,
        )
    ]


async def test_the_channel_is_told_what_has_changed(hall):
    await hall.make.notification_bot()
    await let_spectators_look(hall)
    channel = await hall.make.channel("plans", subscribers=[hall.owner], description="Old `words`")
    who = f"@_**Owner|{hall.owner.user_id}** changed this channel:"
    owners = (await hall.make.role_groups())["role:owners"]

    work_id = await change(
        hall,
        channel,
        hall.owner,
        name="goals",
        description="",
        topics_policy="empty_topic_only",
        message_retention_days=1,
        permissions={"can_send_message_group": PermissionChange(GroupSetting(group_id=owners))},
        **OPEN,
    )
    [(topic, content)] = await told_in(hall, channel, work_id)

    link = rf"[\#goals](/#narrow/channel/{channel.channel_id}-goals)"
    assert topic == ""
    assert content.splitlines() == [
        who,
        "",
        f"* Its name is {link} now. It was **plans**.",
        "* It is **open to the web** now. It was **public**.",
        f"* Who may post: **{OWNERS}**. It was: **{EVERYONE}**.",
        "* Topics: **no topics but the empty one**. It was: **as the organization has it**.",
        "* Messages are kept **for a day** now. It was **as long as the organization says**.",
        "* It is described so now: not at all.",
        "* It was described so:",
        "```quote",
        "Old `words`",
        "```",
    ]


async def test_a_closed_channel_is_told_when_it_is_open_again(hall):
    await hall.make.notification_bot()
    channel = await hall.make.channel("plans", is_archived=True)

    assert await change(hall, channel, name="goals") is None
    work_id = await change(hall, channel, is_archived=False)

    [(topic, content)] = await told_in(hall, channel, work_id)
    assert topic == "channel events"
    assert "open again" in content


async def test_people_and_groups_who_may_post_are_told_by_number_and_name(hall):
    await hall.make.notification_bot()
    cooks = await hall.make.group("cooks", members=[hall.other])
    channel = await hall.make.channel("plans")
    setting = GroupSetting(direct_members=(hall.member.user_id,), direct_subgroups=(cooks,))

    work_id = await change(
        hall, channel, permissions={"can_send_message_group": PermissionChange(setting)}
    )

    [(_, content)] = await told_in(hall, channel, work_id)
    assert "**1 person, cooks**" in content


async def test_notices_are_in_the_language_of_the_organization(hall):
    await hall.make.notification_bot()
    await hall.make.change_settings(default_language="de")
    cooks = await hall.make.group("cooks", members=[hall.other])
    owners = (await hall.make.role_groups())["role:owners"]
    channel = await hall.make.channel("plans", description="Alt")
    setting = GroupSetting(
        direct_members=(hall.member.user_id, hall.other.user_id), direct_subgroups=(owners, cooks)
    )

    work_id = await change(
        hall,
        channel,
        hall.owner,
        description="Neu",
        message_retention_days=30,
        permissions={"can_send_message_group": PermissionChange(setting)},
    )

    [(_, content)] = await told_in(hall, channel, work_id)
    assert content.splitlines() == [
        f"@_**Owner|{hall.owner.user_id}** hat diesen Kanal geändert:",
        "",
        (
            "* Wer schreiben darf: **2 Personen, Besitzer dieser Organisation, cooks**."
            " Vorher: **Alle in dieser Organisation, einschließlich der Gäste**."
        ),
        (
            "* Nachrichten werden jetzt **30 Tage lang** aufbewahrt."
            " Vorher: **so lange, wie die Organisation festlegt**."
        ),
        *("* Die Beschreibung ist jetzt:", "```quote", "Neu", "```"),
        *("* Die Beschreibung war:", "```quote", "Alt", "```"),
    ]


async def test_notices_leave_out_what_does_not_concern_readers(hall):
    channel = await hall.make.channel("plans")
    people = permit(can_remove_subscribers_group=[hall.member])

    assert await change(hall, channel, permissions=people) is None
    assert hall.stage.kinds() == ["stream/update"]


async def test_what_a_channel_was_called_is_only_text_in_the_notice(hall):
    await hall.make.notification_bot()
    channel = await hall.make.channel("x @**all**", subscribers=[hall.member, hall.other])
    work_id = await change(hall, channel, name="plans")
    await told_in(hall, channel, work_id)
    [rendered] = await hall.make.connection.values("SELECT rendered_content FROM messages")
    assert "x @**all**" in rendered
    assert "user-mention channel-wildcard" not in rendered
