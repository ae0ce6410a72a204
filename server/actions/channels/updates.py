"""Events of a changed channel, property by property."""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Raw

from server.actions.access.shown_subscriptions import append_subscriptions
from server.actions.channel_audiences import excluding
from server.domain.access import GroupGraph
from server.domain.channel_changes import PRIVACY, differing_permissions, privacy_differs
from server.domain.channels import ADMINISTRATORS_POST, post_policy, setting_of
from server.events.base import Audience
from server.events.channels import ChannelInfo, ChannelUpdated
from server.events.subscriptions import (
    PeersAdded,
)
from server.transactions import Tx
from storage import subscriptions, users
from storage.channels import ChannelRow
from storage.database import Connection
from storage.ids import UserId

_PLAIN = (
    "name",
    "topics_policy",
    "folder_id",
    "message_retention_days",
    "default_push_notifications",
)


def updates(
    old: ChannelRow, new: ChannelRow, graph: GroupGraph, info: ChannelInfo | None
) -> Iterator[ChannelUpdated]:
    """Yield one event for each difference. `info` is the whole channel if it is unarchived."""
    for name, value, more in (*_facts(old, new, info), *_permissions(old, new, graph)):
        yield ChannelUpdated(
            stream_id=new.channel_id,
            name=old.name,
            property=name,
            value=value,
            archived=new.is_archived,
            **more,
        )


_Update = tuple[str, Any, dict[str, Any]]
"""A property, its value, and further fields."""


def _facts(old: ChannelRow, new: ChannelRow, info: ChannelInfo | None) -> Iterator[_Update]:
    if old.is_archived != new.is_archived:
        yield "is_archived", new.is_archived, {"channel": info}
    if old.description != new.description:
        more = {"rendered_description": new.rendered_description}
        yield "description", new.description, more
    if privacy_differs(old, new):
        others = {name: getattr(new, name) for name in PRIVACY if name != "invite_only"}
        yield "invite_only", new.invite_only, others
    for name in _PLAIN:
        if getattr(old, name) != getattr(new, name):
            yield name, getattr(new, name), {}


def _permissions(old: ChannelRow, new: ChannelRow, graph: GroupGraph) -> Iterator[_Update]:
    for name in differing_permissions(old, new):
        yield name, setting_of(new, name, graph).as_json(), {}
    was, now = post_policy(old, graph), post_policy(new, graph)
    if was != now:
        yield "stream_post_policy", now, {}
        if ADMINISTRATORS_POST in (was, now):
            yield "is_announcement_only", now == ADMINISTRATORS_POST, {}


async def give_back(tx: Tx, connection: Connection, info: ChannelInfo, audience: Audience) -> None:
    """Append subscribers for clients that had removed the channel when it was archived."""
    shown = await subscriptions.subscribers(connection, tx.realm_id, [info.stream_id])
    subscribers = Raw(shown[0].user_ids.encode())
    user_ids: list[UserId] = msgspec.json.decode(subscribers)
    if not user_ids:
        return
    rows = await subscriptions.active_in(connection, tx.realm_id, info.stream_id)
    people = {row.user_id: row for row in await users.by_ids(connection, tx.realm_id, user_ids)}
    there = [row for row in rows if row.user_id in people]
    infos, shown_to = {info.stream_id: info}, {info.stream_id: subscribers}
    append_subscriptions(tx, there, people, infos, shown_to, is_return=True)
    peers = PeersAdded(stream_ids=[info.stream_id], user_ids=user_ids, is_return=True)
    # Subscribers have just received everything about the channel.
    tx.append(peers, excluding(audience, [*audience.without, *user_ids]))
