"""Publish subscriptions to their users."""

from collections.abc import Iterable, Mapping

from msgspec import Raw

from server.events.base import Entry, to_users
from server.events.channels import ChannelInfo
from server.events.subscriptions import (
    SubscriptionInfo,
    SubscriptionsAdded,
    notification_defaults,
    personal,
)
from server.runtime.grouping import grouped
from server.transactions import Tx
from storage.ids import ChannelId, UserId
from storage.subscriptions import SubscriptionRow
from storage.users import UserRow


def append_subscriptions(
    tx: Tx,
    rows: Iterable[SubscriptionRow],
    people: Mapping[UserId, UserRow],
    infos: Mapping[ChannelId, ChannelInfo],
    subscribers: Mapping[ChannelId, Raw],
    *,
    is_return: bool = False,
) -> list[tuple[Entry, SubscriptionsAdded]]:
    """Append one entry for users with the same view of their channels; return the entries."""
    by_user = grouped((row.user_id, row) for row in rows)
    alike = grouped(
        (
            (
                tuple((row.channel_id, *personal(row).values()) for row in own),
                tuple(notification_defaults(people[user_id]).items()),
            ),
            user_id,
        )
        for user_id, own in by_user.items()
    )
    appended = []
    for user_ids in alike.values():
        shown = [
            SubscriptionInfo.of_subscriber(
                infos[row.channel_id], row, subscribers=subscribers[row.channel_id]
            )
            for row in by_user[user_ids[0]]
        ]
        defaults = notification_defaults(people[user_ids[0]])
        event = SubscriptionsAdded(
            user_ids=user_ids, subscriptions=shown, defaults=defaults, is_return=is_return
        )
        appended.append((tx.append(event, to_users(*user_ids)), event))
    return appended
