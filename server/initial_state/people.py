"""Cache of a realm's users, updated to each register's position.

Reading and encoding thousands of users costs more than the rest of a register. So the encoded lists
are cached with the position of the newest change to any user: a register with the same newest
change in its snapshot uses them as they are, a later one reads only the users that have changed
since. Cached values are immutable, so a register continues with what it has taken while others
update the cache.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal

import msgspec

from server.domain.access import ADMINISTRATOR
from server.domain.addresses import RealmAddress
from server.domain.profiles import hides_email, least_role_to_see_email
from server.events.base import ClientView
from server.events.users import User, shown_user
from server.initial_state.base import Snapshot
from server.realm_cache import RealmCache
from storage import profile_data, profile_fields, shared_contacts, users
from storage.database import Connection
from storage.ids import Position, ProfileFieldId, UserId
from storage.profile_data import NO_DATA, ProfileData
from storage.users import UserRow

_KEY: Final = ("people",)
_ENCODER: Final = msgspec.json.Encoder()

Kind = Literal["active", "inactive", "system_bot"]
KINDS: Final[tuple[Kind, ...]] = ("active", "inactive", "system_bot")
Viewer = tuple[int, bool]
"""The kind of viewer: the role (as far as it matters for addresses), and client_gravatar."""


def kind_of(row: UserRow) -> Kind:
    """Return the list of register that contains the user."""
    if row.is_system_bot:
        return "system_bot"
    return "active" if row.is_active else "inactive"


def encoded(user: User, *, client_gravatar: bool) -> bytes:
    """Return the user as JSON for register's lists; the list implies whether they are active."""
    view = ClientView(client_gravatar=client_gravatar)
    return _ENCODER.encode(msgspec.structs.replace(user.for_view(view), is_active=msgspec.UNSET))


def as_array(pieces: Iterable[bytes]) -> msgspec.Raw:
    return msgspec.Raw(b"[" + b",".join(pieces) + b"]")


Pieces = dict[Kind, dict[UserId, bytes]]
Profiles = Mapping[UserId, ProfileData]
"""Values of profile fields by user; users without any are left out."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The lists of users for one kind of viewer."""

    address: RealmAddress
    viewer: Viewer
    pieces: Pieces
    arrays: Mapping[Kind, msgspec.Raw]

    @classmethod
    def of(
        cls, address: RealmAddress, viewer: Viewer, rows: Iterable[UserRow], profiles: Profiles
    ) -> "Listing":
        """Build the lists from all rows."""
        pieces: Pieces = {kind: {} for kind in KINDS}
        return cls(address, viewer, pieces, {}).changed(rows, profiles)

    def changed(self, rows: Iterable[UserRow], profiles: Profiles) -> "Listing":
        """Return the lists after changes to these users."""
        role, client_gravatar = self.viewer
        pieces: Pieces = {kind: dict(listed) for kind, listed in self.pieces.items()}
        for row in rows:
            for kind in KINDS:
                if kind != kind_of(row):
                    pieces[kind].pop(row.user_id, None)
            knows = role <= least_role_to_see_email(row)
            profile = profiles.get(row.user_id, NO_DATA)
            user = shown_user(row, self.address, knows_email=knows, profile=profile)
            pieces[kind_of(row)][row.user_id] = encoded(user, client_gravatar=client_gravatar)
        arrays = {kind: as_array(listed.values()) for kind, listed in pieces.items()}
        return Listing(self.address, self.viewer, pieces, arrays)

    def as_json(self, own: UserRow, profiles: Profiles) -> Mapping[Kind, msgspec.Raw]:
        """Return the lists for a viewer of this kind, with their own real address."""
        profile = profiles.get(own.user_id, NO_DATA)
        user = shown_user(own, self.address, knows_email=True, profile=profile)
        piece = encoded(user, client_gravatar=self.viewer[1])
        kind = kind_of(own)
        if self.pieces[kind].get(own.user_id) == piece:
            return self.arrays
        with_own = {**self.pieces[kind], own.user_id: piece}
        return {**self.arrays, kind: as_array(with_own.values())}


@dataclass(frozen=True, slots=True)
class Member:
    """The fields of an active user, not a system bot, that groups need."""

    role: int
    date_joined: datetime


