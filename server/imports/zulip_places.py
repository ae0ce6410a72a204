"""Read channels, memberships and conversations from an export of Zulip."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Final

from server.domain.channel_creation import KEPT_FOR_EVER, MAX_RETENTION_DAYS
from server.domain.messages import NO_TOPIC
from server.domain.names import fold_name
from server.domain.realm_settings import NEW_REALM
from server.domain.resolved_topics import base_name
from server.domain.topic_policies import FOLLOWED, MUTED, UNMUTED
from server.i18n import marked
from server.imports.records import (
    Channel,
    DirectConversation,
    SubscriptionChoices,
    TopicPolicy,
)
from server.imports.report import ImportReport
from server.imports.zulip_files import Row, ZulipFiles, id_of, key_of, text_of, time_of
from server.imports.zulip_groups import ZulipGroups

PERSONAL, CHANNEL, GROUP = 1, 2, 3
"""Types of recipients."""
_JOINED: Final = frozenset({301, 302, "subscription_created", "subscription_activated"})
"""Types of events: subscribed for the first time, and again."""
_TOPIC_POLICIES: Final = {2: "allow_empty_topic", 3: "disable_empty_topic", 4: "empty_topic_only"}
_COLOR: Final = re.compile(r"#[0-9a-f]{6}", re.IGNORECASE)
_NOTIFICATIONS: Final = (
    "desktop_notifications",
    "audible_notifications",
    "push_notifications",
    "email_notifications",
    "wildcard_mentions_notify",
)


class ZulipPlaces:
    """Channels and conversations, given what the ids of recipients mean."""

    def __init__(
        self,
        files: ZulipFiles,
        recipients: Mapping[int, tuple[int, int]],
        groups: ZulipGroups,
        report: ImportReport,
    ) -> None:
        self._files = files
        self._recipients = recipients
        self._groups = groups
        self._report = report
        self._members: dict[str, list[str]] = {}
        """Of channels, by their keys."""
        self._colors: dict[str, list[str]] = {}
        """Of their members, in the same order."""
        self._choices: dict[str, dict[str, SubscriptionChoices]] = {}
        self._direct: dict[str, list[str]] = {}
        """Members of conversations in groups, by the keys of the conversations."""
        self._read_subscriptions()

    def channels(self) -> Iterator[Channel]:
        joined = self._joined()
        defaults = {
            id_of(row.get("stream")) for _, row in self._files.realm("zerver_defaultstream")
        }
        for _, row in self._files.realm("zerver_stream"):
            key = key_of(row.get("id"))
            if not key:
                self._report.remark(marked("channels without a number were left out"))
                continue
            yield Channel(
                key=key,
                name=text_of(row.get("name")),
                members=self._members.get(key, ()),
                colors=self._colors.get(key, ()),
                choices=self._choices.get(key, {}),
                description=text_of(row.get("description")),
                since=joined.get(key),
                is_private=bool(row.get("invite_only")),
                is_web_public=bool(row.get("is_web_public")),
                is_archived=bool(row.get("deactivated")),
                is_default=int(key) in defaults,
                creator=key_of(row.get("creator")) or None,
                created_at=time_of(row.get("date_created")),
                permissions=self._groups.of_channel(row),
                topics_policy=_TOPIC_POLICIES.get(id_of(row.get("topics_policy")) or 1, "inherit"),
                retention_days=_retention_of(row),
            )

    def conversations(self) -> Iterator[DirectConversation]:
        for key, people in self._direct.items():
            yield DirectConversation(key=key, members=people)
        for pair in self._pairs():
            yield DirectConversation(key=pair_key(*pair), members=tuple(map(str, set(pair))))

    def _read_subscriptions(self) -> None:
        texts: dict[object, str] = {}
        for _, row in self._files.realm("zerver_subscription"):
            person, recipient = key_of(row.get("user_profile")), id_of(row.get("recipient"))
            kind, number = self._recipients.get(recipient or 0, (0, 0))
            if not person or not kind:
                self._report.remark(marked("memberships of unknown conversations were left out"))
                continue
            # One text for all memberships of a person, and for all of one color.
            person = texts.setdefault(person, person)
            if kind == CHANNEL and row.get("active") is True:
                key = str(number)
                color = text_of(row.get("color"))
                color = color if _COLOR.fullmatch(color) else ""
                self._members.setdefault(key, []).append(person)
                self._colors.setdefault(key, []).append(texts.setdefault(color, color))
                choices = _choices_of(row)
                if choices != SubscriptionChoices():
                    self._choices.setdefault(key, {})[person] = choices
            elif kind == GROUP:
                self._direct.setdefault(f"group {recipient}", []).append(person)

    def _joined(self) -> dict[str, dict[str, datetime]]:
        """Return when people last joined the channels of which they may not read the past."""
        joined: dict[str, dict[str, datetime]] = {
            key_of(row.get("id")): {}
            for _, row in self._files.realm("zerver_stream")
            if row.get("invite_only") and row.get("history_public_to_subscribers") is not True
        }
        for _, row in self._files.realm("zerver_realmauditlog") if joined else ():
            people = joined.get(key_of(row.get("modified_stream")))
            person, moment = key_of(row.get("modified_user")), time_of(row.get("event_time"))
            if people is None or moment is None or row.get("event_type") not in _JOINED:
                continue
            if person in people:
                reason = marked(
                    "people who left and rejoined see no history from before they rejoined"
                )
                self._report.remark(reason)
            people[person] = max(moment, people.get(person, moment))
        return joined

    def _pairs(self) -> set[tuple[int, int]]:
        """Return the participants of conversations that only messages name."""
        pairs: set[tuple[int, int]] = set()
        for _, row in self._files.messages("zerver_message"):
            kind, number = self._recipients.get(id_of(row.get("recipient")) or 0, (0, 0))
            sender = id_of(row.get("sender"))
            if kind == PERSONAL and sender is not None:
                pairs.add((min(sender, number), max(sender, number)))
        return pairs


def topic_policies_in(files: ZulipFiles) -> Iterator[TopicPolicy]:
    """Yield which topics people follow, mute and do not mute."""
    for table, row in files.realm("zerver_usertopic", "zerver_mutedtopic"):
        policy = MUTED if table == "zerver_mutedtopic" else row.get("visibility_policy")
        person, channel = key_of(row.get("user_profile")), key_of(row.get("stream"))
        if person and channel and policy in (MUTED, UNMUTED, FOLLOWED):
            yield TopicPolicy(
                person=person,
                thread=topic_key(channel, text_of(row.get("topic_name"))),
                policy=policy,
                moment=time_of(row.get("last_updated")) or time_of(row.get("date_muted")),
            )


def plain_topic(topic: str) -> str:
    """Return a topic's name; empty for names that stand for the topic without one."""
    stands_for_none = base_name(topic) in (NO_TOPIC, NEW_REALM.empty_topic_display_name)
    return "" if stands_for_none else topic


def topic_key(channel: str, topic: str) -> str:
    """Return the key of a topic, which a channel has once, however it is written."""
    return f"{channel} {fold_name(plain_topic(topic))}"


def pair_key(first: int, second: int) -> str:
    return f"pair {first} {second}"


def _choices_of(row: Row) -> SubscriptionChoices:
    chosen = {name: row.get(name) for name in _NOTIFICATIONS}
    is_muted = row.get("is_muted", row.get("in_home_view") is False)
    return SubscriptionChoices(
        is_muted=is_muted is True,
        pin_to_top=row.get("pin_to_top") is True,
        **{name: value for name, value in chosen.items() if isinstance(value, bool)},
    )


def _retention_of(row: Row) -> int | None:
    days = row.get("message_retention_days")
    if isinstance(days, bool) or not isinstance(days, int):
        return None
    return days if days == KEPT_FOR_EVER or 0 < days <= MAX_RETENTION_DAYS else None
