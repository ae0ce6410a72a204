"""Notification rules: whether and why a message notifies a user by email or push."""

import re
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final, NamedTuple, Self

from server.domain.topic_policies import FOLLOWED, MUTED, UNMUTED
from server.domain.user_settings import UserSettings
from storage.ids import GroupId, UserId
from storage.notification_candidates import FactsRow

PRESENCE_TIMEOUT: Final = timedelta(seconds=140)
"""The period after a client's last poll in which its user is present.

Polls are written once a minute.
"""


class Reason(StrEnum):
    """The reason of a notification, with its wire name."""

    DIRECT = "direct_message"
    MENTIONED = "mentioned"
    """By name, or by a group of the user."""
    TOPIC_WILDCARD_WHERE_FOLLOWED = "topic_wildcard_mentioned_in_followed_topic"
    CHANNEL_WILDCARD_WHERE_FOLLOWED = "stream_wildcard_mentioned_in_followed_topic"
    TOPIC_WILDCARD = "topic_wildcard_mentioned"
    CHANNEL_WILDCARD = "stream_wildcard_mentioned"
    ALERT_WORD = "alert_word"
    FOLLOWED_BY_EMAIL = "followed_topic_email_notify"
    FOLLOWED_BY_PUSH = "followed_topic_push_notify"
    CHANNEL_BY_EMAIL = "stream_email_notify"
    CHANNEL_BY_PUSH = "stream_push_notify"


@dataclass(frozen=True, slots=True)
class NotificationFacts:
    """State of a message for a user who did not send it and is no bot."""

    row: FactsRow
    settings: UserSettings
    is_present: bool
    """Whether a client was active lately: it shows the message already."""

    @classmethod
    def of(cls, row: FactsRow, *, is_present: bool = False) -> Self:
        return cls(row, UserSettings.of(row.settings), is_present)

    @property
    def wants_to_hear_of_place(self) -> bool:
        """Whether neither the topic nor its channel is muted.

        The topic's policy takes precedence.
        """
        if self.row.policy == MUTED:
            return False
        return not self.row.channel_muted or self.row.policy in (UNMUTED, FOLLOWED)


class NotificationDecision(NamedTuple):
    """How a user is notified now, and whether to check again later."""

    email: Reason | None = None
    push: Reason | None = None
    look_again: bool = False
    """The user is present and has not read it: notify if they leave without reading."""

    @property
    def is_to_notify(self) -> bool:
        return self.email is not None or self.push is not None


NOTHING: Final = NotificationDecision()


def decide(facts: NotificationFacts, *, only_mentions: bool = False) -> NotificationDecision:
    """Return how a user is notified of a message.

    `only_mentions`: it is not new, but mentions them only now.
    """
    if not facts.row.is_unread or facts.row.mutes_sender:
        return NOTHING
    email = _by_email(facts, only_mentions=only_mentions)
    push = _by_push(facts, only_mentions=only_mentions)
    if not facts.is_present:
        return NotificationDecision(email, push)
    if facts.settings.enable_online_push_notifications:
        return NotificationDecision(None, push, look_again=email is not None)
    return NotificationDecision(look_again=email is not None or push is not None)


def _by_email(facts: NotificationFacts, *, only_mentions: bool) -> Reason | None:
    settings = facts.settings
    if settings.enable_offline_email_notifications and (reason := _personal(facts)):
        return reason
    if only_mentions or facts.row.is_direct or not facts.wants_to_hear_of_place:
        return None
    if facts.row.policy == FOLLOWED and settings.enable_followed_topic_email_notifications:
        return Reason.FOLLOWED_BY_EMAIL
    if _own(facts.row.own_email, settings.enable_stream_email_notifications):
        return Reason.CHANNEL_BY_EMAIL
    return None


def _by_push(facts: NotificationFacts, *, only_mentions: bool) -> Reason | None:
    settings = facts.settings
    if settings.enable_offline_push_notifications and (reason := _personal(facts)):
        return reason
    if only_mentions or facts.row.is_direct or not facts.wants_to_hear_of_place:
        return None
    if facts.row.policy == FOLLOWED and settings.enable_followed_topic_push_notifications:
        return Reason.FOLLOWED_BY_PUSH
    if _own(facts.row.own_push, settings.enable_stream_push_notifications):
        return Reason.CHANNEL_BY_PUSH
    return None


def _personal(facts: NotificationFacts) -> Reason | None:
    """Return why the message concerns the user personally; the strongest reason.

    Only a direct message or a mention by name or group overrides muting.
    """
    settings = facts.settings
    hears = facts.wants_to_hear_of_place
    wildcards = hears and _own(facts.row.own_wildcards, settings.wildcard_mentions_notify)
    where_followed = (
        facts.row.policy == FOLLOWED and settings.enable_followed_topic_wildcard_mentions_notify
    )
    ranked = (
        (facts.row.is_direct, Reason.DIRECT),
        (facts.row.is_mentioned, Reason.MENTIONED),
        (where_followed and facts.row.topic_wildcard, Reason.TOPIC_WILDCARD_WHERE_FOLLOWED),
        (where_followed and facts.row.channel_wildcard, Reason.CHANNEL_WILDCARD_WHERE_FOLLOWED),
        (wildcards and facts.row.topic_wildcard, Reason.TOPIC_WILDCARD),
        (wildcards and facts.row.channel_wildcard, Reason.CHANNEL_WILDCARD),
        (hears and facts.row.has_alert_word, Reason.ALERT_WORD),
    )
    for applies, reason in ranked:
        if applies:
            return reason
    return None


def _own(own: bool | None, general: bool) -> bool:  # noqa: FBT001 - two values of one setting
    return general if own is None else own


class Mentions(NamedTuple):
    """The notifying mentions of a message."""

    user_ids: frozenset[UserId]
    group_ids: frozenset[GroupId]


_USER: Final = re.compile(r'<span class="user-mention" data-user-id="(\d+)">')
_GROUP: Final = re.compile(r'<span class="user-group-mention" data-user-group-id="(\d+)">')


def mentions_in(html: str) -> Mentions:
    """Return the mentions in rendered HTML; text that looks like it is escaped there."""
    return Mentions(
        frozenset(UserId(int(found)) for found in _USER.findall(html)),
        frozenset(GroupId(int(found)) for found in _GROUP.findall(html)),
    )
