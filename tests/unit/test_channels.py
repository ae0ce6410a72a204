"""The rules of channels, without a database."""

import unicodedata
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from server.domain.access import (
    ADMINISTRATOR,
    GUEST,
    MEMBER,
    MODERATOR,
    OWNER,
    SYSTEM_GROUPS,
    GroupGraph,
    GroupSetting,
    Person,
)
from server.domain.channel_creation import (
    ChannelTerms,
    CreationNotPermittedError,
    check_creator,
    check_terms,
    checked_permission,
    default_permissions,
    retention_days,
)
from server.domain.channels import (
    COLORS,
    Standing,
    allows_empty_topic,
    allows_named_topics,
    clean_description,
    clean_name,
    first_free_color,
    post_policy,
    setting_of,
    weekly_traffic,
)
from server.domain.errors import BadRequestError
from server.domain.realm_settings import RealmSettings
from storage.channels import ChannelRow
from storage.ids import ChannelId, GroupId, Position, UserId
from testkit.clock import StoppedClock

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
IDS = {name: GroupId(number) for number, name in enumerate(SYSTEM_GROUPS, start=1)}
FRIENDS, CLOSED = GroupId(50), GroupId(51)
GRAPH = GroupGraph(
    ids_by_name={**IDS, "friends": FRIENDS, "closed": CLOSED},
    system_names={group_id: name for name, group_id in IDS.items()},
    members={
        **dict.fromkeys(IDS.values(), frozenset()),
        FRIENDS: frozenset({UserId(7), UserId(9)}),
        CLOSED: frozenset({UserId(7)}),
    },
    subgroups={},
    deactivated=frozenset({CLOSED}),
    permissions={},
    waiting_period=timedelta(days=0),
    clock=StoppedClock(NOW),
)
PUBLIC = ChannelRow(
    channel_id=ChannelId(1),
    name="plans",
    description="",
    rendered_description="",
    creator_id=UserId(3),
    created_at=NOW,
    invite_only=False,
    is_web_public=False,
    history_public_to_subscribers=True,
    is_archived=False,
    is_default=False,
    topics_policy="inherit",
    folder_id=None,
    message_retention_days=None,
    permissions={
        name: value.as_json() for name, value in default_permissions(IDS, UserId(3)).items()
    },
    subscriber_count=0,
    changed_at=Position(0),
)
PRIVATE = replace(PUBLIC, invite_only=True, history_public_to_subscribers=False)
SHARED = replace(PRIVATE, history_public_to_subscribers=True)
OPEN = replace(PUBLIC, is_web_public=True)
CREATOR, FRIEND, GUEST_FRIEND = 3, 7, 9


def standing(role=MEMBER, user_id=1, **settings):
    person = Person(UserId(user_id), role, NOW)
    return Standing(person, GRAPH, RealmSettings(**settings))


def opened(channel, *, to=FRIENDS, setting="can_subscribe_group"):
    return replace(channel, permissions={**channel.permissions, setting: to})


# -- names and descriptions


def test_a_name_is_composed_and_has_no_blanks_around_it():
    assert clean_name(unicodedata.normalize("NFD", "  Général ")) == "Général"


@pytest.mark.parametrize("length", [60, 61])
def test_a_name_is_counted_in_code_points(length):
    name = "😀" * length
    if length <= 60:
        assert clean_name(name) == name
    else:
        with pytest.raises(BadRequestError, match="too long"):
            clean_name(name)


@pytest.mark.parametrize("name", ["", "   ", "\u2003"])
def test_a_name_is_not_empty(name):
    with pytest.raises(BadRequestError, match="empty"):
        clean_name(name)


@pytest.mark.parametrize("bad", ["\x00", "\n", "\x7f", "\u2028", "\ufffe", "\ufdd0", "\U0001ffff"])
def test_a_name_has_no_characters_that_cannot_be_seen(bad):
    with pytest.raises(BadRequestError, match="at position 2"):
        clean_name(f"a{bad}b")


