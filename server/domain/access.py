"""The permission engine: who is in a group, by role or by membership."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, TypedDict

from server.domain.clock import Clock
from storage.ids import GroupId, UserId

OWNER: Final = 100
ADMINISTRATOR: Final = 200
MODERATOR: Final = 300
MEMBER: Final = 400
GUEST: Final = 600
ROLES: Final = (OWNER, ADMINISTRATOR, MODERATOR, MEMBER, GUEST)
ROLE_NAMES: Final = {
    "owner": OWNER,
    "administrator": ADMINISTRATOR,
    "moderator": MODERATOR,
    "member": MEMBER,
    "guest": GUEST,
}

NOBODY_GROUP: Final = "role:nobody"
OWNERS_GROUP: Final = "role:owners"
ADMINISTRATORS_GROUP: Final = "role:administrators"
MODERATORS_GROUP: Final = "role:moderators"
FULL_MEMBERS_GROUP: Final = "role:fullmembers"
MEMBERS_GROUP: Final = "role:members"
EVERYONE_GROUP: Final = "role:everyone"
INTERNET_GROUP: Final = "role:internet"
SYSTEM_GROUPS: Final = (
    NOBODY_GROUP,
    OWNERS_GROUP,
    ADMINISTRATORS_GROUP,
    MODERATORS_GROUP,
    FULL_MEMBERS_GROUP,
    MEMBERS_GROUP,
    EVERYONE_GROUP,
    INTERNET_GROUP,
)
"""Role groups, in the order in which a realm gets them."""
ROLE_GROUPS: Final = {
    OWNER: OWNERS_GROUP,
    ADMINISTRATOR: ADMINISTRATORS_GROUP,
    MODERATOR: MODERATORS_GROUP,
    MEMBER: MEMBERS_GROUP,
    GUEST: EVERYONE_GROUP,
}
"""The role group of each role's direct members."""
SYSTEM_GROUP_NESTING: Final = {
    ADMINISTRATORS_GROUP: OWNERS_GROUP,
    MODERATORS_GROUP: ADMINISTRATORS_GROUP,
    FULL_MEMBERS_GROUP: MODERATORS_GROUP,
    MEMBERS_GROUP: FULL_MEMBERS_GROUP,
    EVERYONE_GROUP: MEMBERS_GROUP,
    INTERNET_GROUP: EVERYONE_GROUP,
}
"""The role group that is nested directly in each role group."""

# The lowest authority (the largest number) that each role group admits.
_LEAST_ROLE: Final = {
    OWNERS_GROUP: OWNER,
    ADMINISTRATORS_GROUP: ADMINISTRATOR,
    MODERATORS_GROUP: MODERATOR,
    FULL_MEMBERS_GROUP: MEMBER,
    MEMBERS_GROUP: MEMBER,
    EVERYONE_GROUP: GUEST,
    INTERNET_GROUP: GUEST,
}


@dataclass(frozen=True, slots=True)
class Person:
    """The fields of a user that the permission engine needs."""

    user_id: UserId
    role: int
    date_joined: datetime
    is_bot: bool = False

    @property
    def is_guest(self) -> bool:
        return self.role == GUEST

    @property
    def is_owner(self) -> bool:
        return self.role == OWNER

    @property
    def is_administrator(self) -> bool:
        return self.role <= ADMINISTRATOR

    def is_full(self, waiting_period: timedelta, now: datetime) -> bool:
        """Return whether they are a full member: by role, or after the waiting period."""
        if self.role != MEMBER:
            return self.role < MEMBER
        return now - self.date_joined >= waiting_period

    def role_groups(self, waiting_period: timedelta, now: datetime) -> tuple[str, ...]:
        """Return the role groups with this person as a direct member."""
        own = ROLE_GROUPS[self.role]
        if self.role == MEMBER and self.is_full(waiting_period, now):
            return (own, FULL_MEMBERS_GROUP)
        return (own,)


class DirectMembers(TypedDict):
    """A permission's value with users and groups, rather than one group."""

    direct_members: list[int]
    direct_subgroups: list[int]


GroupValue = int | DirectMembers
"""A permission's value on the wire: a group, or users and groups."""


@dataclass(frozen=True, slots=True)
class GroupSetting:
    """Value of a permission: one group, or users and groups named directly."""

    group_id: GroupId | None = None
    direct_members: tuple[UserId, ...] = ()
    direct_subgroups: tuple[GroupId, ...] = ()

    @property
    def group_ids(self) -> tuple[GroupId, ...]:
        """The groups that it names."""
        return self.direct_subgroups if self.group_id is None else (self.group_id,)

    @classmethod
    def parse(cls, value: Any) -> "GroupSetting":
        """Parse the JSON form, which storage and wire share."""
        if isinstance(value, int):
            return cls(group_id=GroupId(value))
        return cls(
            direct_members=tuple(sorted(set(value["direct_members"]))),
            direct_subgroups=tuple(sorted(set(value["direct_subgroups"]))),
        )

    def as_json(self) -> GroupValue:
        if self.group_id is not None:
            return self.group_id
        return {
            "direct_members": list(self.direct_members),
            "direct_subgroups": list(self.direct_subgroups),
        }


