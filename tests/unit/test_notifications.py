"""Who is notified of what, by what, and why: a table, and every setting on its own."""

import itertools
from typing import Any

import msgspec
import pytest

from server.domain.notifications import (
    NOTHING,
    Mentions,
    NotificationDecision,
    NotificationFacts,
    Reason,
    decide,
    mentions_in,
)
from server.domain.topic_policies import FOLLOWED, MUTED, NONE, UNMUTED
from server.domain.user_settings import DEFAULTS, UserSettings
from storage.ids import MessageId, UserId
from storage.notification_candidates import FactsRow

QUIET = UserSettings(
    enable_offline_email_notifications=False,
    enable_offline_push_notifications=False,
    enable_online_push_notifications=False,
    enable_followed_topic_email_notifications=False,
    enable_followed_topic_push_notifications=False,
    enable_followed_topic_wildcard_mentions_notify=False,
    wildcard_mentions_notify=False,
)
"""Wants nothing; each test switches on what it is about."""


def quiet(**settings: Any) -> UserSettings:
    return msgspec.structs.replace(QUIET, **settings)


def facts_of(
    *, settings: UserSettings = DEFAULTS, is_present: bool = False, **row: Any
) -> NotificationFacts:
    """An ordinary message to a user, but for what is said otherwise."""
    ordinary: dict[str, Any] = {
        "user_id": UserId(1),
        "message_id": MessageId(1),
        "settings": {},
        **dict.fromkeys(("own_push", "own_email", "own_wildcards")),
        **dict.fromkeys(("is_direct", "is_mentioned", "topic_wildcard", "channel_wildcard"), False),
        **dict.fromkeys(("has_alert_word", "channel_muted", "mutes_sender"), False),
        "policy": NONE,
        "is_unread": True,
    }
    return NotificationFacts(FactsRow(**(ordinary | row)), settings, is_present)


def both(reason: Reason) -> NotificationDecision:
    return NotificationDecision(reason, reason)


ORDINARY = UserSettings()
NO_WILDCARDS = UserSettings(wildcard_mentions_notify=False)

