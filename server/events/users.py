"""Events of users, people and bots."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, ClassVar, Literal

import msgspec
from msgspec import UNSET, UnsetType
from typing_extensions import override

from server.domain.access import ADMINISTRATOR, GUEST, MEMBER, OWNER
from server.domain.addresses import RealmAddress
from server.domain.avatars import GRAVATAR, Avatar, gravatar_url
from server.domain.shown_people import EVERYTHING, inaccessible_person
from server.events.base import ClientView, Event
from server.realm_cache import ROLL, user_key
from storage.ids import Position, ProfileFieldId, UserId
from storage.profile_data import NO_DATA, ProfileData, ValueRow
from storage.users import UserRow


class ShownValue(msgspec.Struct, frozen=True, kw_only=True):
    """A user's value of a profile field."""

    value: str
    rendered_value: str | UnsetType = UNSET

    @classmethod
    def of(cls, row: ValueRow) -> "ShownValue":
        rendered = UNSET if row.rendered_value is None else row.rendered_value
        return cls(value=row.value, rendered_value=rendered)


class User(msgspec.Struct, frozen=True, kw_only=True):
    """A user in the wire form: in events, in register, and in responses."""

    user_id: UserId
    email: str
    """The public address."""
    delivery_email: str | None
    """The real address; None for readers who may not know it."""
    full_name: str
    date_joined: str
    role: int
    is_owner: bool
    is_admin: bool
    is_guest: bool
    is_bot: bool
    bot_type: int | None
    bot_owner_id: UserId | None
    timezone: str
    avatar_url: str | None
    avatar_version: int
    is_active: bool | UnsetType = UNSET
    is_system_bot: bool | UnsetType = UNSET
    """Only sent if true."""
    is_imported_stub: bool = False
    """Whether the account was imported, and its person has not signed in yet."""
    is_deleted: bool | UnsetType = UNSET
    """Whether the account has been erased, or its profile deleted. Only sent if true, and not of
    active users."""
    profile_data: dict[ProfileFieldId, ShownValue] | UnsetType = UNSET

    @property
    def has_known_avatar(self) -> bool:
        """Whether a client can derive the avatar's URL from `email`."""
        return self.avatar_url == gravatar_url(self.email, self.avatar_version)

    def for_view(self, view: ClientView) -> "User":
        """Return the same user for such clients."""
        if view.client_gravatar and self.has_known_avatar:
            return msgspec.structs.replace(self, avatar_url=None)
        return self


def shown_user(
    row: UserRow, address: RealmAddress, *, knows_email: bool, profile: ProfileData = NO_DATA
) -> User:
    """Return the user for readers who may, or may not, know the real address.

    `address` is the realm's URL; `profile` are the values of profile fields.
    """
    shown = EVERYTHING.shown(row, address)
    is_bot = row.bot_type is not None
    return User(
        user_id=row.user_id,
        email=shown.email,
        delivery_email=row.email if knows_email else None,
        full_name=shown.full_name,
        date_joined=row.date_joined.isoformat(),
        role=row.role,
        is_owner=row.role == OWNER,
        is_admin=row.role <= ADMINISTRATOR,
        is_guest=row.role == GUEST,
        is_bot=is_bot,
        bot_type=row.bot_type,
        bot_owner_id=row.bot_owner_id,
        timezone=row.timezone,
        avatar_url=shown.avatar.url,
        avatar_version=row.avatar_version,
        is_active=row.is_active,
        is_system_bot=True if row.is_system_bot else UNSET,
        is_imported_stub=row.stub == "imported",
        is_deleted=True if row.is_deleted else UNSET,
        profile_data=UNSET if is_bot else {f: ShownValue.of(v) for f, v in profile.items()},
    )


def day_joined(date_joined: datetime) -> str:
    """Return the day on which a user has joined: readers who may not know the user get no time."""
    return date_joined.replace(hour=0, minute=0, second=0, microsecond=0).isoformat()