def test_a_description_is_one_paragraph():
    assert clean_description(" two\r\nlines\x00 ") == "two lines"
    assert len(clean_description("x" * 1024)) == 1024
    with pytest.raises(BadRequestError):
        clean_description("x" * 1025)


def test_colors_repeat_only_when_all_are_used():
    used: set[str] = set()
    for _ in COLORS:
        color = first_free_color(7, used)
        assert color not in used
        used.add(color)
    assert first_free_color(7, used) == COLORS[7]


# -- who sees, reads, joins


SUBSCRIBED = {"subscribed": True}
NOT = {"subscribed": False}


@pytest.mark.parametrize(
    ("channel", "role", "sees", "reads"),
    [
        (PUBLIC, MEMBER, True, True),
        (PUBLIC, GUEST, False, False),
        (OPEN, GUEST, True, True),
        (PRIVATE, MEMBER, False, False),
        (PRIVATE, MODERATOR, False, False),
        (PRIVATE, ADMINISTRATOR, True, False),
        (PRIVATE, OWNER, True, False),
        (PRIVATE, GUEST, False, False),
    ],
)
def test_who_sees_and_who_reads_without_being_subscribed(channel, role, sees, reads):
    assert standing(role).sees(channel, subscribed=False) == sees
    assert standing(role).reads(channel, subscribed=False) == reads
    assert standing(role).sees(channel, subscribed=True)
    assert standing(role).reads(channel, subscribed=True)


@pytest.mark.parametrize("setting", ["can_subscribe_group", "can_add_subscribers_group"])
def test_some_settings_open_private_channels(setting):
    channel = opened(PRIVATE, setting=setting)

    assert standing(user_id=FRIEND).reads(channel, subscribed=False)
    assert not standing(user_id=1).sees(channel, subscribed=False)
    # Being named in a setting that is not for guests does not help a guest.
    assert not standing(GUEST, GUEST_FRIEND).sees(channel, subscribed=False)


def test_who_administers_a_private_channel_sees_it_and_no_more():
    channel = opened(PRIVATE, setting="can_administer_channel_group")

    assert standing(user_id=FRIEND).sees(channel, subscribed=False)
    assert not standing(user_id=FRIEND).reads(channel, subscribed=False)
    assert standing(user_id=FRIEND).administers(channel)
    assert not standing(GUEST, GUEST_FRIEND).administers(channel)


def test_a_deactivated_group_opens_nothing():
    assert not standing(user_id=FRIEND).sees(opened(PRIVATE, to=CLOSED), subscribed=False)


def test_history_is_for_subscribers_only_where_it_is_shared():
    assert standing().reads_history(PUBLIC, subscribed=False)
    assert not standing().reads_history(PRIVATE, subscribed=True)
    assert standing().reads_history(SHARED, subscribed=True)
    assert not standing().reads_history(SHARED, subscribed=False)
    assert standing(user_id=FRIEND).reads_history(opened(SHARED), subscribed=False)


def test_who_posts():
    announcements = opened(PUBLIC, to=IDS["role:administrators"], setting="can_send_message_group")
    assert standing().posts(PUBLIC, subscribed=False)
    assert not standing(GUEST).posts(PUBLIC, subscribed=False)
    assert standing(GUEST).posts(PUBLIC, subscribed=True)
    assert standing(GUEST).posts(OPEN, subscribed=False)
    assert not standing().posts(announcements, subscribed=True)
    assert standing(ADMINISTRATOR).posts(announcements, subscribed=False)
    assert not standing(OWNER).posts(PRIVATE, subscribed=False)
    assert standing(user_id=FRIEND).posts(opened(SHARED), subscribed=False)
    assert not standing(user_id=FRIEND).posts(opened(PRIVATE), subscribed=False)
    assert not standing(OWNER).posts(replace(PUBLIC, is_archived=True), subscribed=True)


# -- who adds and removes others


