"""Account emails about changes: one struct for each kind of email.

Each has a template of its own in server/mail/templates/, named after its tag.
"""

from datetime import UTC, datetime
from typing import ClassVar, Literal
from zoneinfo import ZoneInfo

import msgspec

from server.domain.browsers import device_in_words
from server.domain.credential_changes import Ended
from server.domain.unsubscribing import SIGN_INS, WELCOMES
from server.i18n import _, localized_date, ngettext


class News(msgspec.Struct, frozen=True):
    """Base of all account emails."""

    stopped_as: ClassVar[str] = ""
    """The kind of emails that a link unsubscribes from (server/domain/unsubscribing.py)."""


class Deactivated(News, frozen=True, tag="account_deactivated"):
    """An administrator has deactivated the account."""

    comment: str = ""
    """The administrator's comment."""

    def subject(self, realm_name: str) -> str:
        return _("Your account at {realm} has been deactivated", realm=realm_name)


class PasswordChanged(News, frozen=True, tag="account_password_changed"):
    """The account's password has changed."""

    ended: Ended | None = None
    """None if the job comes from a release without this field."""

    def subject(self, realm_name: str) -> str:
        return _("Your password for {realm} was changed", realm=realm_name)


class AddressChanged(News, frozen=True, tag="account_address_changed"):
    """The account's address has changed; sent to the old one."""

    new_address: str
    ended: Ended | None = None

    def subject(self, realm_name: str) -> str:
        return _("Your address at {realm} was changed", realm=realm_name)


class KeysReplaced(News, frozen=True, tag="account_keys_replaced"):
    """The account's API key has been replaced."""

    ended: Ended

    def subject(self, realm_name: str) -> str:
        return _("Your API key for {realm} was replaced", realm=realm_name)


class Closed(News, frozen=True, tag="account_closed"):
    """The user has deactivated their own account."""

    ended: Ended

    def subject(self, realm_name: str) -> str:
        return _("Your account at {realm} was closed", realm=realm_name)


class Welcome(News, frozen=True, tag="account_welcome"):
    """The account has been created."""

    stopped_as: ClassVar[str] = WELCOMES

    def subject(self, realm_name: str) -> str:
        return _("Welcome to {realm}", realm=realm_name)


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

    def when(self, language: str) -> str:
        """Return the time in the recipient's time zone, formatted."""
        there = self.at.astimezone(ZoneInfo(self.timezone) if self.timezone else UTC)
        return f"{localized_date(there, language)}, {there:%H:%M} ({self.timezone or 'UTC'})"

    @property
    def device_in_words(self) -> str:
        """Return the client, to be translated."""
        if self.device is None:
            return _("a browser or program that does not say what it is")
        return device_in_words(self.device)

    def subject(self, realm_name: str) -> str:
        return _("New sign-in to your account at {realm}", realm=realm_name)


class SecondFactorsChanged(News, frozen=True, kw_only=True, tag="account_second_factors"):
    """The account's second factors, or its recovery codes, have changed."""

    change: Literal["added", "removed", "codes", "reset"]
    """`codes`: the recovery codes were replaced; `reset`: others have removed everything."""
    name: str = ""
    """The factor that was added or removed."""
    are_left: bool
    """Whether the account still has a second factor."""
    ended: Ended | None = None

    def with_ended(self, ended: Ended) -> "SecondFactorsChanged":
        """Return the same with what the change has revoked."""
        return msgspec.structs.replace(self, ended=ended)

    def subject(self, realm_name: str) -> str:
        return _("The second factors of your account at {realm} changed", realm=realm_name)


class RecoveryCodeUsed(News, frozen=True, tag="account_recovery_code"):
    """A sign-in used one of the account's recovery codes."""

    left: int

    @property
    def left_in_words(self) -> str:
        """Return how many codes are left, to be translated."""
        return ngettext("{count} code is left.", "{count} codes are left.", self.left)

    def subject(self, realm_name: str) -> str:
        return _("A recovery code of your account at {realm} was used", realm=realm_name)


AccountNews = (
    Deactivated
    | PasswordChanged
    | AddressChanged
    | KeysReplaced
    | Closed
    | Welcome
    | SignedIn
    | SecondFactorsChanged
    | RecoveryCodeUsed
)
"""All kinds of account emails."""
