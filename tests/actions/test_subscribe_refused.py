"""Subscribing that is refused leaves nothing behind."""

import pytest

from server.actions.channels.create import ChannelSpec
from server.actions.subscriptions.subscribe import SubscriptionRequest, subscribe
from server.domain.access import GroupSetting
from server.domain.channel_creation import CreationNotPermittedError
from server.domain.errors import BadRequestError, UserDeactivatedError
from storage.ids import GroupId, UserId

pytestmark = pytest.mark.asyncio


async def refused(hall, *args, error=BadRequestError, **kwargs):
    position = await hall.make.position()
    with pytest.raises(error) as raised:
        await hall.subscribe(*args, **kwargs)
    assert await hall.make.position() == position
    assert await hall.make.connection.value("SELECT count(*) FROM stepped_work") == 0
    return raised.value


async def test_an_unknown_or_deactivated_principal_stops_everything(hall):
    gone = await hall.make.user(is_active=False)
    await hall.make.channel("plans")

    for people in ([hall.other, gone], [gone]):
        error = await refused(hall, hall.member, "plans", "new", people=people, fatal=False)
        assert "deactivated" in error.message
    request = SubscriptionRequest(
        wanted=[ChannelSpec("plans")], principals=[hall.other.user_id, 10**9]
    )
    with pytest.raises(BadRequestError, match="No such user"):
        await hall.stage.run(subscribe, hall.actor(hall.member), request, web_public_enabled=False)
    request = SubscriptionRequest(wanted=[ChannelSpec("plans")], principals=["nobody@example.com"])
    with pytest.raises(BadRequestError, match="No such user"):
        await hall.stage.run(subscribe, hall.actor(hall.member), request, web_public_enabled=False)
    assert hall.stage.happened == []


async def test_a_deactivated_user_subscribes_no_one(hall):
    actor = await hall.make.user(is_active=False)

    await refused(hall, actor, "plans", error=UserDeactivatedError)


async def test_an_archived_channel_gets_no_subscribers(hall):
    await hall.make.channel("old", is_archived=True, subscribers=[hall.member])
    await hall.make.channel("plans")

    for actor in (hall.owner, hall.member, hall.other):
        error = await refused(hall, actor, "OLD", "plans")
        assert error.message == "Unable to access channel (OLD)."
        await refused(hall, actor, "old", people=[hall.other])
    done = await hall.subscribe(hall.other, "old", "plans", fatal=False)
    assert (done.unauthorized, done.created) == (["old"], [])
    assert done.subscribed == {hall.other.user_id: ["plans"]}


async def test_a_private_channel_is_closed_to_others(hall):
    await hall.make.channel("secret", invite_only=True, subscribers=[hall.member])
    await hall.make.channel("plans")

    for actor in (hall.owner, hall.other, hall.guest):
        error = await refused(hall, actor, "secret")
        said = "Insufficient permission" if actor == hall.guest else "Unable to access channel"
        assert error.message.startswith(said)
        await refused(hall, actor, "secret", people=[hall.other])

    done = await hall.subscribe(hall.other, "SECRET", "plans", fatal=False)
    assert done.unauthorized == ["SECRET"]
    assert done.subscribed == {hall.other.user_id: ["plans"]}


async def test_guests_subscribe_neither_themselves_nor_others(hall):
    await hall.make.channel("plans", subscribers=[hall.guest])
    await hall.make.channel("open")

    await refused(hall, hall.guest, "open", error=CreationNotPermittedError)
    await refused(hall, hall.guest, "plans", people=[hall.other])
    await refused(hall, hall.guest, "new", error=CreationNotPermittedError)
    done = await hall.subscribe(hall.guest, "plans", "open", "new", fatal=False)
    assert sorted(done.unauthorized) == ["new", "open"]
    assert done.already_subscribed == {hall.guest.user_id: ["plans"]}


async def test_only_the_realms_group_and_the_channels_add_others(hall, make):
    nobody = (await make.role_groups())["role:nobody"]
    await make.connection.execute(
        "UPDATE realms SET settings = jsonb_build_object('can_add_subscribers_group', %(id)s::int)",
        id=nobody,
    )
    await make.channel("plans")
    await make.channel("ours", can_add_subscribers_group=[hall.member])
    await make.channel("mine", creator=hall.member)

    await refused(hall, hall.member, "plans", people=[hall.other])
    for name in ("ours", "mine"):
        done = await hall.subscribe(hall.member, name, people=[hall.other])
        assert done.subscribed == {hall.other.user_id: [name]}
    done = await hall.subscribe(hall.admin, "plans", people=[hall.other])
    assert done.subscribed == {hall.other.user_id: ["plans"]}


@pytest.mark.parametrize(
    "terms",
    [
        {"is_default": True},
        {"message_retention_days": 7},
        {"is_web_public": True},
        {"permissions": "can_delete_own_message_group"},
        {"permissions": "can_delete_any_message_group"},
    ],
)
async def test_some_terms_are_not_for_members(hall, make, terms):
    await make.connection.execute(
        "UPDATE realms SET settings = '{\"enable_spectator_access\": true}'"
    )
    if "permissions" in terms:
        setting = GroupSetting(direct_members=(hall.member.user_id,))
        terms = {"permissions": {terms["permissions"]: setting}}

    await refused(
        hall,
        hall.member,
        "new",
        error=CreationNotPermittedError,
        web_public_enabled=True,
        **terms,
    )
    done = await hall.subscribe(hall.member, "new", fatal=False, web_public_enabled=True, **terms)
    assert done.unauthorized == ["new"]


async def test_how_long_messages_are_kept_is_for_owners(hall):
    for days in (7, "unlimited"):
        with pytest.raises(CreationNotPermittedError, match="Must be an organization owner"):
            await hall.subscribe(hall.admin, "new", message_retention_days=days)
    await hall.subscribe(hall.admin, "usual", message_retention_days="realm_default")
    done = await hall.subscribe(hall.owner, "new", message_retention_days=7)
    assert [channel.message_retention_days for channel in done.created] == [7]


@pytest.mark.parametrize(
    "terms",
    [
        {"is_web_public": True},
        {"is_default": True, "invite_only": True},
        {"message_retention_days": "forever"},
        {"message_retention_days": 0},
        {"folder_id": 1},
        {"permissions": {"can_subscribe_group": GroupSetting(group_id=GroupId(10**9))}},
        {"permissions": {"can_subscribe_group": GroupSetting(direct_members=(UserId(10**9),))}},
    ],
)
async def test_some_terms_cannot_be(hall, terms):
    await refused(hall, hall.owner, "new", fatal=False, **terms)


async def test_web_public_needs_server_and_organization(hall, make):
    await refused(hall, hall.owner, "plaza", is_web_public=True, web_public_enabled=True)
    await make.connection.execute(
        "UPDATE realms SET settings = '{\"enable_spectator_access\": true}'"
    )
    await refused(hall, hall.owner, "plaza", is_web_public=True, web_public_enabled=False)
    await refused(
        hall, hall.owner, "x", is_web_public=True, invite_only=True, web_public_enabled=True
    )


async def test_a_deactivated_group_opens_nothing(hall):
    group = await hall.make.group(members=[hall.other], deactivated=True)
    await hall.make.channel("secret", invite_only=True, can_subscribe_group=group)

    await refused(hall, hall.other, "secret")
    await refused(
        hall,
        hall.member,
        "new",
        permissions={"can_subscribe_group": GroupSetting(group_id=group)},
    )


async def test_a_long_description_is_refused_for_a_new_channel(hall):
    await refused(hall, hall.member, "new", description="x" * 1025)
