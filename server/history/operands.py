"""Resolve operands of a narrow: channels, users, topics and messages that the reader may know."""

from dataclasses import dataclass
from typing import Final

from server.domain.actor import Actor
from server.domain.channels import Standing
from server.domain.decimals import number_in
from server.domain.errors import BadNarrowError
from server.domain.narrow import EMPTY_TOPIC, Operand
from server.realm_cache import RealmCache
from storage.channels import ChannelRow
from storage.database import Connection
from storage.history import NEWEST
from storage.ids import ChannelId, MessageId, UserId
from storage.users import UserRow

MAX_ID_DIGITS: Final = 20


@dataclass(frozen=True, slots=True)
class Look:
    """The reader of a narrow, and the data to resolve it with."""

    realm_cache: RealmCache
    connection: Connection
    actor: Actor
    sees_everything: bool = False
    """Whether the search is one of all messages, without access checks."""


def message_id(operand: Operand) -> MessageId:
    """Return the message that an operand names. Raises BadNarrowError."""
    number = number_in(str(operand), MAX_ID_DIGITS)
    if number is None:
        raise BadNarrowError("Invalid message ID")
    return MessageId(min(number, NEWEST))


async def topic_name(look: Look, operand: Operand) -> str:
    display_name = (await look.realm_cache.settings()).empty_topic_display_name
    name = str(operand)
    return "" if name in (EMPTY_TOPIC, display_name) else name


async def group_of(look: Look, operand: Operand) -> tuple[UserId, ...]:
    """Return the reader and the users that the operand names, sorted. Raises BadNarrowError.

    In a search of all messages it names all participants: the reader is none by itself.
    """
    people = {row.user_id for row in await companions(look, operand)}
    if not look.sees_everything:
        people.add(look.actor.user_id)
    return tuple(sorted(people))


async def companions(look: Look, operand: Operand) -> list[UserRow]:
    """Return the users that the operand names, as participants of a conversation.

    Raises BadNarrowError. A reader has no conversation with people they may not know: those are
    refused like unknown ids.
    """
    rows = await users_named(look, operand)
    if not look.sees_everything and await look.realm_cache.strangers(look.actor.row, rows):
        raise BadNarrowError(f"unknown user in {operand}")
    return rows


async def channel_of(look: Look, operand: Operand) -> ChannelRow:
    """Return the channel that the operand names, if the reader may know it.

    Raises BadNarrowError.
    """
    realm_cache, actor = look.realm_cache, look.actor
    channel = None
    if isinstance(operand, str):
        channel = await realm_cache.channel_by_name(operand)
    if channel is None and str(operand).isascii() and str(operand).isdigit():
        channel = await realm_cache.channel(ChannelId(message_id(operand)))
    if channel is not None and look.sees_everything:
        return channel
    if channel is not None:
        standing = Standing(actor.person, await realm_cache.groups(), await realm_cache.settings())
        subscription = await realm_cache.subscription(actor.user_id, channel.channel_id)
        is_subscribed = subscription is not None and subscription.active
        if standing.sees(channel, subscribed=is_subscribed):
            return channel
    raise BadNarrowError(f"unknown channel {operand}")


async def users_named(look: Look, operand: Operand, only: int | None = None) -> list[UserRow]:
    """Return the users that the operand names by ids or emails. Raises BadNarrowError."""
    if isinstance(operand, str):
        emails = [e.strip() for e in operand.split(",") if e.strip()]
        known = [await look.realm_cache.users_known_by(look.actor.row, [e]) for e in emails]
        found = [rows[0] if rows else None for rows in known]
    else:
        ids = operand if isinstance(operand, tuple) else (operand,)
        found = [await look.realm_cache.user(UserId(each)) for each in ids]
    rows = [row for row in found if row is not None]
    if len(rows) < len(found) or (only is not None and len(rows) != only):
        raise BadNarrowError(f"unknown user in {operand}")
    return rows
