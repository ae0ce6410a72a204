"""Endpoints of message flags: by id, in a narrow, and read marks of whole places."""

from typing import Annotated, Literal

from server.actions import message_flags
from server.api.channel_access import seen_channel
from server.api.endpoint import Access, Empty, Endpoint, NoParams, Request, Result
from server.api.params import Field, Params
from server.domain import api_keys
from server.domain.errors import BadRequestError
from server.domain.messages import clean_topic
from server.domain.narrow import GivenNarrow, parse_narrow
from server.events.base import ClientView
from server.history import fetch
from server.i18n import _
from storage import conversations, history
from storage.history import NEWEST, HistoryScope, HistoryWindow
from storage.ids import ChannelId, MessageId


class FlagParams(Params):
    messages: list[int]
    """Ids of the messages."""
    op: Literal["add", "remove"]
    """`add` sets the flag, `remove` clears it."""
    flag: str
    """Flag: `read`, `starred`, `collapsed`, or `hide_link_previews`."""


class FlagResult(Result, kw_only=True, omit_defaults=True):
    messages: list[int]
    ignored_because_not_subscribed_channels: list[int] | None = None


async def change_flag(request: Request, params: FlagParams) -> FlagResult:
    message_ids = [MessageId(each) for each in dict.fromkeys(params.messages)]
    flag = message_flags.checked_flag(params.flag, message_ids)
    clocked = await request.write(message_flags.change_flag, message_ids, params.op, flag)
    return FlagResult(
        messages=[*clocked.result.message_ids],
        ignored_because_not_subscribed_channels=_left_out(params, clocked.result),
    )


class NarrowParams(Params):
    anchor: int | Literal["newest", "oldest", "first_unread"]
    """Id of the message around which to work, or `newest`, `oldest` or `first_unread`."""
    num_before: Annotated[int, Field(ge=0)]
    """How many messages before the anchor."""
    num_after: Annotated[int, Field(ge=0)]
    """How many messages after the anchor."""
    include_anchor: bool = True
    """Whether the message at the anchor counts, too."""
    narrow: GivenNarrow
    """Terms that the messages must match, as in `GET /messages`."""
    op: Literal["add", "remove"]
    """`add` sets the flag, `remove` clears it."""
    flag: str
    """Flag: `read`, `starred`, `collapsed`, or `hide_link_previews`."""


class NarrowResult(Result, kw_only=True, omit_defaults=True):
    processed_count: int
    updated_count: int
    first_processed_id: int | None
    last_processed_id: int | None
    found_oldest: bool
    found_newest: bool
    ignored_because_not_subscribed_channels: list[int] | None = None


async def change_flag_in_narrow(request: Request, params: NarrowParams) -> NarrowResult:
    flag = message_flags.checked_flag(params.flag, ())
    wanted = fetch.HistoryRequest(
        terms=parse_narrow(params.narrow),
        anchor=params.anchor,
        before=params.num_before,
        after=params.num_after,
        include_anchor=params.include_anchor,
        view=ClientView(),
    )
    async with request.read() as connection:
        found = await fetch.page_of_ids(request.realm_cache, connection, request.actor, wanted)
    clocked = await request.write(message_flags.change_flag, found.ids, params.op, flag)
    return NarrowResult(
        processed_count=len(found.ids),
        updated_count=len(clocked.result.message_ids),
        first_processed_id=found.ids[0] if found.ids else None,
        last_processed_id=found.ids[-1] if found.ids else None,
        found_oldest=found.found_oldest,
        found_newest=found.found_newest,
        ignored_because_not_subscribed_channels=_left_out(params, clocked.result),
    )


def _left_out(
    params: FlagParams | NarrowParams, changed: message_flags.Changed
) -> list[int] | None:
    """Return channels that stay read, if messages are to become unread."""
    is_unread = params.flag == "read" and params.op == "remove"
    return [*changed.left_out] if is_unread else None


class MarkedResult(Result):
    complete: bool


async def mark_all_as_read(request: Request, params: NoParams) -> MarkedResult:
    """Mark everything as read in one request."""
    del params
    await request.write(message_flags.mark_all_read)
    return MarkedResult(complete=True)


class ChannelParams(Params):
    stream_id: ChannelId
    """Id of the channel."""


async def mark_channel_as_read(request: Request, params: ChannelParams) -> Empty:
    async with request.read() as connection:
        channel, standing, is_in = await seen_channel(request, connection, params.stream_id)
    if not standing.reads(channel, subscribed=is_in):
        raise BadRequestError(_("Invalid channel ID"))
    await request.write(message_flags.mark_channel_read, channel.channel_id)
    return Empty()


class TopicParams(ChannelParams):
    topic_name: str
    """Name of the topic."""


async def mark_topic_as_read(request: Request, params: TopicParams) -> Empty:
    """Mark a topic as read, if the caller may read something of it; they may not know of others."""
    actor = request.actor
    display_name = (await request.realm_cache.settings()).empty_topic_display_name
    name = clean_topic(params.topic_name, display_name)
    async with request.read() as connection:
        channel, standing, is_in = await seen_channel(request, connection, params.stream_id)
        if not standing.reads(channel, subscribed=is_in):
            raise BadRequestError(_("Invalid channel ID"))
        topic = await conversations.topic_named(
            connection, actor.realm_id, channel.channel_id, name
        )
        newest = HistoryWindow(anchor=NEWEST, before=1, after=0)
        scope = HistoryScope(conversation_ids=[] if topic is None else [topic.topic_id])
        page = await history.page_of_ids(connection, actor.realm_id, actor.user_id, scope, newest)
    if topic is None or not page.ids:
        raise BadRequestError(_("No such topic '{topic_name}'", topic_name=params.topic_name))
    await request.write(message_flags.mark_conversation_read, topic.topic_id)
    return Empty()


ENDPOINTS = (
    Endpoint(
        "POST",
        "/messages/flags",
        Access.USER,
        FlagParams,
        change_flag,
        FlagResult,
        scope=api_keys.Scope.MESSAGES,
        summary="Add or remove a flag of messages",
        description=(
            "Flags are personal. Messages that the caller has not received are passed over."
        ),
    ),
    Endpoint(
        "POST",
        "/messages/flags/narrow",
        Access.USER,
        NarrowParams,
        change_flag_in_narrow,
        NarrowResult,
        scope=api_keys.Scope.MESSAGES,
        answers_by_content=True,
        summary="Add or remove a flag of the messages in a narrow",
        description=(
            "Works on a range around an anchor, as `GET /messages` does. To go on, call it again"
            " with `last_processed_id` as the anchor until `found_newest` is true."
        ),
    ),
    Endpoint(
        "POST",
        "/mark_all_as_read",
        Access.USER,
        NoParams,
        mark_all_as_read,
        MarkedResult,
        scope=api_keys.Scope.MESSAGES,
        summary="Mark all messages as read",
    ),
    Endpoint(
        "POST",
        "/mark_stream_as_read",
        Access.USER,
        ChannelParams,
        mark_channel_as_read,
        scope=api_keys.Scope.MESSAGES,
        summary="Mark a channel as read",
    ),
    Endpoint(
        "POST",
        "/mark_topic_as_read",
        Access.USER,
        TopicParams,
        mark_topic_as_read,
        scope=api_keys.Scope.MESSAGES,
        answers_by_content=True,
        summary="Mark a topic as read",
    ),
)
