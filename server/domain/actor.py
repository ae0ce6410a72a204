"""Who makes a request."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from server.domain.access import GUEST, Person
from server.domain.api_keys import Scope, Scopes, reaches
from storage.ids import Position, RealmId, UserId
from storage.users import UserRow

SPECTATOR_ID: Final = UserId(0)
"""Stands for whoever has no account; no user has it."""

# Names under which clients with a person at them introduce themselves: what a user sends
# there is read by them. Bots and scripts use other names.
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
    """What the key reaches by which they are known; None: all that they may do."""

    def using(self, client: str) -> "Actor":
        """Return the same with another client."""
        return Actor(self.realm_id, self.row, client, self.scopes)

    def reaches(self, needed: Scope) -> bool:
        """Return whether they are known by something that opens what needs this scope."""
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
        """Whether it is a user without an account, who sees what is public to the web."""
        return self.row.user_id == SPECTATOR_ID

    @property
    def is_bot(self) -> bool:
        return self.row.bot_type is not None

    @property
    def person(self) -> Person:
        return Person(self.row.user_id, self.row.role, self.row.date_joined, is_bot=self.is_bot)

    @property
    def has_person_at_client(self) -> bool:
        """Whether a user sits at this client, who sees what they send."""
        name = self.client.lower().replace("-", "").replace("_", "").replace(" ", "")
        return name.startswith(_CLIENTS_WITH_A_PERSON)


def spectator(realm_id: RealmId, settings: Mapping[str, Any], now: datetime) -> Actor:
    """Somebody without an account: a guest who is in no channel, with the realm's defaults."""
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
