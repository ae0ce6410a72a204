"""Events of people, bots, groups and the realm, in every form that clients get."""

import json
from dataclasses import replace

import msgspec
import pytest

from server.domain.addresses import RealmAddress
from server.domain.avatars import avatar_of
from server.events import bots, catalogue, groups, realm, users
from server.events.base import ClientView
from storage.groups import GroupRow
from storage.ids import GroupId, Position, RealmId, UserId
from testkit.oracles import contract
from tests.unit.test_access import IDS, graph
from tests.unit.test_profiles import HIDING, user

ADDRESS = RealmAddress("https://chat.example.com")
OWN = RealmAddress("https://chat.example.com", gravatars=False)
BOT = user(8, bot_type=1, bot_owner_id=UserId(7))
GRAPH = graph()
COOKS = GroupRow(
    group_id=GroupId(21),
    name="cooks",
    description="Who cooks",
    is_system_group=False,
    deactivated=False,
    creator_id=UserId(7),
    created_at=user().date_joined,
    permissions={"can_mention_group": {"direct_members": [7], "direct_subgroups": []}},
    member_ids=[UserId(7)],
    subgroup_ids=[],
    changed_at=Position(0),
)


def change(**changes):
    return users.UserChanged(person=users.PersonChange(user_id=UserId(7), **changes))


EVENTS = [
    users.UserAdded(person=users.shown_user(user(), ADDRESS, knows_email=True)),
    users.UserAdded(person=users.shown_user(user(settings=HIDING), ADDRESS, knows_email=False)),
    users.UserAdded(person=users.shown_user(BOT, ADDRESS, knows_email=True)),
    users.InaccessibleUserAdded(person=users.inaccessible_user(user(), ADDRESS)),
    users.UserRemoved(person=users.RemovedPerson(user_id=UserId(7), full_name="Cook")),
    change(full_name="Chef"),
    change(role=200),
    change(is_active=False),
    change(timezone="Asia/Tokyo", email="cook@example.com"),
    change(delivery_email=None),
    change(new_email="chef@example.com"),
    change(bot_owner_id=UserId(9)),
    *(users.AvatarChanged.to(UserId(7), avatar_of(user(), each)) for each in (ADDRESS, OWN)),
    bots.BotAdded.of(bots.shown_bot(BOT)),
    bots.BotChanged(bot=bots.BotChange(user_id=UserId(8), default_all_public_streams=True)),
    bots.BotDeleted(bot=bots.DeletedBot(user_id=UserId(8))),
    groups.GroupAdded(group=groups.shown_group(COOKS, GRAPH, [UserId(7)])),
    groups.GroupChanged(group_id=GroupId(21), data={"name": "chefs", "deactivated": False}),
    groups.GroupChanged(group_id=GroupId(21), data={"deactivated": True}),
    groups.GroupChanged(
        group_id=GroupId(21),
        data={"deactivated": False},
        group=groups.shown_group(COOKS, GRAPH, []),
    ),
    groups.MembersAdded(group_id=GroupId(21), user_ids=(UserId(7),)),
    groups.MembersRemoved(group_id=GroupId(21), user_ids=(UserId(7),)),
    groups.SubgroupsAdded(group_id=GroupId(21), direct_subgroup_ids=(GroupId(22),)),
    groups.SubgroupsRemoved(group_id=GroupId(21), direct_subgroup_ids=(GroupId(22),)),
    realm.RealmSettingChanged(property="invite_required", value=False),
    realm.RealmSettingsChanged(data={"can_create_groups": 3, "mandatory_topics": True}),
    realm.RealmDeactivated(realm_id=RealmId(1)),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.kind)
@pytest.mark.parametrize("client_gravatar", [True, False])
def test_what_clients_get_is_what_the_contract_says(event, client_gravatar):
    view = ClientView(client_gravatar=client_gravatar)

    for wire in event.wire(Position(5), view):
        body = json.loads(msgspec.json.encode(wire))
        assert body["type"] == event.wire_type
        contract.validate_event(body | {"id": 5})


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.kind)
def test_the_log_gives_back_what_it_was_given(event):
    assert catalogue.decode(event.kind, msgspec.json.encode(event)) == event


def test_a_client_with_an_incomplete_list_hears_nothing_of_whom_it_may_not_know():
    event = users.InaccessibleUserAdded(person=users.inaccessible_user(user(), ADDRESS))

    assert event.wire(Position(5), ClientView(user_list_incomplete=True)) == ()
    assert len(event.wire(Position(5), ClientView())) == 1


def test_a_group_says_who_may_do_what_with_it():
    shown = groups.shown_group(COOKS, GRAPH, [])

    assert shown.can_manage_group == {"direct_members": [7], "direct_subgroups": []}
    assert shown.can_leave_group == IDS["role:everyone"]
    assert shown.can_join_group == IDS["role:nobody"]
    assert shown.can_mention_group == {"direct_members": [7], "direct_subgroups": []}


def test_a_role_group_cannot_be_changed_or_mentioned():
    system = replace(COOKS, is_system_group=True, creator_id=None, permissions={})
    shown = groups.shown_group(system, GRAPH, [])

    nobody = IDS["role:nobody"]
    assert shown.can_manage_group == shown.can_mention_group == shown.can_join_group == nobody


def test_changed_users_are_read_again():
    for event in EVENTS:
        touched = event.touches()
        if event.wire_type == "user_group":
            assert touched == (("groups",),)
        if event.kind in ("realm_user/add", "realm_user/update"):
            assert touched[0] == ("user", event.person.user_id)
