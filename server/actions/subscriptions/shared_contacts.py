"""Contacts of restricted guests: users that they come to know, or know no longer."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from server.actions.access.diff import AccessState
from server.actions.locked_realm import LockedRealm
from server.actions.presence import introduce
from server.domain.access import GUEST
from server.domain.profiles import least_role_to_see_email
from server.events.base import MAX_WIRE_EVENTS, to_users
from server.events.users import UsersForgotten, UsersIntroduced, inaccessible_user, shown_user
from server.runtime.grouping import grouped
from server.transactions import Tx
from storage import profile_data, shared_contacts, subscriptions, users
from storage.database import Connection
from storage.ids import UserId
from storage.profile_data import NO_DATA
from storage.users import UserRow

PEOPLE_PER_ENTRY: Final = MAX_WIRE_EVENTS // 2
"""Maximum number of users per entry: a removed one takes two events on the wire."""


@dataclass(frozen=True, slots=True)
class Acquaintance:
    """The guests concerned by a change of these channels, with their contacts before it."""

    known: Mapping[UserId, frozenset[UserId]]

    @classmethod
    async def before(cls, connection: Connection, state: AccessState) -> "Acquaintance":
        """Return the contacts before the change; none if guests may know all users."""
        context = state.context
        if context.settings.guests_know_all_users(context.graph):
            return cls({})
        realm_id = context.realm.realm_id
        there = await subscriptions.ids_with_role(
            connection, realm_id, list(state.channels), role=GUEST
        )
        guests = {row.user_id for row in context.people.values() if row.role == GUEST}
        guests.update(there)
        return cls(await shared_contacts.known_to_each(connection, realm_id, sorted(guests)))

    async def append_events(self, tx: Tx, connection: Connection, context: LockedRealm) -> None:
        """Publish, after the change, new contacts to each guest, and remove lost ones."""
        if not self.known:
            return
        known = await shared_contacts.known_to_each(connection, tx.realm_id, sorted(self.known))
        met = {user_id: known[user_id] - before for user_id, before in self.known.items()}
        lost = {user_id: before - known[user_id] for user_id, before in self.known.items()}
        concerned = {u for changed in (met, lost) for ids in changed.values() for u in ids}
        rows = {
            row.user_id: row
            for row in await users.by_ids(connection, tx.realm_id, sorted(concerned))
            if row.bot_type is None
        }
        said = await profile_data.of_users(connection, tx.realm_id, sorted(rows))
        address = (await tx.realm_cache()).address_of(context.realm)
        for guests, some in _entries(met, rows):
            shown = [
                shown_user(
                    row,
                    address,
                    knows_email=least_role_to_see_email(row) >= GUEST,
                    profile=said.get(row.user_id, NO_DATA),
                )
                for row in some
            ]
            tx.append(UsersIntroduced(people=shown), to_users(*guests))
            await introduce(tx, connection, context, some, to_users(*guests), domain=address.domain)
        for guests, some in _entries(lost, rows):
            hidden = [inaccessible_user(row, address) for row in some]
            tx.append(UsersForgotten(people=hidden), to_users(*guests))


def _entries(
    changes: Mapping[UserId, frozenset[UserId]], rows: Mapping[UserId, UserRow]
) -> Iterator[tuple[list[UserId], list[UserRow]]]:
    """Yield guests with the same changes, and as many changes as an entry may hold."""
    concerned = {
        guest: tuple(sorted(user_ids.intersection(rows))) for guest, user_ids in changes.items()
    }
    alike = grouped((same, guest) for guest, same in concerned.items() if same)
    for same, guests in alike.items():
        for start in range(0, len(same), PEOPLE_PER_ENTRY):
            yield guests, [rows[u] for u in same[start : start + PEOPLE_PER_ENTRY]]
