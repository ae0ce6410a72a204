"""The actor of a request."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from server.domain.access import GUEST, Person
from server.domain.api_keys import Scope, Scopes, reaches
from storage.ids import Position, RealmId, UserId
from storage.users import UserRow

SPECTATOR_ID: Final = UserId(0)
"""User id of spectators, who have no account; no user has it."""

# Names of clients with a person at them, who reads what they send. Bots and scripts use other
# names.
_CLIENTS_WITH_A_PERSON = (
    "zulipmobile",
    "zulipelectron",
    "zulipdesktop",
    "zulipterminal",
    "zulipflutter",
    "website",
    "ios",
    "android",
    "snipe",
    "barnowl",
)


@dataclass(frozen=True, slots=True)
class Actor:
    """An active user of the realm, and the client that they use."""

    realm_id: RealmId
    row: UserRow
    client: str = "Unspecified"
    scopes: Scopes | None = None
    """Scopes of the API key; None: all that the user may do."""

    def using(self, client: str) -> "Actor":
        """Return the same actor with another client."""
        return Actor(self.realm_id, self.row, client, self.scopes)

    def reaches(self, needed: Scope) -> bool:
        """Return whether the credentials have this scope."""
        return self.scopes is None or reaches(self.scopes, needed)

    @property
    def user_id(self) -> UserId:
        return self.row.user_id

    @property
    def role(self) -> int:
        return self.row.role

    @property
    def is_guest(self) -> bool:
        return self.row.role == GUEST

    @property
    def is_spectator(self) -> bool:
        """Whether it is a spectator: without an account, limited to web-public content."""
        return self.row.user_id == SPECTATOR_ID

    @property
    def is_bot(self) -> bool:
        return self.row.bot_type is not None

    @property
    def person(self) -> Person:
        return Person(self.row.user_id, self.row.role, self.row.date_joined, is_bot=self.is_bot)

    @property
    def has_person_at_client(self) -> bool:
        """Whether a person uses this client, and so sees what they send."""
        name = self.client.lower().replace("-", "").replace("_", "").replace(" ", "")
        return name.startswith(_CLIENTS_WITH_A_PERSON)


def spectator(realm_id: RealmId, settings: Mapping[str, Any], now: datetime) -> Actor:
    """Return an actor for spectators: a guest in no channel, with the realm's defaults."""
    row = UserRow(
        user_id=SPECTATOR_ID,
        email="",
        full_name="Anonymous",
        role=GUEST,
        is_active=True,
        bot_type=None,
        bot_owner_id=None,
        is_system_bot=False,
        api_key="",
        avatar_key=None,
        avatar_version=1,
        timezone="",
        date_joined=now,
        settings=dict(settings),
        changed_at=Position(0),
    )
    return Actor(realm_id, row)
