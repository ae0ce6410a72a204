"""Account emails about changes: one struct for each kind of email.

Each has a template of its own in server/mail/templates/, named after its tag.
"""

from datetime import UTC, datetime
from typing import ClassVar
from zoneinfo import ZoneInfo

import msgspec

from server.domain.credential_changes import Ended
from server.domain.unsubscribing import SIGN_INS, WELCOMES


class News(msgspec.Struct, frozen=True):
    """Base of all account emails."""

    stopped_as: ClassVar[str] = ""
    """The kind of emails that a link unsubscribes from (server/domain/unsubscribing.py)."""


class Deactivated(News, frozen=True, tag="account_deactivated"):
    """An administrator has deactivated the account."""

    comment: str = ""
    """The administrator's comment."""

    def subject(self, realm_name: str) -> str:
        return f"Your account at {realm_name} has been deactivated"


class PasswordChanged(News, frozen=True, tag="account_password_changed"):
    """The account's password has changed."""

    ended: Ended | None = None
    """None if the job comes from a release without this field."""

    def subject(self, realm_name: str) -> str:
        return f"Your password for {realm_name} was changed"


class AddressChanged(News, frozen=True, tag="account_address_changed"):
    """The account's address has changed; sent to the old one."""

    new_address: str
    ended: Ended | None = None

    def subject(self, realm_name: str) -> str:
        return f"Your address at {realm_name} was changed"


class KeysReplaced(News, frozen=True, tag="account_keys_replaced"):
    """The account's API key has been replaced."""

    ended: Ended

    def subject(self, realm_name: str) -> str:
        return f"Your API key for {realm_name} was replaced"


class Closed(News, frozen=True, tag="account_closed"):
    """The user has deactivated their own account."""

    ended: Ended

    def subject(self, realm_name: str) -> str:
        return f"Your account at {realm_name} was closed"


class Welcome(News, frozen=True, tag="account_welcome"):
    """The account has been created."""

    stopped_as: ClassVar[str] = WELCOMES

    def subject(self, realm_name: str) -> str:
        return f"Welcome to {realm_name}"


class SignedIn(News, frozen=True, tag="account_signed_in"):
    """A sign-in with an unknown browser, or with an app."""

    stopped_as: ClassVar[str] = SIGN_INS

    at: datetime
    timezone: str
    """Time zone of the recipient; empty if unknown."""
    device: str | None
    """None if the client does not identify itself."""
    has_password_here: bool = True
    """Whether the account has a password here, and not at an identity provider or directory."""

    @property
    def when(self) -> str:
        """Return the time in the recipient's time zone, formatted."""
        zone = ZoneInfo(self.timezone) if self.timezone else UTC
        return f"{self.at.astimezone(zone):%A, %Y-%m-%d, %H:%M} ({self.timezone or 'UTC'})"

    def subject(self, realm_name: str) -> str:
        return f"New sign-in to your account at {realm_name}"


AccountNews = (
    Deactivated | PasswordChanged | AddressChanged | KeysReplaced | Closed | Welcome | SignedIn
)
"""All kinds of account emails."""
