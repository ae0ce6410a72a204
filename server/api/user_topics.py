"""Endpoints of topic policies, in the present form and the old."""

from typing import Literal

from server.actions import user_topics
from server.api.endpoint import Access, Empty, Endpoint, Request
from server.api.params import Params, TopicName
from server.domain.errors import BadRequestError
from server.domain.topic_policies import MUTED, NONE
from server.i18n import _
from storage.ids import ChannelId


class PolicyParams(Params):
    stream_id: ChannelId
    """Id of the channel."""
    topic: TopicName
    """Name of the topic."""
    visibility_policy: Literal[0, 1, 2, 3]
    """0 as its channel, 1 muted, 2 unmuted in a muted channel, 3 followed."""


async def change_policy(request: Request, params: PolicyParams) -> Empty:
    await request.write(
        user_topics.change_policy,
        params.stream_id,
        params.topic,
        params.visibility_policy,
        now=request.app.clock.now(),
    )
    return Empty()


class MuteParams(Params):
    op: Literal["add", "remove"]
    """`add` mutes, `remove` unmutes."""
    topic: TopicName
    """Name of the topic."""
    stream: str | None = None
    """Name of the channel, unless `stream_id` is given."""
    stream_id: ChannelId | None = None
    """Id of the channel, unless `stream` is given."""


async def mute_topic(request: Request, params: MuteParams) -> Empty:
    """Mute or unmute a topic of a channel, by id or name."""
    if params.stream_id is not None and params.stream is not None:
        raise BadRequestError(_("Please choose one: 'stream' or 'stream_id'."))
    channel = params.stream if params.stream_id is None else params.stream_id
    if channel is None:
        raise BadRequestError(_("Please supply 'stream'."))
    await request.write(
        user_topics.change_policy,
        channel,
        params.topic,
        MUTED if params.op == "add" else NONE,
        now=request.app.clock.now(),
    )
    return Empty()


ENDPOINTS = (
    Endpoint(
        "POST",
        "/user_topics",
        Access.USER,
        PolicyParams,
        change_policy,
        summary="Follow, mute or unmute a topic",
    ),
    Endpoint(
        "PATCH",
        "/users/me/subscriptions/muted_topics",
        Access.USER,
        MuteParams,
        mute_topic,
        summary="Mute or unmute a topic (older form)",
        description="New clients use `POST /user_topics`.",
    ),
)
