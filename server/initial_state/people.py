"""Everybody in a realm, kept between registers and brought up to each one's position.

Reading and encoding thousands of people costs more than all the rest of a register. So what
has been made of them is kept, with the position of the newest change to anybody: a register
whose snapshot has the same newest change takes it as it is, one that is further reads only
those who have changed since. What is kept is never changed in place, so a register goes on with
what it has taken whatever others do meanwhile.
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
"""Who looks: the role (as far as it matters for addresses), and whether gravatars are left out."""


def kind_of(row: UserRow) -> Kind:
    """In which of register's lists the user stands."""
    if row.is_system_bot:
        return "system_bot"
    return "active" if row.is_active else "inactive"


def encoded(user: User, *, client_gravatar: bool) -> bytes:
    """The user as register's lists show them; whether they are active, the list says."""
    view = ClientView(client_gravatar=client_gravatar)
    return _ENCODER.encode(msgspec.structs.replace(user.for_view(view), is_active=msgspec.UNSET))


def as_array(pieces: Iterable[bytes]) -> msgspec.Raw:
    return msgspec.Raw(b"[" + b",".join(pieces) + b"]")


Pieces = dict[Kind, dict[UserId, bytes]]
Profiles = Mapping[UserId, ProfileData]
"""What people say in their profiles; those who say nothing are left out."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The lists of people as one kind of viewer sees them."""

    address: RealmAddress
    viewer: Viewer
    pieces: Pieces
    arrays: Mapping[Kind, msgspec.Raw]

    @classmethod
    def of(
        cls, address: RealmAddress, viewer: Viewer, rows: Iterable[UserRow], profiles: Profiles
    ) -> "Listing":
        """Everybody, from all rows."""
        pieces: Pieces = {kind: {} for kind in KINDS}
        return cls(address, viewer, pieces, {}).changed(rows, profiles)

    def changed(self, rows: Iterable[UserRow], profiles: Profiles) -> "Listing":
        """Return the same after these users have changed."""
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
        """Return the lists for a viewer of this kind, who knows their own address at any rate."""
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
    """What groups have to know of a user who is active, and no bot of the system."""

    role: int
    date_joined: datetime


@dataclass(frozen=True, slots=True)
class People:
    """Everybody as they are at `position`, that of the newest change to any of them."""

    position: Position
    members: Mapping[UserId, Member]
    bots: Mapping[UserId, UserRow]
    """Active or not; those of the system left out."""
    hiding: frozenset[UserId]
    """Those whose address not every user may know."""
    fields: frozenset[ProfileFieldId]
    """The profile fields there are: with one of them go all its values, and no user changes."""
    profiles: Profiles
    listings: dict[Viewer, Listing] = field(default_factory=dict)
    """Those that a user has asked for."""
    derived: dict[str, Any] = field(default_factory=dict)
    """What sections have made of this, to be used as long as no user changes."""

    @classmethod
    def of(
        cls,
        position: Position,
        rows: Sequence[UserRow],
        fields: frozenset[ProfileFieldId],
        profiles: Profiles,
    ) -> "People":
        """Everybody, from all rows."""
        return cls(position, {}, {}, frozenset(), fields, {}).changed(rows, profiles, position)

    def changed(self, rows: Sequence[UserRow], profiles: Profiles, position: Position) -> "People":
        """Everybody at a later position; the rows, and what they say, are all that changed."""
        later = self._with(rows, profiles, position)
        if bool(later.hiding) == bool(self.hiding):
            for viewer, listing in self.listings.items():
                later.listings[viewer] = listing.changed(rows, profiles)
        return later

    def viewer(self, role: int, *, client_gravatar: bool) -> Viewer:
        # Owners see what administrators see; and all see the same where no user hides anything.
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
    """Everybody, at the snapshot's position."""
    return await snapshot.once(
        "people", lambda: read_people(snapshot.connection, snapshot.realm_cache)
    )


async def known(snapshot: Snapshot) -> set[UserId] | None:
    """Whom the snapshot's actor may know, beside bots; None: every user."""
    settings = snapshot.settings
    if not snapshot.actor.is_guest or settings.guests_know_everybody(snapshot.graph):
        return None
    return await snapshot.once(
        "known",
        lambda: shared_contacts.known_to(
            snapshot.connection, snapshot.realm_id, snapshot.actor.user_id
        ),
    )


async def lists(snapshot: Snapshot) -> Mapping[Kind, msgspec.Raw]:
    """Everybody in register's lists, as the snapshot's actor may know them."""
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
    """Everybody, as this connection's snapshot has them."""
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
    # Others may have read meanwhile: what is newer stays, and what is the same is shared.
    kept = realm_cache.recall(_KEY)
    if kept is not None and kept.position == newest and kept.fields == fields:
        return kept
    if kept is None or kept.position <= newest:
        realm_cache.remember(_KEY, people)
    return people
