"""Register's `user_topic`, and `muted_topics` for older clients."""

from collections.abc import Sequence
from typing import Any, NotRequired, TypedDict

from server.events.messages import shown_topic
from server.events.user_topics import UserTopic
from server.initial_state.base import Snapshot, StateSection
from server.initial_state.channels import sight_of
from storage import user_topics
from storage.user_topics import UserTopicRow


class UserTopicFields(TypedDict):
    user_topics: list[UserTopic]


class MutedTopicFields(TypedDict):
    muted_topics: NotRequired[list[tuple[str, str, int]]]
    """Channel, topic and Unix time: only for clients that do not ask for `user_topic`."""


async def fetch(snapshot: Snapshot) -> dict[str, Any]:
    return {
        "user_topics": [
            {
                "stream_id": row.channel_id,
                "topic_name": _name(snapshot, row.name),
                "last_updated": int(row.last_updated.timestamp()),
                "visibility_policy": row.visibility_policy,
            }
            for row in await _rows(snapshot)
        ]
    }


async def fetch_muted(snapshot: Snapshot) -> dict[str, Any]:
    """Return muted topics by channel name, for clients without `user_topic`."""
    if snapshot.fetches("user_topic"):
        return {}
    rows = await user_topics.muted_by(
        snapshot.connection, snapshot.realm_id, snapshot.actor.user_id
    )
    return {
        "muted_topics": [
            [row.channel_name, _name(snapshot, row.topic), row.muted_at] for row in rows
        ]
    }


async def _rows(snapshot: Snapshot) -> Sequence[UserTopicRow]:
    """Return the topics of channels that the client knows and the user may read.

    Users who have left a private channel may not learn its topics' present names.
    """
    rows = await user_topics.of_user(snapshot.connection, snapshot.realm_id, snapshot.actor.user_id)
    if not rows:
        return rows
    sight, infos = await sight_of(snapshot)
    read = {
        channel.channel_id
        for channel in sight.rows
        if sight.standing.reads(channel, subscribed=sight.is_in(channel.channel_id))
    }
    return [row for row in rows if row.channel_id in infos and row.channel_id in read]


def _name(snapshot: Snapshot, topic: str) -> str:
    return shown_topic(topic, snapshot.settings.empty_topic_display_name, snapshot.view)


SECTIONS = (
    StateSection("user_topic", fetch, (UserTopicFields,)),
    StateSection("muted_topics", fetch_muted, (MutedTopicFields,)),
)
