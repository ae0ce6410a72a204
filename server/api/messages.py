"""Endpoints to send, fetch and render messages."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Literal

import msgspec

from server.actions.messages import content, send
from server.actions.messages.decide import OutgoingMessage
from server.actions.messages.links import sent_links
from server.api.button_values import ButtonParam, buttons_in
from server.api.endpoint import Access, Endpoint, Request, Result
from server.api.params import Field, OptionalTopicName, Params
from server.domain.api_keys import Scope
from server.domain.errors import (
    BadRequestError,
    IdempotencyKeyReusedError,
    InvalidParameterError,
    MissingParameterError,
)
from server.domain.messages import clean_content
from server.domain.narrow import GivenNarrow, Term, parse_narrow
from server.domain.widgets import checked_choices
from server.events.base import ClientView
from server.events.messages import MessageObject
from server.history import fetch
from server.i18n import _
from storage import bots, clock
from storage.database import Connection
from storage.ids import MessageId, Position

MAX_IDEMPOTENCY_KEY_LENGTH = 200
_KEY_HEADER = "Idempotency-Key"
_OF_A_RANGE = frozenset(
    {
        "anchor",
        "anchor_date",
        "num_before",
        "num_after",
        "include_anchor",
        "use_first_unread_anchor",
    }
)
"""Parameters that select a range of history."""


class SendParams(Params):
    type: Literal["direct", "channel", "stream", "private"]
    """`channel` (or `stream`) or `direct` (or `private`)."""
    to: str | int | list[int] | list[str] = []  # noqa: RUF012 - never changed
    """Channel by id or name; for direct messages a list of user ids or of email addresses. May be
    left out by a bot that has a `default_sending_stream`."""
    content: str
    """Text, in Markdown."""
    topic: OptionalTopicName = None
    """Topic; only for channel messages."""
    queue_id: str | None = None
    """The client's event queue, which then receives `local_message_id` with the event. Needs
    `local_id`."""
    local_id: str | None = None
    """Id that the client gave the message."""
    read_by_sender: bool | None = None
    """Whether the message is marked as read for its sender. Default: whether the client is one that
    people use."""
    buttons: list[ButtonParam] = []  # noqa: RUF012 - never changed
    """Buttons below the message, at most 25; only for outgoing webhooks. Each has an `id`, a
    `label`, and perhaps a `value` for the bot's service, a `style` (`default`, `primary` or
    `danger`) and a question, `confirm`, with `title`, `text` and the labels `confirm` and
    `deny`."""
    widget_content: str | None = None
    """Choices that clients show as buttons which send a text, as JSON: `{"widget_type": "zform",
    "extra_data": {"type": "choices", "heading": "...", "choices": [...]}}`. Only for bots."""


class SendResult(Result, kw_only=True, omit_defaults=True):
    id: int
    automatic_new_visibility_policy: int | None = None
    message_url: str | None = None
    message_link: str | None = None


async def send_message(request: Request, params: SendParams) -> SendResult:
    if params.queue_id is not None and params.local_id is None:
        raise BadRequestError(
            _("queue_id needs local_id"),
            set_parameter="queue_id",
            required_parameter="local_id",
        )
    draft = _draft(request, params, await _recipient(request, params))
    if params.widget_content is not None:
        draft = replace(draft, widget=_widget(request, params, params.widget_content))
    try:
        sent = await _send(request, draft)
    except IdempotencyKeyReusedError:
        if _KEY_HEADER in request.headers:
            raise
        # A client may restart its local ids: the same id may be of another message.
        draft = replace(draft, idempotency_key=None)
        sent = await _send(request, draft)
    return sent


def _widget(request: Request, params: SendParams, given: str) -> str:
    if not request.actor.is_bot:
        raise InvalidParameterError("widget_content", _("Only bots send choices."))
    if params.buttons:
        raise InvalidParameterError(
            "widget_content", _("A message has either buttons or choices that send a text.")
        )
    return checked_choices(given)


async def _send(request: Request, draft: OutgoingMessage) -> SendResult:
    decision = await send.prepare(request.realm_cache, request.actor, draft, request.read)
    clocked = await request.write(send.send_message, draft, decision, request.app.clock.now())
    sent: send.Sent = clocked.result
    result = SendResult(
        id=sent.message_id, automatic_new_visibility_policy=sent.new_visibility_policy
    )
    if decision is None:
        # Cached rows refused what the write allowed, or the first response is repeated.
        decision = await send.prepare(request.realm_cache, request.actor, draft, request.read)
    if decision is None:
        return result
    href, link = sent_links(decision.place, decision.settings, decision.sender, sent.message_id)
    url = (await request.realm_cache.address()).url
    return msgspec.structs.replace(
        result, message_url=f"{url}/{href.lstrip('/')}", message_link=link
    )


async def _recipient(
    request: Request, params: SendParams
) -> str | int | Sequence[int] | Sequence[str]:
    """Return the channel or the users, or a bot's default channel if there are none."""
    if params.to == [] and _is_to_channel(params) and request.actor.is_bot:
        actor = request.actor
        async with request.read() as connection:
            found = await bots.defaults(connection, actor.realm_id, [actor.user_id])
        channel_id = found[actor.user_id].sending_channel_id
        if channel_id is not None:
            return channel_id
    if "to" not in params.model_fields_set:
        raise MissingParameterError("to")
    return params.to