@dataclass(frozen=True, slots=True)
class Reach:
    """Superset of the users that some settings admit: role groups, and users by id."""

    role_groups: frozenset[str]
    user_ids: frozenset[UserId]

    @property
    def least_role(self) -> int:
        """Return the largest role number among the role groups; 0 if there is none."""
        return max((_LEAST_ROLE.get(name, 0) for name in self.role_groups), default=0)


@dataclass(frozen=True, slots=True)
class GroupGraph:
    """All groups of a realm, for the permission engine."""

    ids_by_name: Mapping[str, GroupId]
    system_names: Mapping[GroupId, str]
    members: Mapping[GroupId, frozenset[UserId]]
    subgroups: Mapping[GroupId, tuple[GroupId, ...]]
    deactivated: frozenset[GroupId]
    permissions: Mapping[GroupId, Mapping[str, Any]]
    """Stored settings of each group; missing ones have their default."""
    waiting_period: timedelta
    clock: Clock
    gone: frozenset[UserId] = frozenset()
    """Deactivated users: permissions that name them have no effect until they are reactivated."""

    def as_it_stands(self, setting: GroupSetting) -> GroupSetting:
        """Return the setting without deactivated users: so it counts, and so clients get it."""
        if self.gone.isdisjoint(setting.direct_members):
            return setting
        there = tuple(u for u in setting.direct_members if u not in self.gone)
        return replace(setting, direct_members=there)

    def contains(self, setting: GroupSetting, person: Person) -> bool:
        """Return whether the setting admits the person. A deactivated group admits none."""
        if person.user_id in setting.direct_members:
            return True
        return any(self._admits(group_id, person) for group_id in self._below(setting.group_ids))

    def may_mention(self, group_id: GroupId, person: Person) -> bool:
        """Return whether the person may mention the group.

        Role groups cannot be mentioned.
        """
        if group_id in self.deactivated or group_id in self.system_names:
            return False
        value = self.permissions.get(group_id, {}).get("can_mention_group")
        return value is None or self.contains(GroupSetting.parse(value), person)

    def members_of(self, group_ids: Iterable[GroupId]) -> frozenset[UserId]:
        """Return members of these groups and of those nested in them; role groups excluded."""
        return frozenset(
            user_id
            for group_id in self._below(group_ids)
            for user_id in self.members.get(group_id, ())
        )

    def within(self, group_id: GroupId) -> frozenset[GroupId]:
        """Return all active groups nested in this one, directly or not."""
        return frozenset(self._below(self.subgroups.get(group_id, ())))

    def around(self, group_id: GroupId) -> frozenset[GroupId]:
        """Return the group and all groups that contain it, directly or not.

        Deactivated ones too.
        """
        above: dict[GroupId, list[GroupId]] = {}
        for outer, nested in self.subgroups.items():
            for inner in nested:
                above.setdefault(inner, []).append(outer)
        found, waiting = {group_id}, [group_id]
        while waiting:
            new = [g for g in above.get(waiting.pop(), ()) if g not in found]
            found.update(new)
            waiting.extend(new)
        return frozenset(found)

    def reach(self, settings: Iterable[GroupSetting]) -> Reach:
        """Return the users that these settings may admit, without looking up roles."""
        settings = list(settings)
        start = [group_id for setting in settings for group_id in setting.group_ids]
        below = list(self._below(dict.fromkeys(start)))
        named = {user_id for setting in settings for user_id in setting.direct_members}
        return Reach(
            role_groups=frozenset(
                self.system_names[group_id] for group_id in below if group_id in self.system_names
            ),
            user_ids=frozenset(named | self.members_of(below)),
        )

    def _below(self, start: Iterable[GroupId]) -> Iterable[GroupId]:
        """Yield the groups and all nested in them, each once."""
        waiting = list(start)
        seen = set(waiting)
        while waiting:
            group_id = waiting.pop()
            if group_id in self.deactivated:
                continue
            yield group_id
            new = [g for g in self.subgroups.get(group_id, ()) if g not in seen]
            seen.update(new)
            waiting.extend(new)

    def _admits(self, group_id: GroupId, person: Person) -> bool:
        name = self.system_names.get(group_id)
        if name is None:
            return person.user_id in self.members.get(group_id, frozenset())
        least = _LEAST_ROLE.get(name)
        if least is None or person.role > least:
            return False
        if name == FULL_MEMBERS_GROUP:
            return person.is_full(self.waiting_period, self.clock.now())
        return True