TABLE: dict[str, tuple[dict[str, Any], NotificationDecision]] = {
    "an ordinary message in a channel": ({}, NOTHING),
    "a direct message": ({"is_direct": True}, both(Reason.DIRECT)),
    "a mention": ({"is_mentioned": True}, both(Reason.MENTIONED)),
    "a mention in a direct message": (
        {"is_direct": True, "is_mentioned": True},
        both(Reason.DIRECT),
    ),
    "the channel's wildcard": ({"channel_wildcard": True}, both(Reason.CHANNEL_WILDCARD)),
    "the topic's wildcard": ({"topic_wildcard": True}, both(Reason.TOPIC_WILDCARD)),
    "both wildcards": (
        {"topic_wildcard": True, "channel_wildcard": True},
        both(Reason.TOPIC_WILDCARD),
    ),
    "a mention beats a wildcard": (
        {"is_mentioned": True, "channel_wildcard": True},
        both(Reason.MENTIONED),
    ),
    "wildcards unwanted": (
        {"settings": NO_WILDCARDS, "channel_wildcard": True, "topic_wildcard": True},
        NOTHING,
    ),
    "wildcards unwanted, but in this channel": (
        {"settings": NO_WILDCARDS, "channel_wildcard": True, "own_wildcards": True},
        both(Reason.CHANNEL_WILDCARD),
    ),
    "wildcards unwanted in this channel": (
        {"channel_wildcard": True, "topic_wildcard": True, "own_wildcards": False},
        NOTHING,
    ),
    "wildcards unwanted, but in followed topics": (
        {"settings": NO_WILDCARDS, "channel_wildcard": True, "policy": FOLLOWED},
        NotificationDecision(
            Reason.CHANNEL_WILDCARD_WHERE_FOLLOWED, Reason.CHANNEL_WILDCARD_WHERE_FOLLOWED
        ),
    ),
    "the topic's wildcard in a followed topic": (
        {"topic_wildcard": True, "channel_wildcard": True, "policy": FOLLOWED},
        both(Reason.TOPIC_WILDCARD_WHERE_FOLLOWED),
    ),
    "wildcards unwanted in followed topics, but elsewhere": (
        {
            "settings": UserSettings(enable_followed_topic_wildcard_mentions_notify=False),
            "channel_wildcard": True,
            "policy": FOLLOWED,
        },
        both(Reason.CHANNEL_WILDCARD),
    ),
    "an alert word": ({"has_alert_word": True}, both(Reason.ALERT_WORD)),
    "a followed topic": (
        {"policy": FOLLOWED},
        NotificationDecision(Reason.FOLLOWED_BY_EMAIL, Reason.FOLLOWED_BY_PUSH),
    ),
    "an unmuted topic": ({"policy": UNMUTED}, NOTHING),
    "a channel with pushes": (
        {"own_push": True},
        NotificationDecision(push=Reason.CHANNEL_BY_PUSH),
    ),
    "a channel with emails": (
        {"own_email": True},
        NotificationDecision(email=Reason.CHANNEL_BY_EMAIL),
    ),
    "a channel without, where all have them": (
        {
            "settings": UserSettings(
                enable_stream_push_notifications=True, enable_stream_email_notifications=True
            ),
            "own_push": False,
            "own_email": False,
        },
        NOTHING,
    ),
    "two ways for two reasons": (
        {
            "settings": quiet(enable_offline_email_notifications=True),
            "is_mentioned": True,
            "own_push": True,
        },
        NotificationDecision(Reason.MENTIONED, Reason.CHANNEL_BY_PUSH),
    ),
    "a muted channel": (
        {"channel_muted": True, "own_push": True, "own_email": True, "channel_wildcard": True},
        NOTHING,
    ),
    "an alert word in a muted channel": ({"channel_muted": True, "has_alert_word": True}, NOTHING),
    "a mention in a muted channel": (
        {"channel_muted": True, "is_mentioned": True},
        both(Reason.MENTIONED),
    ),
    "a muted topic": (
        {"policy": MUTED, "own_push": True, "topic_wildcard": True, "has_alert_word": True},
        NOTHING,
    ),
    "a mention in a muted topic": (
        {"policy": MUTED, "is_mentioned": True},
        both(Reason.MENTIONED),
    ),
    "an unmuted topic of a muted channel": (
        {"channel_muted": True, "policy": UNMUTED, "own_push": True},
        NotificationDecision(push=Reason.CHANNEL_BY_PUSH),
    ),
    "a followed topic of a muted channel": (
        {"channel_muted": True, "policy": FOLLOWED},
        NotificationDecision(Reason.FOLLOWED_BY_EMAIL, Reason.FOLLOWED_BY_PUSH),
    ),
    "read already, or out of reach": ({"is_direct": True, "is_unread": False}, NOTHING),
    "a muted user": ({"is_mentioned": True, "mutes_sender": True}, NOTHING),
    "direct from a muted user": ({"is_direct": True, "mutes_sender": True}, NOTHING),
    "there, with pushes anyway": (
        {"is_direct": True, "is_present": True},
        NotificationDecision(push=Reason.DIRECT, look_again=True),
    ),
    "there, without": (
        {
            "is_direct": True,
            "is_present": True,
            "settings": UserSettings(enable_online_push_notifications=False),
        },
        NotificationDecision(look_again=True),
    ),
    "there, and all is told": (
        {
            "is_direct": True,
            "is_present": True,
            "settings": UserSettings(enable_offline_email_notifications=False),
        },
        NotificationDecision(push=Reason.DIRECT),
    ),
    "there, and wants nothing": ({"is_present": True}, NOTHING),
    "wants nothing at all": (
        {
            "settings": QUIET,
            "is_mentioned": True,
            "channel_wildcard": True,
            "topic_wildcard": True,
            "has_alert_word": True,
            "policy": FOLLOWED,
        },
        NOTHING,
    ),
    "wants no direct messages": ({"settings": QUIET, "is_direct": True}, NOTHING),
}


@pytest.mark.parametrize(("facts", "decision"), TABLE.values(), ids=TABLE)
def test_the_table(facts: dict[str, Any], decision: NotificationDecision):
    assert decide(facts_of(**facts)) == decision


@pytest.mark.parametrize(
    ("facts", "decision"),
    [
        ({"is_mentioned": True}, both(Reason.MENTIONED)),
        ({"channel_wildcard": True}, both(Reason.CHANNEL_WILDCARD)),
        ({"policy": FOLLOWED}, NOTHING),
        ({"own_push": True, "own_email": True}, NOTHING),
        ({"is_mentioned": True, "is_unread": False}, NOTHING),
    ],
)
def test_an_edit_notifies_of_mentions_only(facts: dict[str, Any], decision: NotificationDecision):
    assert decide(facts_of(**facts), only_mentions=True) == decision


