"""What a change of credentials has revoked, as pages and emails say it."""

from typing import Final

import msgspec

from server.runtime.formatting import counted

FRESH_SECONDS: Final = 600
"""How long after a sign-in an account without a password may change its credentials."""
KEY_REPLACED: Final = (
    "The API key has been replaced: apps and programs that use it have to sign in again."
)


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of what has been revoked, and of what still works."""

    sessions: int = 0
    address_changes: int = 0
    resets: int = 0
    export_links: int = 0
    api_key: bool = False
    """Whether the account's own key has been replaced."""
    phones: int = 0
    """Devices that no longer get notifications."""
    named_keys: int = 0
    named_keys_left: int = 0

    @property
    def sentences(self) -> list[str]:
        """Return one sentence for each kind of thing that was revoked."""
        browsers = counted(self.sessions, "other browser", "other browsers")
        named = counted(self.named_keys, "named API key has", "named API keys have")
        phones = counted(self.phones, "phone", "phones")
        said: tuple[tuple[int, str], ...] = (
            (self.sessions, f"You have been signed out of {browsers}."),
            (self.api_key, KEY_REPLACED),
            (self.phones, f"Notifications no longer go to {phones}, until the app signs in again."),
            (self.named_keys, f"{named} been revoked."),
            (self.address_changes, "A pending change of the email address has been cancelled."),
            (self.resets, "Links for a new password that were mailed before no longer work."),
            (self.export_links, "Links to the organization's exports have been replaced."),
        )
        return [sentence for happened, sentence in said if happened]

    @property
    def still_working(self) -> str:
        """Return which keys still work; empty if none does."""
        if self.api_key and not self.named_keys_left:
            return ""
        keys = counted(self.named_keys_left, "named API key", "named API keys")
        is_one = self.named_keys_left == 1
        if not self.api_key:
            is_one = self.named_keys_left == 0
            keys = "The API key" if is_one else f"The API key and {keys}"
        return f"{keys} of the account still {'works' if is_one else 'work'}."