def test_members_of_the_realms_group_add_to_what_they_read():
    assert standing().adds_others(PUBLIC, subscribed=False)
    assert standing().adds_others(PRIVATE, subscribed=True)
    assert not standing().adds_others(PRIVATE, subscribed=False)
    assert not standing(GUEST).adds_others(PUBLIC, subscribed=True)


def test_where_the_realm_permits_no_user_the_channel_may():
    no_users = {"can_add_subscribers_group": "role:nobody"}

    assert not standing(**no_users).adds_others(PUBLIC, subscribed=True)
    assert standing(ADMINISTRATOR, **no_users).adds_others(PUBLIC, subscribed=False)
    assert not standing(ADMINISTRATOR, **no_users).adds_others(PRIVATE, subscribed=False)
    assert standing(user_id=CREATOR, **no_users).adds_others(PUBLIC, subscribed=False)
    for_friends = opened(PRIVATE, setting="can_add_subscribers_group")
    assert standing(user_id=FRIEND, **no_users).adds_others(for_friends, subscribed=False)


def test_who_removes_others():
    for_friends = opened(PRIVATE, setting="can_remove_subscribers_group")

    assert not standing().removes_others(PUBLIC, subscribed=True)
    assert standing(ADMINISTRATOR).removes_others(PRIVATE, subscribed=False)
    assert standing(user_id=CREATOR).removes_others(PRIVATE, subscribed=False)
    assert standing(user_id=FRIEND).removes_others(for_friends, subscribed=True)
    assert not standing(user_id=FRIEND).removes_others(for_friends, subscribed=False)


# -- settings


def test_a_setting_that_a_channel_lacks_has_its_default():
    bare = replace(PUBLIC, permissions={})

    assert setting_of(bare, "can_send_message_group", GRAPH).group_id == IDS["role:everyone"]
    assert setting_of(bare, "can_administer_channel_group", GRAPH).direct_members == (3,)
    ownerless = replace(bare, creator_id=None)
    assert setting_of(ownerless, "can_administer_channel_group", GRAPH).direct_members == ()


@pytest.mark.parametrize(
    ("group", "policy"),
    [
        ("role:everyone", 1),
        ("role:administrators", 2),
        ("role:fullmembers", 3),
        ("role:moderators", 4),
        ("role:owners", 1),
    ],
)
def test_clients_of_old_are_told_who_posts(group, policy):
    channel = opened(PUBLIC, to=IDS[group], setting="can_send_message_group")
    assert post_policy(channel, GRAPH) == policy


@pytest.mark.parametrize(
    ("policy", "realm", "empty", "named"),
    [
        ("inherit", "allow_empty_topic", True, True),
        ("inherit", "disable_empty_topic", False, True),
        ("allow_empty_topic", "disable_empty_topic", True, True),
        ("disable_empty_topic", "allow_empty_topic", False, True),
        ("empty_topic_only", "disable_empty_topic", True, False),
    ],
)
def test_which_topics_a_channel_allows(policy, realm, empty, named):
    channel = replace(PUBLIC, topics_policy=policy)
    assert allows_empty_topic(channel, RealmSettings(topics_policy=realm)) == empty
    assert allows_named_topics(channel) == named


# -- new channels


@pytest.mark.parametrize(
    ("value", "kept"),
    [(None, None), ("realm_default", None), ("unlimited", -1), (1, 1), (2**31 - 1, 2**31 - 1)],
)
def test_how_long_messages_are_kept(value, kept):
    assert retention_days(value) == kept


@pytest.mark.parametrize("value", ["forever", "", "7", 0, -1, 2**31])
def test_how_long_messages_are_not_kept(value):
    with pytest.raises(BadRequestError):
        retention_days(value)


def test_public_channels_share_their_history():
    assert ChannelTerms(history_public_to_subscribers=False).shares_history
    assert not ChannelTerms(invite_only=True).shares_history
    assert ChannelTerms(invite_only=True, history_public_to_subscribers=True).shares_history


