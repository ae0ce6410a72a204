"""The permission engine: role groups, nesting, cycles, deactivated groups, full members."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import pytest

from server.domain.access import (
    ADMINISTRATOR,
    GUEST,
    MEMBER,
    MODERATOR,
    OWNER,
    SYSTEM_GROUP_NESTING,
    SYSTEM_GROUPS,
    GroupGraph,
    GroupSetting,
    Person,
)
from storage.ids import GroupId, UserId
from testkit.clock import StoppedClock

CLOCK = StoppedClock()
LONG_AGO = CLOCK.now() - timedelta(days=1000)
IDS = {name: GroupId(number) for number, name in enumerate(SYSTEM_GROUPS, start=1)}
COOKS, BAKERS, GUESTBOOK = GroupId(21), GroupId(22), GroupId(23)


def person(role=MEMBER, user_id=7, joined=LONG_AGO):
    return Person(UserId(user_id), role, joined)


def graph(
    *,
    members: Mapping[GroupId, set[int]] | None = None,
    subgroups: Mapping[GroupId, tuple[GroupId, ...]] | None = None,
    deactivated: set[GroupId] | None = None,
    waiting_days: int = 0,
    clock: StoppedClock = CLOCK,
) -> GroupGraph:
    nesting = {IDS[name]: (IDS[inner],) for name, inner in SYSTEM_GROUP_NESTING.items()}
    return GroupGraph(
        ids_by_name=IDS,
        system_names={group_id: name for name, group_id in IDS.items()},
        members={
            group_id: frozenset(map(UserId, ids)) for group_id, ids in (members or {}).items()
        },
        subgroups=nesting | dict(subgroups or {}),
        deactivated=frozenset(deactivated or ()),
        permissions={},
        waiting_period=timedelta(days=waiting_days),
        clock=clock,
    )


def test_who_is_gone_is_named_by_nothing():
    setting = GroupSetting(direct_members=(UserId(7), UserId(8)), direct_subgroups=(COOKS,))
    everyone = graph()
    assert everyone.as_it_stands(setting) is setting
    left = replace(everyone, gone=frozenset({UserId(7)})).as_it_stands(setting)
    assert left == GroupSetting(direct_members=(UserId(8),), direct_subgroups=(COOKS,))


def group(name_or_id):
    return GroupSetting(group_id=IDS.get(name_or_id, name_or_id))


@pytest.mark.parametrize(
    ("name", "admitted"),
    [
        ("role:nobody", []),
        ("role:owners", [OWNER]),
        ("role:administrators", [OWNER, ADMINISTRATOR]),
        ("role:moderators", [OWNER, ADMINISTRATOR, MODERATOR]),
        ("role:fullmembers", [OWNER, ADMINISTRATOR, MODERATOR, MEMBER]),
        ("role:members", [OWNER, ADMINISTRATOR, MODERATOR, MEMBER]),
        ("role:everyone", [OWNER, ADMINISTRATOR, MODERATOR, MEMBER, GUEST]),
        ("role:internet", [OWNER, ADMINISTRATOR, MODERATOR, MEMBER, GUEST]),
    ],
)
def test_a_role_group_admits_its_role_and_those_above(name, admitted):
    everyone = [OWNER, ADMINISTRATOR, MODERATOR, MEMBER, GUEST]

    assert [r for r in everyone if graph().contains(group(name), person(r))] == admitted


def test_a_member_becomes_full_when_the_waiting_period_is_over():
    clock = StoppedClock()
    realm = graph(waiting_days=3, clock=clock)
    newcomer = person(joined=clock.now())
    assert not realm.contains(group("role:fullmembers"), newcomer)
    assert realm.contains(group("role:members"), newcomer)

    clock.advance(timedelta(days=3))

    assert realm.contains(group("role:fullmembers"), newcomer)


@pytest.mark.parametrize("role", [OWNER, ADMINISTRATOR, MODERATOR])
def test_who_has_authority_waits_for_nothing(role):
    realm = graph(waiting_days=3)

    assert realm.contains(group("role:fullmembers"), person(role, joined=CLOCK.now()))


def test_a_guest_never_becomes_full():
    assert not person(GUEST).is_full(timedelta(0), CLOCK.now())


def test_only_the_members_of_a_group_are_admitted():
    realm = graph(members={COOKS: {7}})

    assert realm.contains(group(COOKS), person(user_id=7))
    assert not realm.contains(group(COOKS), person(OWNER, user_id=8))


def test_groups_within_groups_admit_their_members():
    realm = graph(members={GUESTBOOK: {7}}, subgroups={COOKS: (BAKERS,), BAKERS: (GUESTBOOK,)})

    assert realm.contains(group(COOKS), person(user_id=7))
    assert not realm.contains(group(COOKS), person(user_id=8))


def test_a_role_group_within_a_group_admits_by_role():
    realm = graph(subgroups={COOKS: (IDS["role:moderators"],)})

    assert realm.contains(group(COOKS), person(ADMINISTRATOR))
    assert not realm.contains(group(COOKS), person(MEMBER))


def test_groups_that_contain_each_other_are_searched_once():
    realm = graph(members={BAKERS: {7}}, subgroups={COOKS: (BAKERS,), BAKERS: (COOKS, BAKERS)})

    assert realm.contains(group(COOKS), person(user_id=7))
    assert not realm.contains(group(COOKS), person(user_id=8))


def test_a_deactivated_group_admits_no_user():
    realm = graph(members={COOKS: {7}}, deactivated={COOKS})

    assert not realm.contains(group(COOKS), person(user_id=7))


def test_what_is_only_within_a_deactivated_group_is_not_reached():
    realm = graph(
        members={GUESTBOOK: {7}},
        subgroups={COOKS: (BAKERS,), BAKERS: (GUESTBOOK,)},
        deactivated={BAKERS},
    )

    assert not realm.contains(group(COOKS), person(user_id=7))


def test_an_unknown_group_admits_no_user():
    assert not graph().contains(group(GroupId(999)), person())


def test_a_direct_setting_admits_those_it_names_and_the_members_of_its_groups():
    realm = graph(members={COOKS: {8}})
    setting = GroupSetting.parse({"direct_members": [7], "direct_subgroups": [COOKS]})

    admitted = [n for n in (7, 8, 9) if realm.contains(setting, person(user_id=n))]

    assert admitted == [7, 8]


def test_a_setting_goes_through_json_unchanged():
    for value in (21, {"direct_members": [3, 7], "direct_subgroups": [22]}):
        assert GroupSetting.parse(value).as_json() == value


def test_a_member_is_a_direct_member_of_two_role_groups_once_full():
    joined = CLOCK.now() - timedelta(days=2)

    def groups_of(role, waiting_days):
        return person(role, joined=joined).role_groups(timedelta(days=waiting_days), CLOCK.now())

    assert groups_of(MEMBER, 3) == ("role:members",)
    assert groups_of(MEMBER, 2) == ("role:members", "role:fullmembers")
    assert groups_of(MODERATOR, 3) == ("role:moderators",)
    assert groups_of(GUEST, 0) == ("role:everyone",)


def test_what_is_within_a_group_and_around_it():
    nested = graph(
        subgroups={COOKS: (BAKERS,), BAKERS: (GUESTBOOK, IDS["role:administrators"])},
        deactivated={GUESTBOOK},
    )

    assert nested.within(COOKS) == {BAKERS, IDS["role:administrators"], IDS["role:owners"]}
    assert nested.around(GUESTBOOK) == {GUESTBOOK, BAKERS, COOKS}
    assert nested.around(COOKS) == {COOKS}


def test_a_circle_is_walked_once():
    circle = graph(subgroups={COOKS: (BAKERS,), BAKERS: (COOKS,)})

    assert circle.within(COOKS) == circle.around(COOKS) == {COOKS, BAKERS}


def test_who_is_named_twice_is_named_once():
    setting = GroupSetting.parse({"direct_members": [8, 7, 7], "direct_subgroups": [22, 21, 22]})

    assert setting.as_json() == {"direct_members": [7, 8], "direct_subgroups": [21, 22]}