def inaccessible_user(row: UserRow, address: RealmAddress) -> User:
    """Return the placeholder of a user for readers who may not know them."""
    shown = inaccessible_person(row.user_id, address)
    return User(
        user_id=row.user_id,
        email=shown.email,
        delivery_email=None,
        full_name=shown.full_name,
        date_joined=day_joined(row.date_joined),
        role=MEMBER,
        is_owner=False,
        is_admin=False,
        is_guest=False,
        is_bot=False,
        bot_type=None,
        bot_owner_id=None,
        timezone="",
        avatar_url=shown.avatar.url,
        avatar_version=shown.avatar.version,
        is_active=row.is_active,
        profile_data={},
    )


class _OfUsers(Event, frozen=True, kw_only=True):
    """Base of events with the wire type `realm_user`."""

    wire_type: ClassVar[str] = "realm_user"

    type: Literal["realm_user"] = "realm_user"


class UserAdded(_OfUsers, frozen=True, kw_only=True):
    """A new user, in the form for this audience."""

    kind: ClassVar[str] = "realm_user/add"
    varies_by: ClassVar[tuple[str, ...]] = ("client_gravatar",)

    op: Literal["add"] = "add"
    person: User

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        return (msgspec.structs.replace(self, person=self.person.for_view(view)),)

    @override
    def touches(self) -> Sequence[tuple[Any, ...]]:
        return (user_key(self.person.user_id),)


class InaccessibleUserAdded(UserAdded, frozen=True, kw_only=True):
    """A new user that this audience may not know: for complete lists."""

    kind: ClassVar[str] = "realm_user/add/inaccessible"
    varies_by: ClassVar[tuple[str, ...]] = ("client_gravatar", "user_list_incomplete")
    wires: ClassVar[tuple[type, ...]] = (UserAdded,)

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        if view.user_list_incomplete:
            return ()
        added = UserAdded(person=self.person.for_view(view))
        return (added,)


class ChangedValue(msgspec.Struct, frozen=True, kw_only=True):
    """The new value of a profile field; None: removed."""

    id: ProfileFieldId
    value: str | None
    rendered_value: str | UnsetType = UNSET


class PersonChange(msgspec.Struct, frozen=True, kw_only=True):
    """Changed fields of a user; the others are unset."""

    user_id: UserId
    full_name: str | UnsetType = UNSET
    role: int | UnsetType = UNSET
    is_active: bool | UnsetType = UNSET
    is_imported_stub: bool | UnsetType = UNSET
    is_deleted: bool | UnsetType = UNSET
    date_joined: str | UnsetType = UNSET
    timezone: str | UnsetType = UNSET
    email: str | UnsetType = UNSET
    new_email: str | UnsetType = UNSET
    delivery_email: str | UnsetType | None = UNSET
    bot_owner_id: UserId | UnsetType = UNSET
    avatar_url: str | UnsetType | None = UNSET
    avatar_url_medium: str | UnsetType | None = UNSET
    avatar_source: str | UnsetType = UNSET
    avatar_version: int | UnsetType = UNSET
    custom_profile_field: ChangedValue | UnsetType = UNSET


class UserChanged(_OfUsers, frozen=True, kw_only=True):
    """A change of a user."""

    kind: ClassVar[str] = "realm_user/update"

    op: Literal["update"] = "update"
    person: PersonChange

    @override
    def touches(self) -> Sequence[tuple[Any, ...]]:
        key = user_key(self.person.user_id)
        return (key,) if self.person.is_active is UNSET else (key, ROLL)


class InaccessibleUserChanged(UserChanged, frozen=True, kw_only=True):
    """A change of a user that this audience may not know: for complete lists."""

    kind: ClassVar[str] = "realm_user/update/inaccessible"
    varies_by: ClassVar[tuple[str, ...]] = ("user_list_incomplete",)
    wires: ClassVar[tuple[type, ...]] = (UserChanged,)

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        return () if view.user_list_incomplete else (UserChanged(person=self.person),)


