"""What people are told of their accounts by email: one struct for each kind of mail.

Each has a template of its own in server/mail/templates/, named after its tag.
"""

import msgspec


class Deactivated(msgspec.Struct, frozen=True, tag="account_deactivated"):
    """An administrator has closed the account."""

    comment: str = ""
    """What they say about it."""

    def subject(self, realm_name: str) -> str:
        return f"Your account at {realm_name} has been deactivated"


class PasswordChanged(msgspec.Struct, frozen=True, tag="account_password_changed"):
    """The account has another password."""

    def subject(self, realm_name: str) -> str:
        return f"Your password for {realm_name} was changed"


class AddressChanged(msgspec.Struct, frozen=True, tag="account_address_changed"):
    """The account has another address than the one that this goes to."""

    new_address: str

    def subject(self, realm_name: str) -> str:
        return f"Your address at {realm_name} was changed"


AccountNews = Deactivated | PasswordChanged | AddressChanged
"""All kinds."""