def _is_to_channel(params: SendParams) -> bool:
    return params.type in ("channel", "stream")


def _draft(
    request: Request, params: SendParams, to: str | int | Sequence[int] | Sequence[str]
) -> OutgoingMessage:
    is_channel = _is_to_channel(params)
    key = _idempotency_key(request, params)
    digest = hashlib.sha256(msgspec.json.encode(params.model_dump())).digest() if key else None
    return OutgoingMessage(
        type="channel" if is_channel else "direct",
        to=to,
        topic=params.topic if is_channel else None,
        content=params.content,
        read_by_sender=params.read_by_sender,
        queue_id=params.queue_id,
        local_id=params.local_id,
        idempotency_key=key,
        idempotency_digest=digest,
        buttons=buttons_in(params.buttons),
    )


def _idempotency_key(request: Request, params: SendParams) -> str | None:
    """Return the key of the send, for retries; None without one."""
    header = request.headers.get(_KEY_HEADER)
    if header is not None:
        if not 0 < len(header) <= MAX_IDEMPOTENCY_KEY_LENGTH:
            raise BadRequestError(
                _(
                    "Idempotency-Key must have 1 to {limit} characters",
                    limit=MAX_IDEMPOTENCY_KEY_LENGTH,
                )
            )
        return f"key:{header}"
    if params.queue_id is not None and params.local_id is not None:
        return f"local:{params.queue_id}:{params.local_id}"
    return None


class FetchParams(Params):
    narrow: GivenNarrow = []  # noqa: RUF012 - never changed
    """Terms that the messages must match: objects such as `{"operator": "channel", "operand":
    "general"}`, with `"negated": true` to exclude."""
    anchor: int | Literal["newest", "oldest", "first_unread", "date"] | None = None
    """Id of the message around which to fetch, or `newest`, `oldest`, `first_unread`, or `date`."""
    anchor_date: str | None = None
    """With the anchor `date`: the time, in ISO 8601; UTC unless it names an offset."""
    num_before: Annotated[int | None, Field(ge=0)] = None
    """How many messages before the anchor; at most 5,000 together with `num_after`. Required unless
    `message_ids` is given."""
    num_after: Annotated[int | None, Field(ge=0)] = None
    """How many messages after the anchor. Required unless `message_ids` is given."""
    include_anchor: bool = True
    """Whether the message at the anchor is returned, too."""
    message_ids: list[int] | None = None
    """Ids of the messages to fetch, instead of a range."""
    apply_markdown: bool = True
    """Whether to return HTML; otherwise the Markdown source."""
    client_gravatar: bool = True
    """Whether the client computes Gravatar addresses itself: then `avatar_url` is null for users
    without a picture of their own."""
    allow_empty_topic_name: bool = False
    """Whether the empty topic is returned as an empty string; otherwise as its display name."""
    message_buttons: bool = False
    """Whether messages are returned with their `buttons`."""
    use_first_unread_anchor: bool = False
    """Older form of the anchor `first_unread`."""
    include_position: bool = False
    """Whether to return the position in the organization's history as of which the messages were
    read."""


class FetchResult(Result, kw_only=True, omit_defaults=True):
    messages: list[MessageObject]
    anchor: int | None = None
    found_anchor: bool
    found_newest: bool
    found_oldest: bool
    history_limited: bool
    position: int | None = None
    """With `include_position`. Messages with the same position as a registration's or a later one
    may be combined with its queue: its events hold all changes that they do not show."""


async def get_messages(request: Request, params: FetchParams) -> FetchResult:
    view = _view(params)
    if params.message_ids is not None:
        ids, terms = _named(params, params.message_ids)
        async with request.read() as connection:
            position = await _position(request, connection, params)
            shown = await fetch.by_ids(
                request.realm_cache, connection, request.actor, ids, view, terms
            )
        return FetchResult(
            messages=shown,
            found_anchor=False,
            found_newest=False,
            found_oldest=False,
            history_limited=False,
            position=position,
        )
    wanted = _wanted(params, view)
    async with request.read() as connection:
        position = await _position(request, connection, params)
        fetched = await fetch.page(request.realm_cache, connection, request.actor, wanted)
    return FetchResult(
        messages=fetched.messages,
        anchor=fetched.anchor,
        found_anchor=fetched.page.found_anchor,
        found_newest=fetched.page.found_newest,
        found_oldest=fetched.page.found_oldest,
        history_limited=False,
        position=position,
    )