def test_web_public_needs_three_things():
    terms = ChannelTerms(is_web_public=True)
    check_terms(terms, web_public_enabled=True, spectators=True)
    for enabled, spectators in ((False, True), (True, False)):
        with pytest.raises(BadRequestError):
            check_terms(terms, web_public_enabled=enabled, spectators=spectators)
    check_creator(standing(OWNER), terms)
    with pytest.raises(CreationNotPermittedError):
        check_creator(standing(ADMINISTRATOR), terms)


def test_each_kind_of_channel_has_its_permission():
    no_users = {"can_create_private_channel_group": "role:nobody"}
    check_creator(standing(**no_users), ChannelTerms())
    with pytest.raises(CreationNotPermittedError):
        check_creator(standing(OWNER, **no_users), ChannelTerms(invite_only=True))
    no_users = {"can_create_public_channel_group": "role:nobody"}
    check_creator(standing(**no_users), ChannelTerms(invite_only=True))
    with pytest.raises(CreationNotPermittedError):
        check_creator(standing(OWNER, **no_users), ChannelTerms())


def test_the_topics_policy_has_its_permission():
    no_users = {"can_set_topics_policy_group": "role:nobody"}
    check_creator(standing(**no_users), ChannelTerms())
    with pytest.raises(CreationNotPermittedError):
        check_creator(standing(**no_users), ChannelTerms(topics_policy="empty_topic_only"))


def test_who_deletes_is_for_moderators_to_say():
    friends = GroupSetting(group_id=FRIENDS)
    no_users = GroupSetting(group_id=IDS["role:nobody"])
    for name in ("can_delete_any_message_group", "can_delete_own_message_group"):
        check_creator(standing(MODERATOR), ChannelTerms(permissions={name: friends}))
        check_creator(standing(), ChannelTerms(permissions={name: no_users}))
        with pytest.raises(CreationNotPermittedError):
            check_creator(standing(), ChannelTerms(permissions={name: friends}))


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (GroupSetting(group_id=FRIENDS), GroupSetting(group_id=FRIENDS)),
        (GroupSetting(direct_subgroups=(FRIENDS,)), GroupSetting(group_id=FRIENDS)),
        (GroupSetting(), GroupSetting(group_id=IDS["role:nobody"])),
        (
            GroupSetting(direct_members=(UserId(1),), direct_subgroups=(FRIENDS,)),
            GroupSetting(direct_members=(UserId(1),), direct_subgroups=(FRIENDS,)),
        ),
    ],
)
def test_a_permission_is_kept_in_its_shortest_form(given, kept):
    assert checked_permission("can_subscribe_group", given, GRAPH, {UserId(1)}) == kept


@pytest.mark.parametrize(
    "value",
    [
        GroupSetting(group_id=GroupId(999)),
        GroupSetting(group_id=CLOSED),
        GroupSetting(direct_subgroups=(FRIENDS, CLOSED)),
        GroupSetting(direct_members=(UserId(2),)),
        GroupSetting(group_id=IDS["role:everyone"]),
        GroupSetting(group_id=IDS["role:internet"]),
    ],
)
def test_a_permission_names_only_what_is_there_and_may_have_it(value):
    with pytest.raises(BadRequestError):
        checked_permission("can_subscribe_group", value, GRAPH, {UserId(1)})


def test_everyone_may_have_some_permissions():
    everyone = GroupSetting(group_id=IDS["role:everyone"])
    assert checked_permission("can_send_message_group", everyone, GRAPH, set()) == everyone


@pytest.mark.parametrize(
    ("days", "messages", "weekly"),
    [
        (6, 100, None),
        (7, 100, 100),
        (14, 100, 50),
        (28, 100, 25),
        (1000, 100, 25),
        (1000, 1, 0),
        (1000, 2, 0),
        (1000, 3, 1),
        (1000, 0, 0),
    ],
)
def test_traffic_is_told_by_the_week_for_channels_that_are_a_week_old(days, messages, weekly):
    created_at = NOW - timedelta(days=days)
    assert weekly_traffic(messages, created_at=created_at, now=NOW) == weekly
