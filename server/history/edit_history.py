"""Edit histories of messages, as their readers may see them."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final, NotRequired, TypedDict, cast

from server.domain.actor import Actor
from server.domain.errors import BadRequestError
from server.domain.markdown.previews import without_previews
from server.domain.markdown.typesetting import Typesetter
from server.domain.realm_settings import RealmSettings
from server.domain.resolved_topics import changes_only_marks
from server.events.base import ClientView
from server.events.messages import EditHistoryEntry, shown_topic
from server.i18n import _
from server.realm_cache import RealmCache
from storage import message_edits
from storage.database import Connection
from storage.ids import ChannelId, MessageId, UserId
from storage.message_edits import HistoryRow

MAX_COMPARED: Final = 50
MAX_COMPARED_LENGTH: Final = 50_000
"""Characters of HTML: 10,000 of ordinary text have 12,000."""
_OF_CONTENT: Final = ("prev_content", "prev_rendered_content")

Entry = Mapping[str, Any]


class MessageState(TypedDict):
    """A message as it was from one change to the next."""

    timestamp: int
    user_id: UserId | None
    topic: str
    content: str
    rendered_content: str
    prev_content: NotRequired[str]
    prev_rendered_content: NotRequired[str]
    content_html_diff: NotRequired[str]
    prev_topic: NotRequired[str]
    prev_stream: NotRequired[ChannelId]
    stream: NotRequired[ChannelId]


def last_moved(history: Sequence[Entry]) -> int | None:
    """Return when the message was last moved, by its history (newest first).

    Resolving its topic, or the contrary, moves no message.
    """
    moves = (e for e in history if _is_move(e) and not _only_resolves(e))
    return next((e["timestamp"] for e in moves), None)


def shown_history(
    history: Sequence[Entry], settings: RealmSettings, view: ClientView
) -> list[EditHistoryEntry]:
    """Return as much of a history as the realm shows."""
    policy = settings.message_edit_history_visibility_policy
    if policy == "none":
        return []
    shown = [_shown(entry, settings, view) for entry in history]
    if policy != "all":
        shown = [
            {name: value for name, value in entry.items() if name not in _OF_CONTENT}
            for entry in shown
            if _is_move(entry)
        ]
    return cast("list[EditHistoryEntry]", shown)


def _is_move(entry: Entry) -> bool:
    return "prev_topic" in entry or "prev_stream" in entry


def _only_resolves(entry: Entry) -> bool:
    return "prev_stream" not in entry and changes_only_marks(entry["prev_topic"], entry["topic"])


def _shown(entry: Entry, settings: RealmSettings, view: ClientView) -> dict[str, Any]:
    shown = dict(entry)
    for name in ("prev_topic", "topic"):
        if name in shown:
            shown[name] = shown_topic(shown[name], settings.empty_topic_display_name, view)
    return shown


async def fetch_history(
    realm_cache: RealmCache,
    connection: Connection,
    actor: Actor,
    message_id: MessageId,
    view: ClientView,
) -> list[dict[str, Any]]:
    """Return each state of the message, oldest first. Raises BadRequestError."""
    settings = await realm_cache.settings()
    row = await message_edits.history_of(connection, actor.realm_id, actor.user_id, message_id)
    if row is None:
        raise BadRequestError(_("Invalid message(s)"))
    if settings.message_edit_history_visibility_policy == "none":
        raise BadRequestError(_("Message edit history is disabled in this organization"))
    return _snapshots(row, shown_history(row.edit_history, settings, view), settings, view)


async def add_differences(
    typesetter: Typesetter, snapshots: Sequence[dict[str, Any]], *, share: Hashable
) -> None:
    """Add to each state the difference to the previous one, within the time limit.

    Of the newest MAX_COMPARED states, and of none that is longer than MAX_COMPARED_LENGTH.
    """
    edits = [
        snapshot
        for snapshot in snapshots
        if len(snapshot.get("prev_rendered_content", "")) <= MAX_COMPARED_LENGTH
        and len(snapshot["rendered_content"]) <= MAX_COMPARED_LENGTH
        and "prev_rendered_content" in snapshot
    ][: -MAX_COMPARED - 1 : -1]
    pairs = [(each["prev_rendered_content"], each["rendered_content"]) for each in edits]
    found = await typesetter.compare(pairs, share=share) if pairs else []
    for snapshot, difference in zip(edits, found, strict=True):
        if difference is not None:
            snapshot["content_html_diff"] = difference


def _snapshots(
    row: HistoryRow, history: Sequence[Entry], settings: RealmSettings, view: ClientView
) -> list[dict[str, Any]]:
    """Return the states from the present one back to the first."""
    now: dict[str, Any] = {
        "topic": shown_topic(row.topic or "", settings.empty_topic_display_name, view)
        if row.channel_id is not None
        else "",
        "content": row.content,
        "rendered_content": without_previews(row.rendered_content),
    }
    found: list[dict[str, Any]] = []
    for entry in history:
        snapshot = now | {"timestamp": entry["timestamp"], "user_id": entry["user_id"]}
        snapshot |= {
            n: entry[n] for n in (*_OF_CONTENT, "prev_topic", "prev_stream", "stream") if n in entry
        }
        found.append(snapshot)
        now = {
            "topic": entry.get("prev_topic", now["topic"]),
            "content": entry.get("prev_content", now["content"]),
            "rendered_content": entry.get("prev_rendered_content", now["rendered_content"]),
        }
    sent_at = int(row.sent_at.timestamp())
    found.append(now | {"timestamp": sent_at, "user_id": row.sender_id})
    return found[::-1]
