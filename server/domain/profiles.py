"""Email visibility: a user's public address, and who may know the real one."""

import re
from typing import Any, Protocol

from server.domain import user_settings
from server.domain.access import ADMINISTRATOR, GUEST, MEMBER, MODERATOR, OWNER
from server.domain.user_settings import UserSettings
from storage.ids import UserId
from storage.users import UserRow

_HIDDEN_EMAIL = re.compile(r"user([0-9]{1,18})@([^@]+)")
_LEAST_ROLE_TO_SEE = {
    user_settings.EVERYONE: GUEST,
    user_settings.MEMBERS: MEMBER,
    user_settings.MODERATORS: MODERATOR,
    user_settings.ADMINISTRATORS: ADMINISTRATOR,
    user_settings.NOBODY: OWNER - 1,
}


class Addressed(Protocol):
    """The fields of a user that decide their public address."""

    @property
    def user_id(self) -> UserId: ...

    @property
    def email(self) -> str: ...

    @property
    def settings(self) -> dict[str, Any]: ...


def least_role_to_see_email(row: Addressed) -> int:
    """Return the largest role number of those who may know the user's real address."""
    return _LEAST_ROLE_TO_SEE[UserSettings.of(row.settings).email_address_visibility]


def hides_email(row: Addressed) -> bool:
    """Return whether the real address is hidden from any user."""
    return least_role_to_see_email(row) < GUEST


def knows_email(viewer: UserRow, row: UserRow) -> bool:
    """Return whether the viewer may know the user's real address."""
    return viewer.user_id == row.user_id or viewer.role <= least_role_to_see_email(row)


def public_email(row: Addressed, domain: str) -> str:
    """Return the public address: the real one, or a generated one if that is hidden.

    `domain` is that of the realm's URL.
    """
    return hidden_email(row.user_id, domain) if hides_email(row) else row.email


def hidden_email(user_id: int, domain: str) -> str:
    """Return the generated address in place of a hidden one."""
    return f"user{user_id}@{domain}"


def user_id_of_hidden_email(email: str, domain: str) -> int | None:
    """Return the user of a generated address, or None if it is a real one."""
    found = _HIDDEN_EMAIL.fullmatch(email.lower())
    return int(found[1]) if found and found[2] == domain.lower() else None