@dataclass(frozen=True, slots=True)
class People:
    """All users at `position`, that of the newest change to any of them."""

    position: Position
    members: Mapping[UserId, Member]
    bots: Mapping[UserId, UserRow]
    """Active or not; system bots excluded."""
    hiding: frozenset[UserId]
    """Users with a hidden real address."""
    fields: frozenset[ProfileFieldId]
    """Existing profile fields: removing one removes all its values, without a change to users."""
    profiles: Profiles
    listings: dict[Viewer, Listing] = field(default_factory=dict)
    """Lists that have been requested."""
    derived: dict[str, Any] = field(default_factory=dict)
    """Results derived by sections, valid until any user changes."""

    @classmethod
    def of(
        cls,
        position: Position,
        rows: Sequence[UserRow],
        fields: frozenset[ProfileFieldId],
        profiles: Profiles,
    ) -> "People":
        """Build it from all rows."""
        return cls(position, {}, {}, frozenset(), fields, {}).changed(rows, profiles, position)

    def changed(self, rows: Sequence[UserRow], profiles: Profiles, position: Position) -> "People":
        """Return the users at a later position; the rows and profiles are all that changed."""
        later = self._with(rows, profiles, position)
        if bool(later.hiding) == bool(self.hiding):
            for viewer, listing in self.listings.items():
                later.listings[viewer] = listing.changed(rows, profiles)
        return later

    def viewer(self, role: int, *, client_gravatar: bool) -> Viewer:
        # Owners see what administrators see; and all see the same if no user hides anything.
        return (max(role, ADMINISTRATOR) if self.hiding else 0, client_gravatar)

    def _with(self, rows: Sequence[UserRow], profiles: Profiles, position: Position) -> "People":
        members, bots, hiding = dict(self.members), dict(self.bots), set(self.hiding)
        silent = {row.user_id for row in rows} - profiles.keys()
        said = {u: data for u, data in self.profiles.items() if u not in silent} | {**profiles}
        for row in rows:
            user_id = row.user_id
            members.pop(user_id, None)
            if kind_of(row) == "active":
                members[user_id] = Member(row.role, row.date_joined)
            if row.bot_type is not None and not row.is_system_bot:
                bots[user_id] = row
            (hiding.add if hides_email(row) else hiding.discard)(user_id)
        return People(position, members, bots, frozenset(hiding), self.fields, said)


async def people_of(snapshot: Snapshot) -> People:
    """Return all users at the snapshot's position."""
    return await snapshot.once(
        "people", lambda: read_people(snapshot.connection, snapshot.realm_cache)
    )


async def known(snapshot: Snapshot) -> set[UserId] | None:
    """Return the users that the actor may know, besides bots; None: all."""
    settings = snapshot.settings
    if not snapshot.actor.is_guest or settings.guests_know_all_users(snapshot.graph):
        return None
    return await snapshot.once(
        "known",
        lambda: shared_contacts.known_to(
            snapshot.connection, snapshot.realm_id, snapshot.actor.user_id
        ),
    )


async def lists(snapshot: Snapshot) -> Mapping[Kind, msgspec.Raw]:
    """Return register's lists of users, as the actor may know them."""
    actor = snapshot.actor
    people = await people_of(snapshot)
    viewer = people.viewer(actor.role, client_gravatar=snapshot.view.client_gravatar)
    listing = people.listings.get(viewer)
    if listing is None:
        rows = await users.all_of_realm(snapshot.connection, snapshot.realm_id)
        listing = Listing.of(snapshot.address, viewer, rows, people.profiles)
        people.listings[viewer] = listing
    return listing.as_json(actor.row, people.profiles)


async def read_people(connection: Connection, realm_cache: RealmCache) -> People:
    """Return all users in this connection's snapshot, from the cache if possible."""
    realm_id = realm_cache.realm_id
    newest, fields = await connection.together(
        users.last_change(connection, realm_id), profile_fields.ids(connection, realm_id)
    )
    kept: People | None = realm_cache.recall(_KEY)
    if kept is None or kept.position > newest or kept.fields != fields:
        rows = await users.all_of_realm(connection, realm_id)
        profiles = await profile_data.of_realm(connection, realm_id) if fields else {}
        people = People.of(newest, rows, fields, profiles)
    elif kept.position < newest:
        rows = await users.changed_since(connection, realm_id, kept.position)
        ids = [row.user_id for row in rows]
        profiles = await profile_data.of_users(connection, realm_id, ids) if fields else {}
        people = kept.changed(rows, profiles, newest)
    else:
        return kept
    # Concurrent registers may have updated the cache: a newer value stays, and an equal one is
    # shared.
    kept = realm_cache.recall(_KEY)
    if kept is not None and kept.position == newest and kept.fields == fields:
        return kept
    if kept is None or kept.position <= newest:
        realm_cache.remember(_KEY, people)
    return people
