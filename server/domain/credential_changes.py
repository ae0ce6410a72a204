"""What a change of credentials has revoked, as pages and emails say it."""

from typing import Final

import msgspec

from server.i18n import _, ngettext

FRESH_SECONDS: Final = 600
"""How long after a sign-in an account without a password may change its credentials."""
KEY_REPLACED: Final = _(
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
        browsers = ngettext(
            "You have been signed out of {count:,} other browser.",
            "You have been signed out of {count:,} other browsers.",
            self.sessions,
        )
        phones = ngettext(
            "Notifications no longer go to {count:,} phone, until the app signs in again.",
            "Notifications no longer go to {count:,} phones, until the app signs in again.",
            self.phones,
        )
        named = ngettext(
            "{count:,} named API key has been revoked.",
            "{count:,} named API keys have been revoked.",
            self.named_keys,
        )
        address = _("A pending change of the email address has been cancelled.")
        resets = _("Links for a new password that were mailed before no longer work.")
        exports = _("Links to the organization's exports have been replaced.")
        said: tuple[tuple[int, str], ...] = (
            (self.sessions, browsers),
            (self.api_key, KEY_REPLACED),
            (self.phones, phones),
            (self.named_keys, named),
            (self.address_changes, address),
            (self.resets, resets),
            (self.export_links, exports),
        )
        return [sentence for happened, sentence in said if happened]

    @property
    def still_working(self) -> str:
        """Return which keys still work; empty if none does."""
        left = self.named_keys_left
        if self.api_key:
            named = ngettext(
                "{count:,} named API key of the account still works.",
                "{count:,} named API keys of the account still work.",
                left,
            )
            return named if left else ""
        if not left:
            return _("The API key of the account still works.")
        return ngettext(
            "The API key and {count:,} named API key of the account still work.",
            "The API key and {count:,} named API keys of the account still work.",
            left,
        )