class AvatarChanged(_OfUsers, frozen=True, kw_only=True):
    """A user's new avatar."""

    kind: ClassVar[str] = "realm_user/update/avatar"
    varies_by: ClassVar[tuple[str, ...]] = ("client_gravatar",)
    wires: ClassVar[tuple[type, ...]] = (UserChanged,)

    user_id: UserId
    avatar_url: str
    avatar_url_medium: str
    avatar_source: str
    avatar_version: int

    @classmethod
    def to(cls, user_id: UserId, avatar: Avatar) -> "AvatarChanged":
        return cls(
            user_id=user_id,
            avatar_url=avatar.url,
            avatar_url_medium=avatar.medium_url,
            avatar_source=avatar.source,
            avatar_version=avatar.version,
        )

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        is_known = view.client_gravatar and self.avatar_source == GRAVATAR
        person = PersonChange(
            user_id=self.user_id,
            avatar_url=None if is_known else self.avatar_url,
            avatar_url_medium=None if is_known else self.avatar_url_medium,
            avatar_source=self.avatar_source,
            avatar_version=self.avatar_version,
        )
        return (UserChanged(person=person),)

    @override
    def touches(self) -> Sequence[tuple[Any, ...]]:
        return (user_key(self.user_id),)


class EmailChanged(_OfUsers, frozen=True, kw_only=True):
    """A new public address, delivered to all who may know the user.

    The avatar changes as well, if it is derived from the address.
    """

    kind: ClassVar[str] = "realm_user/update/email"
    varies_by: ClassVar[tuple[str, ...]] = ("client_gravatar",)
    wires: ClassVar[tuple[type, ...]] = (UserChanged,)

    user_id: UserId
    new_email: str
    avatar_source: str
    avatar_version: int

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        address = UserChanged(person=PersonChange(user_id=self.user_id, new_email=self.new_email))
        if self.avatar_source != GRAVATAR:
            return [address]
        picture = AvatarChanged(
            user_id=self.user_id,
            avatar_url=gravatar_url(self.new_email, self.avatar_version),
            avatar_url_medium=gravatar_url(self.new_email, self.avatar_version, medium=True),
            avatar_source=self.avatar_source,
            avatar_version=self.avatar_version,
        )
        return [address, *picture.wire(position, view)]

    @override
    def touches(self) -> Sequence[tuple[Any, ...]]:
        return (user_key(self.user_id), ROLL)


class ProfileValueWithdrawn(_OfUsers, frozen=True, kw_only=True):
    """Removed values of a profile field, because its choices changed."""

    kind: ClassVar[str] = "realm_user/update/profile_value_withdrawn"
    wires: ClassVar[tuple[type, ...]] = (UserChanged,)

    field_id: ProfileFieldId
    user_ids: tuple[UserId, ...]
    """At most MAX_WIRE_EVENTS."""

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        nothing = ChangedValue(id=self.field_id, value=None)
        return [
            UserChanged(person=PersonChange(user_id=user_id, custom_profile_field=nothing))
            for user_id in self.user_ids
        ]

    @override
    def touches(self) -> Sequence[tuple[Any, ...]]:
        return tuple(map(user_key, self.user_ids))


class RemovedPerson(msgspec.Struct, frozen=True, kw_only=True):
    user_id: UserId
    full_name: str


class UserRemoved(_OfUsers, frozen=True, kw_only=True):
    """The audience may no longer know the user."""

    kind: ClassVar[str] = "realm_user/remove"

    op: Literal["remove"] = "remove"
    person: RemovedPerson


class UsersIntroduced(_OfUsers, frozen=True, kw_only=True):
    """Existing users that this audience may know from now on."""

    kind: ClassVar[str] = "realm_user/introduced"
    varies_by: ClassVar[tuple[str, ...]] = ("client_gravatar",)
    wires: ClassVar[tuple[type, ...]] = (UserAdded,)

    people: list[User]

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        return [UserAdded(person=person.for_view(view)) for person in self.people]


class UsersForgotten(_OfUsers, frozen=True, kw_only=True):
    """Existing users that this audience may no longer know."""

    kind: ClassVar[str] = "realm_user/forgotten"
    varies_by: ClassVar[tuple[str, ...]] = ("client_gravatar", "user_list_incomplete")
    wires: ClassVar[tuple[type, ...]] = (UserRemoved, UserAdded)

    people: list[User]
    """Their placeholders."""

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        events: list[Event] = []
        for person in self.people:
            removed = RemovedPerson(user_id=person.user_id, full_name=person.full_name)
            events.append(UserRemoved(person=removed))
            if not view.user_list_incomplete:
                events.append(UserAdded(person=person.for_view(view)))
        return events
