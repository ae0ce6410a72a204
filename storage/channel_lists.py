"""Pins and descriptions of topics together: events of all that a user may read in a channel."""

from collections.abc import Sequence

from storage.database import Statement
from storage.ids import ChannelId, RealmId, UserId


def append_gained(
    realm_id: RealmId, pairs: Sequence[tuple[UserId, ChannelId]], *, write_id: str
) -> Statement:
    """Under the clock's lock: append the lists for users who joined, or may read more."""
    return Statement(
        """
        SELECT append_gained_lists(%(realm_id)s, %(user_ids)s::bigint[], %(channel_ids)s::bigint[],
                                   %(write_id)s::uuid)
        """,
        {
            "realm_id": realm_id,
            "user_ids": [user_id for user_id, _ in pairs],
            "channel_ids": [channel_id for _, channel_id in pairs],
            "write_id": write_id,
        },
    )


def append_hidden(realm_id: RealmId, channel_id: ChannelId, *, write_id: str) -> Statement:
    """Under the clock's lock: append what has changed for subscribers after history was hidden."""
    return Statement(
        "SELECT append_hidden_lists(%(realm_id)s, %(channel_id)s, %(write_id)s::uuid)",
        {"realm_id": realm_id, "channel_id": channel_id, "write_id": write_id},
    )
