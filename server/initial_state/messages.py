"""Register's unread and starred messages, and recent direct-message conversations."""

from collections.abc import Sequence
from typing import Any, TypedDict

from server.initial_state.base import Snapshot, StateSection
from storage import conversations, history, message_flags, read_state
from storage.ids import ChannelId, MessageId, UserId
from storage.read_state import Unread, UnreadConversation


class UnreadDirect(TypedDict):
    """Unread messages of a conversation of two, or with oneself."""

    other_user_id: UserId
    sender_id: UserId
    unread_message_ids: list[MessageId]


class UnreadGroup(TypedDict):
    """Unread messages of a direct-message group."""

    user_ids_string: str
    unread_message_ids: list[MessageId]


class UnreadTopic(TypedDict):
    """Unread messages of a topic."""

    stream_id: ChannelId
    topic: str
    unread_message_ids: list[MessageId]


class UnreadMessages(TypedDict):
    """Unread messages by conversation."""

    count: int
    pms: list[UnreadDirect]
    huddles: list[UnreadGroup]
    streams: list[UnreadTopic]
    mentions: list[MessageId]
    old_unreads_missing: bool
    """Whether there are more: these are the newest."""


class RecentConversation(TypedDict):
    """A direct-message conversation, by its other people."""

    max_message_id: MessageId
    user_ids: list[UserId]


class MessageFields(TypedDict):
    max_message_id: int
    """-1: there is none."""


class UnreadFields(TypedDict):
    unread_msgs: UnreadMessages


class StopWordFields(TypedDict):
    stop_words: list[str]


class StarredFields(TypedDict):
    starred_messages: list[MessageId]


class RecentConversationFields(TypedDict):
    recent_private_conversations: list[RecentConversation]


FOLDABLE = "foldable reads"
"""Key in `shared` for read-state folds that would make the next register cheaper."""


async def fetch_messages(snapshot: Snapshot) -> dict[str, Any]:
    [newest], unread = await snapshot.connection.together(
        fetch_newest_of_many([snapshot]), _unread(snapshot)
    )
    return {**newest, **unread}


async def fetch_newest_of_many(snapshots: Sequence[Snapshot]) -> list[dict[str, Any]]:
    """Return the fields of the message section alone, for several users of a realm."""
    first = snapshots[0]
    newest = await history.newest_ids(
        first.connection, first.realm_id, [each.actor.user_id for each in snapshots]
    )
    return [{"max_message_id": newest.get(each.actor.user_id, -1)} for each in snapshots]


async def _unread(snapshot: Snapshot) -> dict[str, Any]:
    if not snapshot.fetches("update_message_flags"):
        return {}
    unread = await read_state.unread(snapshot.connection, snapshot.realm_id, snapshot.actor.user_id)
    if unread.foldable:
        snapshot.shared[FOLDABLE] = await read_state.folds(
            snapshot.connection, snapshot.realm_id, snapshot.actor.user_id, unread.foldable
        )
    return {"unread_msgs": shown_unread(snapshot, unread)}


def shown_unread(snapshot: Snapshot, unread: Unread) -> dict[str, Any]:
    """Return unread messages by conversation, in their wire form."""
    own_id = snapshot.actor.user_id
    direct, huddles, streams = [], [], []
    for each in unread.conversations:
        if each.channel_id is not None:
            streams.append(_stream(snapshot, each))
        elif len(each.user_ids or ()) > 2:  # noqa: PLR2004 - two people make no group
            users = ",".join(map(str, each.user_ids or ()))
            huddles.append({"user_ids_string": users, "unread_message_ids": each.message_ids})
        else:
            other = _other(each.user_ids or [], own_id)
            direct.append(
                {
                    "other_user_id": other,
                    "sender_id": other,
                    "unread_message_ids": each.message_ids,
                }
            )
    return {
        "count": unread.count,
        "pms": direct,
        "huddles": huddles,
        "streams": streams,
        "mentions": sorted(unread.mentioned | unread.wildcards),
        "old_unreads_missing": unread.is_cut,
    }


def _stream(snapshot: Snapshot, each: UnreadConversation) -> dict[str, Any]:
    topic = each.topic or ""
    if not topic and not snapshot.view.empty_topic_name:
        topic = snapshot.settings.empty_topic_display_name
    return {
        "stream_id": each.channel_id,
        "topic": topic,
        "unread_message_ids": each.message_ids,
    }


def _other(user_ids: list[UserId], own_id: UserId) -> UserId:
    return next((user_id for user_id in user_ids if user_id != own_id), own_id)


async def fetch_flags(snapshot: Snapshot) -> dict[str, Any]:
    """Return nothing: unread_msgs comes with the messages."""
    del snapshot
    return {}


async def fetch_starred(snapshot: Snapshot) -> dict[str, Any]:
    starred = await message_flags.starred_ids(
        snapshot.connection, snapshot.realm_id, snapshot.actor.user_id
    )
    return {"starred_messages": starred}


async def fetch_recent_conversations(snapshot: Snapshot) -> dict[str, Any]:
    own_id = snapshot.actor.user_id
    recent = await conversations.recent_dm_groups(snapshot.connection, snapshot.realm_id, own_id)
    return {
        "recent_private_conversations": [
            {
                "max_message_id": each.max_message_id,
                "user_ids": [u for u in each.user_ids if u != own_id],
            }
            for each in recent
        ]
    }


async def fetch_stop_words(_: Snapshot) -> dict[str, Any]:
    """Return an empty list: search has no stop words for clients."""
    return {"stop_words": []}


SECTIONS = (
    StateSection("message", fetch_messages, (MessageFields,), fetch_newest_of_many),
    StateSection("stop_words", fetch_stop_words, (StopWordFields,)),
    StateSection("update_message_flags", fetch_flags, (UnreadFields,)),
    StateSection("starred_messages", fetch_starred, (StarredFields,)),
    StateSection(
        "recent_private_conversations", fetch_recent_conversations, (RecentConversationFields,)
    ),
)
