"""Who is told what of somebody: not everyone may know everybody, or their address."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from server.actions.ground import Ground
from server.domain.access import ADMINISTRATOR, GUEST, MEMBER, OWNER
from server.domain.profiles import hides_email, least_role_to_see_email
from server.events.base import EVERYONE, MEMBERS, Audience, Event, Tx
from server.events.users import (
    InaccessibleUserAdded,
    UserAdded,
    inaccessible_user,
    shown_user,
)
from storage import users
from storage.database import Connection
from storage.ids import RealmId, UserId
from storage.users import UserRow


@dataclass(frozen=True, slots=True)
class Onlookers:
    """The people of a realm, as far as it matters who may know what of others."""

    domain: str
    """Of the organization's address."""
    guests_know_everybody: bool
    by_role: dict[int, tuple[UserId, ...]]
    """Read only where somebody is to be told less than others."""

    @classmethod
    async def of(
        cls,
        connection: Connection,
        realm_id: RealmId,
        *,
        domain: str,
        guests_know_everybody: bool,
        rows: Sequence[UserRow],
    ) -> "Onlookers":
        """What is needed to tell of these users."""
        plain = guests_know_everybody and not any(
            hides_email(row) or row.bot_type is not None for row in rows
        )
        by_role = {} if plain else await users.ids_by_role(connection, realm_id)
        return cls(domain, guests_know_everybody, by_role)

    def up_to(self, role: int) -> tuple[UserId, ...]:
        """Those whose role is this one or above it."""
        return tuple(u for known, ids in self.by_role.items() if known <= role for u in ids)

    @property
    def guests(self) -> tuple[UserId, ...]:
        return self.by_role.get(GUEST, ())

    def of_person(self, row: UserRow) -> Audience:
        """Those who may know the user, some of them without the real address."""
        if self.guests_know_everybody or row.bot_type is not None:
            return EVERYONE
        return MEMBERS

    async def who_know(self, connection: Connection, realm_id: RealmId, row: UserRow) -> Audience:
        """Those who know the user, who has been there before: guests by having met them."""
        audience = self.of_person(row)
        if audience is EVERYONE or not self.guests:
            return audience
        met = await users.known_to(connection, realm_id, row.user_id)
        return Audience(everyone=True, users=tuple(g for g in self.guests if g in met))

    def of_bot(self, row: UserRow) -> Audience:
        """Those who look after the bot: its owner and the administrators."""
        owner = () if row.bot_owner_id is None else (row.bot_owner_id,)
        return Audience(users=tuple(sorted({*self.up_to(ADMINISTRATOR), *owner})))

    def told_of_newcomer(self, row: UserRow) -> Iterator[tuple[Event, Audience]]:
        """Each audience with the newcomer as it may know them."""
        knowing, others = self._by_email(row)
        for audience, knows_email in ((knowing, True), (others, False)):
            if audience is not None:
                person = shown_user(row, self.domain, knows_email=knows_email)
                yield UserAdded(person=person), audience
        if self.of_person(row) == MEMBERS and self.guests:
            person = inaccessible_user(row, self.domain)
            yield InaccessibleUserAdded(person=person), Audience(users=self.guests)

    def _by_email(self, row: UserRow) -> tuple[Audience | None, Audience | None]:
        """Those who may know the real address, and those who may know the user without it."""
        everyone = self.of_person(row)
        least = least_role_to_see_email(row)
        if least >= (GUEST if everyone is EVERYONE else MEMBER):
            return everyone, None
        if least == MEMBER:
            return MEMBERS, Audience(users=self.guests) if self.guests else None
        knowing = self.up_to(least)
        others = Audience(everyone=True, guests=everyone.guests, without=knowing)
        return (Audience(users=knowing) if least >= OWNER else None), others


async def who_know(tx: Tx, ground: Ground, row: UserRow) -> Audience:
    """Those who know the user, who has been there before."""
    connection = await tx.connection()
    onlookers = await Onlookers.of(
        connection,
        tx.realm_id,
        domain="",
        guests_know_everybody=ground.settings.guests_know_everybody(ground.graph),
        rows=[row],
    )
    return await onlookers.who_know(connection, tx.realm_id, row)
