"""What a scope of history holds by the naive model."""

from collections.abc import Iterable
from typing import Any

from storage.history import HistoryScope
from storage.ids import ChannelId, MessageId, UserId
from tests.storage.read_state_model import Model

PLACES = ("feed", "direct", "channel", "topic", "several", "named", "ids", "groups")


def nth(some: Iterable[int], number: int) -> int:
    """One of them, whatever the number."""
    ordered = sorted(some)
    return ordered[number % len(ordered)]


def scope_of(
    model: Model,
    place: str,
    which: int,
    *,
    channel: int,
    sender: int | None,
    flags: tuple[Any, ...],
) -> HistoryScope:
    """A scope of this kind, at some place of those that there are."""
    said: dict[str, Any] = {"flags": flags}
    if sender is not None:
        said["sender_id"] = UserId(sender)
    topics, groups = sorted(model.topics), sorted(model.groups)
    if place == "channel":
        said["channel_ids"] = [ChannelId(channel)]
    elif place == "topic":
        said["conversation_ids"] = [nth(topics, which)]
    elif place == "several":
        said["conversation_ids"] = [*topics[which % 4 :], *groups[which % 2 :]]
    elif place == "named":
        said |= {"conversation_ids": topics[which % 4 :: 2], "in_feed": True}
    elif place == "ids":
        said["ids"] = [MessageId(i) for i in sorted(model.messages)[which % 3 :: 2]]
    elif place == "groups":
        said |= {"conversation_ids": groups[which % 3 :], "only_direct": True}
    elif place == "direct":
        said["only_direct"] = True
    return HistoryScope(**said)


def shown(model: Model, user: int, scope: HistoryScope) -> list[int]:
    """The ids of what the scope holds and the user may read."""
    has_place = scope.channel_ids is not None or scope.conversation_ids is not None
    needs_feed = (scope.in_feed or not has_place) and not (scope.only_direct or scope.flags)
    return [
        m.id
        for m in model.readable(user)
        if (scope.channel_ids is None or m.channel in scope.channel_ids)
        and (scope.conversation_ids is None or m.conversation in scope.conversation_ids)
        and (scope.ids is None or m.id in scope.ids)
        and (m.channel is None or not scope.only_direct)
        and scope.sender_id in {None, m.sender}
        and model.is_all(user, m, scope.flags)
        and (not needs_feed or model.in_feed(user, m))
    ]
