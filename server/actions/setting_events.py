"""Events of changed personal settings, for the user's own clients."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final

from server.domain.languages import LANGUAGES
from server.events.base import MAX_WIRE_EVENTS, Entry, to_users
from server.events.subscriptions import notification_defaults
from server.events.user_settings import (
    OLD_DISPLAY_SETTINGS,
    OLD_NOTIFICATION_SETTINGS,
    NotificationDefaultChanged,
    OldDisplaySettingChanged,
    OldNotificationSettingChanged,
    SettingValue,
    UserSettingChanged,
)
from server.transactions import Tx
from storage import channels, subscriptions, unread_notices
from storage.database import Connection
from storage.ids import ChannelId, UserId
from storage.subscriptions import SubscriptionRow
from storage.users import UserRow

NOTICES: Final = "resolved_topic_notice_auto_read_policy"
"""The setting that decides which notices are read at once, from the position of its change on."""
DRAFTS: Final = "enable_drafts_synchronization"
"""The setting without which the server stores no drafts."""


def append_setting(
    tx: Tx, user_id: UserId, name: str, value: SettingValue, *, public_email: str
) -> Entry:
    """Append a setting's new value, also in the form for older clients; return the first entry."""
    own = to_users(user_id)
    called: dict[str, Any] = {}
    if name == "default_language":
        called = {"language_name": LANGUAGES[str(value)]}
    event = UserSettingChanged(user_id=user_id, property=name, value=value, **called)
    entry = tx.append(event, own)
    if name in OLD_DISPLAY_SETTINGS:
        old = OldDisplaySettingChanged(
            user=public_email, setting_name=name, setting=value, **called
        )
        tx.append(old, own)
    elif name in OLD_NOTIFICATION_SETTINGS:
        older = OldNotificationSettingChanged(
            user=public_email, notification_name=name, setting=value
        )
        tx.append(older, own)
    return entry


def change_unread_notices(
    tx: Tx, entry: Entry, user_ids: Sequence[UserId], value: SettingValue
) -> None:
    """Let the new value of NOTICES decide from this entry on; the caller has kept the past."""
    change = unread_notices.begin if value == "never" else unread_notices.end
    tx.at_position(entry, change(tx.realm_id, user_ids))


async def append_subscription_defaults(
    tx: Tx, connection: Connection, changes: Sequence[tuple[UserRow, UserRow]]
) -> None:
    """Append changed defaults of subscriptions, for clients without unset settings.

    `changes`: the users' rows before and after.
    """
    changed = {
        new.user_id: differing
        for old, new in changes
        if (differing := _differing(notification_defaults(old), notification_defaults(new)))
    }
    if not changed:
        return
    rows = await subscriptions.of_users(connection, tx.realm_id, list(changed))
    own: dict[UserId, list[SubscriptionRow]] = defaultdict(list)
    for row in rows:
        if row.active:
            own[row.user_id].append(row)
    ids = {row.channel_id for row in rows if row.active}
    found = await channels.by_ids(connection, tx.realm_id, sorted(ids))
    archived = {row.channel_id for row in found if row.is_archived}
    for user_id, differing in changed.items():
        for name, value in differing.items():
            unset = [row.channel_id for row in own[user_id] if getattr(row, name) is None]
            _append_default(tx, user_id, name, unset, archived, value=value)


def _append_default(
    tx: Tx,
    user_id: UserId,
    name: str,
    channel_ids: Sequence[ChannelId],
    archived: set[ChannelId],
    *,
    value: bool,
) -> None:
    for at in range(0, len(channel_ids), MAX_WIRE_EVENTS):
        some = list(channel_ids[at : at + MAX_WIRE_EVENTS])
        event = NotificationDefaultChanged(
            stream_ids=some,
            archived=tuple(each for each in some if each in archived),
            property=name,
            value=value,
        )
        tx.append(event, to_users(user_id))


def _differing(old: dict[str, bool], new: dict[str, bool]) -> dict[str, bool]:
    return {name: value for name, value in new.items() if old[name] != value}
