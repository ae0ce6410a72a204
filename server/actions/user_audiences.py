"""Audiences of events about users: not every user may know all others, or their addresses."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from server.actions.locked_realm import LockedRealm
from server.domain.access import ADMINISTRATOR, GUEST, MEMBER, OWNER
from server.domain.addresses import RealmAddress
from server.domain.profiles import hides_email, least_role_to_see_email
from server.events.base import EVERYONE, MEMBERS, Audience, Event
from server.events.users import (
    InaccessibleUserAdded,
    UserAdded,
    inaccessible_user,
    shown_user,
)
from server.transactions import Tx
from storage import shared_contacts, users
from storage.database import Connection
from storage.ids import RealmId, UserId
from storage.users import UserRow


@dataclass(frozen=True, slots=True)
class UserAudiences:
    """The users of a realm by role, as far as they may know different things of others."""

    connection: Connection
    realm_id: RealmId
    address: RealmAddress
    """The organization's."""
    guests_know_all_users: bool
    by_role: dict[int, tuple[UserId, ...]]
    """Read only where some users get less than others."""
    people: dict[int, tuple[UserId, ...]]
    """The same without bots. Read only for events about bots."""

    @classmethod
    async def of(
        cls, tx: Tx, context: LockedRealm, rows: Collection[UserRow] | None = None
    ) -> "UserAudiences":
        """Return the audiences of events about these users, or about those of the context."""
        rows = context.people.values() if rows is None else rows
        connection, realm_id = await tx.connection(), tx.realm_id
        guests_know_all_users = context.settings.guests_know_all_users(context.graph)
        plain = guests_know_all_users and not any(hides_email(row) for row in rows)
        by_role = {} if plain else await users.ids_by_role(connection, realm_id)
        people: dict[int, tuple[UserId, ...]] = {}
        if any(row.bot_type is not None for row in rows):
            people = await users.ids_by_role(connection, realm_id, without_bots=True)
        address = (await tx.realm_cache()).address_of(context.realm)
        return cls(connection, realm_id, address, guests_know_all_users, by_role, people)

    def up_to(self, role: int) -> tuple[UserId, ...]:
        """Return users with this role or a higher one."""
        return tuple(u for known, ids in self.by_role.items() if known <= role for u in ids)

    @property
    def administrators(self) -> tuple[UserId, ...]:
        """Users who administer all bots."""
        return (*self.people.get(OWNER, ()), *self.people.get(ADMINISTRATOR, ()))

    @property
    def guests(self) -> tuple[UserId, ...]:
        return self.by_role.get(GUEST, ())

    def of_person(self, row: UserRow) -> Audience:
        """Return users who may know the user, some of them without the real address."""
        if self.guests_know_all_users or row.bot_type is not None:
            return EVERYONE
        return MEMBERS

    async def audience_knowing(self, row: UserRow) -> Audience:
        """Return users who know the existing user: guests by shared channels and messages."""
        return (await self.split(row))[0]

    async def split(self, row: UserRow) -> tuple[Audience, Audience | None]:
        """Return users who know the user, and guests, if there are any, who may not."""
        audience = self.of_person(row)
        if audience is EVERYONE or not self.guests:
            return audience, None
        met = await shared_contacts.known_to(self.connection, self.realm_id, row.user_id)
        known = tuple(g for g in self.guests if g in met)
        strangers = tuple(g for g in self.guests if g not in met)
        return (
            Audience(everyone=True, users=known),
            Audience(users=strangers) if strangers else None,
        )

    def of_bot(self, row: UserRow) -> Audience:
        """Return the bot's owner, unless a guest, and the administrators."""
        looking_after = set(self.administrators)
        if row.bot_owner_id is not None and row.bot_owner_id not in self.people.get(GUEST, ()):
            looking_after.add(row.bot_owner_id)
        return Audience(users=tuple(sorted(looking_after)))

    def newcomer_events(self, row: UserRow) -> Iterator[tuple[Event, Audience]]:
        """Yield each audience with the new user as it may know them."""
        knowing, others = self._by_email(row)
        for audience, knows_email in ((knowing, True), (others, False)):
            if audience is not None:
                person = shown_user(row, self.address, knows_email=knows_email)
                yield UserAdded(person=person), audience
        if self.of_person(row) == MEMBERS and self.guests:
            person = inaccessible_user(row, self.address)
            yield InaccessibleUserAdded(person=person), Audience(users=self.guests)

    def _by_email(self, row: UserRow) -> tuple[Audience | None, Audience | None]:
        """Return users who may know the real address, and those who get the user without it."""
        everyone = self.of_person(row)
        least = least_role_to_see_email(row)
        if least >= (GUEST if everyone is EVERYONE else MEMBER):
            return everyone, None
        if least == MEMBER:
            return MEMBERS, Audience(users=self.guests) if self.guests else None
        knowing = self.up_to(least)
        others = Audience(everyone=True, guests=everyone.guests, without=knowing)
        return (Audience(users=knowing) if least >= OWNER else None), others


async def audience_knowing(tx: Tx, context: LockedRealm, row: UserRow) -> Audience:
    """Return users who know the existing user."""
    return await (await UserAudiences.of(tx, context, [row])).audience_knowing(row)
