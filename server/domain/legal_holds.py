"""Rules of legal holds."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from server.domain.errors import InvalidParameterError
from server.i18n import _
from storage.ids import ChannelId, UserId

MAX_NAME_LENGTH: Final = 100
MAX_REASON_LENGTH: Final = 2_000
MAX_IDS: Final = 1_000
"""Users, or channels, in one hold."""
MAX_ACTIVE: Final = 100
"""Active holds in an organization."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldScope:
    """What a hold covers: the organization, or users and channels; within a range of time."""

    is_realm_wide: bool
    user_ids: Sequence[UserId] = ()
    channel_ids: Sequence[ChannelId] = ()
    sent_from: datetime | None = None
    sent_until: datetime | None = None

    def check(self) -> None:
        """Raise InvalidParameterError for a scope that covers nothing, or contradicts itself."""
        named = bool(self.user_ids or self.channel_ids)
        if self.is_realm_wide and named:
            raise InvalidParameterError(
                "whole_organization", _("A hold is on the whole organization, or on some of it.")
            )
        if not self.is_realm_wide and not named:
            raise InvalidParameterError(
                "user_ids", _("A hold needs users, channels or the whole organization.")
            )
        for name, ids in (("user_ids", self.user_ids), ("channel_ids", self.channel_ids)):
            if len(ids) > MAX_IDS:
                raise InvalidParameterError(name, _("Too many ids (limit: {limit})", limit=MAX_IDS))
        if (
            self.sent_from is not None
            and self.sent_until is not None
            and self.sent_from >= self.sent_until
        ):
            raise InvalidParameterError("sent_until", _("The range of time is empty."))


def checked_text(parameter: str, text: str, *, limit: int) -> str:
    """Return the text without blanks around it.

    Raises InvalidParameterError unless it has 1 to `limit` characters, without null characters.
    """
    text = text.strip()
    if not 1 <= len(text) <= limit or "\0" in text:
        raise InvalidParameterError(
            parameter, _("{name}: 1 to {limit} characters", name=parameter, limit=limit)
        )
    return text
