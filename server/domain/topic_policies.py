"""Visibility policies of topics, and those gained by participation."""

from typing import Final, Literal

from server.domain.user_settings import UserSettings

NONE: Final = 0
MUTED: Final = 1
UNMUTED: Final = 2
FOLLOWED: Final = 3
"""Visibility policies, as on the wire: of those that are gained, the higher one counts."""

Participation = Literal["react", "send", "start"]
_INCLUDING: Final[dict[Participation, tuple[int, ...]]] = {
    "react": (1,),
    "send": (1, 2),
    "start": (1, 2, 3),
}
"""Values of UserSettings' policies that include it: 1 any part, 2 sending, 3 starting."""


def policy_gained(settings: UserSettings, part: Participation, *, in_muted: bool) -> int | None:
    """Return the policy for a topic that a user with these settings gains by participating.

    `in_muted`: they have muted its channel.
    """
    when = _INCLUDING[part]
    if settings.automatically_follow_topics_policy in when:
        return FOLLOWED
    if in_muted and settings.automatically_unmute_topics_in_muted_streams_policy in when:
        return UNMUTED
    return None