async def _position(
    request: Request, connection: Connection, params: FetchParams
) -> Position | None:
    """Return the present position, if it is asked for: messages read after it are never older."""
    if not params.include_position:
        return None
    row = await clock.read(connection, request.actor.realm_id)
    assert row is not None, "every realm has a clock"
    return row.position


def _named(params: FetchParams, message_ids: list[int]) -> tuple[list[MessageId], tuple[Term, ...]]:
    """Return the messages requested by id, and the terms that they must match."""
    given = sorted(params.model_fields_set & _OF_A_RANGE)
    if given:
        raise BadRequestError(_("message_ids cannot go with {names}", names=", ".join(given)))
    return [MessageId(each) for each in message_ids], parse_narrow(params.narrow)


def _wanted(params: FetchParams, view: ClientView) -> fetch.HistoryRequest:
    if params.num_before is None:
        raise MissingParameterError("num_before")
    if params.num_after is None:
        raise MissingParameterError("num_after")
    anchor: int | fetch.NamedAnchor | datetime | None
    if params.use_first_unread_anchor:
        anchor = "first_unread"
    else:
        anchor = _moment(params.anchor_date) if params.anchor == "date" else params.anchor
    return fetch.HistoryRequest(
        terms=parse_narrow(params.narrow),
        anchor=anchor,
        before=params.num_before,
        after=params.num_after,
        include_anchor=params.include_anchor,
        view=view,
    )


def _moment(text: str | None) -> datetime:
    """Return the time of `anchor_date`, in UTC unless it has an offset."""
    if text is None:
        raise MissingParameterError("anchor_date")
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidParameterError("anchor_date", _("anchor_date is not a date")) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


class OneParams(Params):
    message_id: int
    """Id of the message."""
    apply_markdown: bool = True
    """Whether to return HTML; otherwise the Markdown source."""
    allow_empty_topic_name: bool = False
    """Whether the empty topic is returned as an empty string; otherwise as its display name."""
    message_buttons: bool = False
    """Whether the message is returned with its `buttons`."""


class OneResult(Result, kw_only=True):
    message: MessageObject
    raw_content: str


async def get_message(request: Request, params: OneParams) -> OneResult:
    view = ClientView(
        apply_markdown=params.apply_markdown,
        client_gravatar=False,
        empty_topic_name=params.allow_empty_topic_name,
        message_buttons=params.message_buttons,
    )
    async with request.read() as connection:
        message, raw_content = await fetch.one(
            request.realm_cache, connection, request.actor, MessageId(params.message_id), view
        )
    return OneResult(message=message, raw_content=raw_content)


class RenderParams(Params):
    content: str
    """Text, in Markdown."""


class RenderResult(Result):
    rendered: str


async def render(request: Request, params: RenderParams) -> RenderResult:
    written = clean_content(params.content)
    await content.typeset_ahead(request.realm_cache, written, share=request.actor.user_id)
    rendered = await content.render_outside_messages(
        request.realm_cache, request.actor, written, read=request.read
    )
    return RenderResult(rendered=rendered)


def _view(params: FetchParams) -> ClientView:
    return ClientView(
        apply_markdown=params.apply_markdown,
        client_gravatar=params.client_gravatar,
        empty_topic_name=params.allow_empty_topic_name,
        message_buttons=params.message_buttons,
    )


ENDPOINTS = (
    Endpoint(
        "POST",
        "/messages",
        Access.USER,
        SendParams,
        send_message,
        SendResult,
        takes_webhook_bots=True,
        scope=Scope.MESSAGES,
        summary="Send a message",
        description=(
            "To a channel and topic, or to one or more users directly. A request that is"
            " repeated with the same header `Idempotency-Key`, or with the same `queue_id` and"
            " `local_id`, sends one message only."
        ),
    ),
    Endpoint(
        "POST",
        "/messages/render",
        Access.USER,
        RenderParams,
        render,
        RenderResult,
        scope=Scope.READ,
        summary="Render Markdown",
        description="Returns the HTML that the text would have in a message, without sending it.",
    ),
    Endpoint(
        "GET",
        "/messages",
        Access.SPECTATOR,
        FetchParams,
        get_messages,
        FetchResult,
        summary="Get messages",
        description=(
            "A range of history around an anchor, or the messages with the given ids."
            " `found_oldest` and `found_newest` say whether the range reached an end."
        ),
    ),
    Endpoint(
        "GET",
        "/messages/{message_id}",
        Access.SPECTATOR,
        OneParams,
        get_message,
        OneResult,
        summary="Get a message",
    ),
)
