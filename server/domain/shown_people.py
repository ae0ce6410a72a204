"""How a person is shown to a viewer: name, address and avatar.

Whatever shows people to people uses this module: messages, events, notifications, texts that the
server writes, and look-ups by address. Ids are never hidden, and neither are messages.

`RealmCache.sight` reads which people a guest may know, from storage/shared_contacts.py;
server/realtime/contacts.py follows it for live event queues.
"""

from dataclasses import dataclass
from typing import Final, Protocol

from server.domain.addresses import RealmAddress
from server.domain.avatars import Avatar, AvatarOwner, avatar_of, avatar_of_unknown
from server.domain.profiles import (
    hidden_email,
    knows_email,
    public_email,
    user_id_of_hidden_email,
)
from storage.ids import UserId
from storage.users import UserRow

INACCESSIBLE_NAME: Final = "Unknown user"
"""Name shown for a person that the viewer may not know."""


class Portrayed(AvatarOwner, Protocol):
    """The fields of a person that their display needs."""

    @property
    def full_name(self) -> str: ...


@dataclass(frozen=True, slots=True)
class ShownPerson:
    """A person as one viewer may see them."""

    user_id: UserId
    full_name: str
    email: str
    avatar: Avatar


def inaccessible_person(
    user_id: UserId, address: RealmAddress, *, name: str = INACCESSIBLE_NAME
) -> ShownPerson:
    """Return the person for viewers who may not know them: only the id is real."""
    return ShownPerson(
        user_id,
        name,
        hidden_email(user_id, address.domain),
        avatar_of_unknown(user_id, address),
    )


@dataclass(frozen=True, slots=True)
class PeopleVisibility:
    """Which of some people a viewer may know: all but `strangers`.

    A spectator may see names and uploaded avatars, and nothing derived from an address.
    """

    strangers: frozenset[UserId] = frozenset()
    is_spectator: bool = False

    def shown(
        self, row: Portrayed, address: RealmAddress, *, unknown: str = INACCESSIBLE_NAME
    ) -> ShownPerson:
        """Return the person as the viewer may see them; `address` is the realm's URL.

        `unknown` is the name shown for inaccessible people, in the viewer's language.
        """
        if row.user_id in self.strangers:
            return inaccessible_person(row.user_id, address, name=unknown)
        email, avatar = public_email(row, address.domain), avatar_of(row, address)
        if self.is_spectator:
            email = hidden_email(row.user_id, address.domain)
            if row.avatar_key is None:
                avatar = avatar_of_unknown(row.user_id, address)
        return ShownPerson(row.user_id, row.full_name, email, avatar)

    def name(self, user_id: UserId, full_name: str) -> str:
        """Return the person's name for the viewer."""
        return INACCESSIBLE_NAME if user_id in self.strangers else full_name

    def is_found_by(self, viewer: UserRow, row: UserRow, email: str, domain: str) -> bool:
        """Return whether an address of the person identifies them to this viewer.

        A generated address always does, the real one if the viewer may know it. Any other must get
        the same response as an address that does not exist.
        """
        if user_id_of_hidden_email(email, domain) == row.user_id:
            return True
        if self.is_spectator or row.user_id in self.strangers:
            return False
        return knows_email(viewer, row)


EVERYTHING: Final = PeopleVisibility()
FROM_THE_WEB: Final = PeopleVisibility(is_spectator=True)