CHANNEL = {"own_push": None, "own_email": None}
SETTINGS: dict[str, list[tuple[dict[str, Any], NotificationDecision]]] = {
    "enable_offline_email_notifications": [
        ({"is_direct": True}, NotificationDecision(email=Reason.DIRECT)),
        ({"is_mentioned": True}, NotificationDecision(email=Reason.MENTIONED)),
        ({"has_alert_word": True}, NotificationDecision(email=Reason.ALERT_WORD)),
    ],
    "enable_offline_push_notifications": [
        ({"is_direct": True}, NotificationDecision(push=Reason.DIRECT)),
        ({"is_mentioned": True}, NotificationDecision(push=Reason.MENTIONED)),
        ({"has_alert_word": True}, NotificationDecision(push=Reason.ALERT_WORD)),
    ],
    "enable_stream_email_notifications": [
        (CHANNEL, NotificationDecision(email=Reason.CHANNEL_BY_EMAIL))
    ],
    "enable_stream_push_notifications": [
        (CHANNEL, NotificationDecision(push=Reason.CHANNEL_BY_PUSH))
    ],
    "enable_followed_topic_email_notifications": [
        ({"policy": FOLLOWED}, NotificationDecision(email=Reason.FOLLOWED_BY_EMAIL))
    ],
    "enable_followed_topic_push_notifications": [
        ({"policy": FOLLOWED}, NotificationDecision(push=Reason.FOLLOWED_BY_PUSH))
    ],
}
"""Settings that alone make a difference to a user who wants nothing else."""
TOGETHER: dict[str, tuple[dict[str, Any], Reason]] = {
    "wildcard_mentions_notify": ({"channel_wildcard": True}, Reason.CHANNEL_WILDCARD),
    "enable_followed_topic_wildcard_mentions_notify": (
        {"topic_wildcard": True, "policy": FOLLOWED},
        Reason.TOPIC_WILDCARD_WHERE_FOLLOWED,
    ),
}
"""Those that count beside one of the ways of notifying."""


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_setting_alone_makes_the_difference(setting: str):
    for facts, decision in SETTINGS[setting]:
        assert decide(facts_of(settings=QUIET, **facts)) == NOTHING
        assert decide(facts_of(settings=quiet(**{setting: True}), **facts)) == decision


@pytest.mark.parametrize("setting", TOGETHER)
def test_wildcards_go_the_ways_that_are_open(setting: str):
    facts, reason = TOGETHER[setting]
    ways = ("enable_offline_email_notifications", "enable_offline_push_notifications")
    for email, push in itertools.product([False, True], repeat=2):
        open_ways = dict(zip(ways, (email, push), strict=True))
        assert decide(facts_of(settings=quiet(**open_ways), **facts)) == NOTHING
        wanted = decide(facts_of(settings=quiet(**open_ways, **{setting: True}), **facts))
        assert wanted == NotificationDecision(reason if email else None, reason if push else None)


def test_every_setting_about_emails_and_pushes_is_in_the_tables():
    ours = {
        name
        for name in UserSettings.__struct_fields__
        if name.endswith(("email_notifications", "push_notifications", "mentions_notify"))
    }
    elsewhere = {
        "enable_online_push_notifications",  # in the table: only who is there
        "message_content_in_email_notifications",  # what an email says
    }
    assert ours == {*SETTINGS, *TOGETHER, *elsewhere}


def test_other_settings_change_nothing():
    other = UserSettings(
        enable_desktop_notifications=False,
        enable_sounds=False,
        enable_stream_desktop_notifications=True,
        enable_stream_audible_notifications=True,
        enable_followed_topic_desktop_notifications=False,
        enable_followed_topic_audible_notifications=False,
        enable_digest_emails=False,
        enable_login_emails=False,
        enable_marketing_emails=False,
        presence_enabled=False,
        desktop_icon_count_display=3,
        pm_content_in_desktop_notifications=False,
    )
    for name, (facts, decision) in TABLE.items():
        if facts.get("settings", ORDINARY) == ORDINARY:
            assert decide(facts_of(**{**facts, "settings": other})) == decision, name


def test_only_mentions_by_name_notify_in_a_muted_place():
    bits = [False, True]
    for wildcard, topic, alert, own in itertools.product(bits, bits, bits, [None, *bits]):
        facts: dict[str, Any] = {
            "channel_wildcard": wildcard,
            "topic_wildcard": topic,
            "has_alert_word": alert,
            "own_push": own,
            "own_email": own,
            "own_wildcards": own,
        }
        for channel_muted, policy in ((True, NONE), (True, MUTED), (False, MUTED)):
            muted: dict[str, Any] = {"channel_muted": channel_muted, "policy": policy}
            assert decide(facts_of(**facts, **muted)) == NOTHING
            named = decide(facts_of(**facts, **muted, is_mentioned=True))
            assert named == both(Reason.MENTIONED)


def test_mentions_are_read_from_what_was_rendered():
    html = (
        '<p><span class="user-mention" data-user-id="5">@Ann</span>'
        '<span class="user-mention silent" data-user-id="6">Bob</span>'
        '<span class="user-mention channel-wildcard-mention" data-user-id="*">@all</span>'
        '<span class="user-group-mention" data-user-group-id="7">@ops</span>'
        '<span class="user-group-mention silent" data-user-group-id="8">ops</span></p>'
    )
    assert mentions_in(html) == Mentions(frozenset({5}), frozenset({7}))  # type: ignore[arg-type]
