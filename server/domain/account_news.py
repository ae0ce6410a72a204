"""What people are told of their accounts by email: one struct for each kind of mail.

Each has a template of its own in server/mail/templates/, named after its tag.
"""

from datetime import UTC, datetime
from typing import ClassVar
from zoneinfo import ZoneInfo

import msgspec

from server.domain.credential_changes import Ended
from server.domain.unsubscribing import SIGN_INS, WELCOMES


class News(msgspec.Struct, frozen=True):
    """What is told."""

    stopped_as: ClassVar[str] = ""
    """The kind of emails that people may have no more of (server/domain/unsubscribing.py)."""


class Deactivated(News, frozen=True, tag="account_deactivated"):
    """An administrator has closed the account."""

    comment: str = ""
    """What they say about it."""

    def subject(self, realm_name: str) -> str:
        return f"Your account at {realm_name} has been deactivated"


class PasswordChanged(News, frozen=True, tag="account_password_changed"):
    """The account has another password."""

    ended: Ended | None = None
    """None: a release that did not say so has asked."""

    def subject(self, realm_name: str) -> str:
        return f"Your password for {realm_name} was changed"


class AddressChanged(News, frozen=True, tag="account_address_changed"):
    """The account has another address than the one that this goes to."""

    new_address: str
    ended: Ended | None = None

    def subject(self, realm_name: str) -> str:
        return f"Your address at {realm_name} was changed"


class KeysReplaced(News, frozen=True, tag="account_keys_replaced"):
    """The account has another API key."""

    ended: Ended

    def subject(self, realm_name: str) -> str:
        return f"Your API key for {realm_name} was replaced"


class Closed(News, frozen=True, tag="account_closed"):
    """Its owner has closed the account."""

    ended: Ended

    def subject(self, realm_name: str) -> str:
        return f"Your account at {realm_name} was closed"


class Welcome(News, frozen=True, tag="account_welcome"):
    """The account is there."""

    stopped_as: ClassVar[str] = WELCOMES

    def subject(self, realm_name: str) -> str:
        return f"Welcome to {realm_name}"


class SignedIn(News, frozen=True, tag="account_signed_in"):
    """Somebody has signed in with a browser that is new to the account, or with an app."""

    stopped_as: ClassVar[str] = SIGN_INS

    at: datetime
    timezone: str
    """Of whoever reads it; empty: not known."""
    device: str | None
    """None: it does not say what it is."""
    has_password_here: bool = True
    """Or where the organization's people are known: only there another one can be chosen."""

    @property
    def when(self) -> str:
        """The time as people say it where they are."""
        zone = ZoneInfo(self.timezone) if self.timezone else UTC
        return f"{self.at.astimezone(zone):%A, %Y-%m-%d, %H:%M} ({self.timezone or 'UTC'})"

    def subject(self, realm_name: str) -> str:
        return f"New sign-in to your account at {realm_name}"


AccountNews = (
    Deactivated | PasswordChanged | AddressChanged | KeysReplaced | Closed | Welcome | SignedIn
)
"""All kinds."""
