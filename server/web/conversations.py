"""Message pages: a message in its conversation, a topic, a channel, all channels.

Emails link to them. They show what the signed-in caller may read, and to visitors web-public
channels, if the organization permits spectators.
"""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlencode

import msgspec

from server.api.endpoint import Access, Request
from server.api.pages import PageRoute
from server.domain.actor import Actor, spectator
from server.domain.channels import Standing
from server.domain.errors import NotFoundError
from server.domain.names import fold_name
from server.domain.narrow import Term
from server.domain.page_links import (
    CHANNEL,
    CHANNELS,
    MESSAGE,
    TOPIC,
    channel_page,
    message_page,
    topic_page,
)
from server.events.base import ClientView
from server.events.messages import MessageObject
from server.history import fetch
from server.i18n import _
from server.runtime.pages import Page
from server.web.message_html import for_page
from server.web.places import sign_in_first
from server.web.rendering import go, show
from storage import channels, conversations, narrows, subscriptions
from storage.channels import ChannelRow
from storage.database import Connection
from storage.ids import ChannelId, MessageId

if TYPE_CHECKING:
    from markupsafe import Markup

AROUND: Final = 10
"""Messages shown before and after the one that a link refers to."""
AT_ONCE: Final = 30
TOPICS_AT_ONCE: Final = 100
_ID: Final = re.compile(r"[0-9]{1,18}")
_VIEW: Final = ClientView(apply_markdown=True, client_gravatar=False, empty_topic_name=True)
_NO_MESSAGE: Final = _("There is no such message, or you may not read it.")
_NO_CHANNEL: Final = _("There is no such channel, or you may not read it.")


class MessageView(NamedTuple):
    """A message for the template."""

    message_id: int
    sender: str
    sent_at: datetime
    edited: bool
    html: "Markup"
    page: str


@dataclass(frozen=True, slots=True)
class _ConversationView:
    """The conversation of a message."""

    title: str
    terms: tuple[Term, ...]
    channel_id: int | None = None
    channel: str = ""
    topic: str = ""


async def message(request: Request) -> Page:
    """A message with its neighbours; `show` requests the `earlier` or `later` ones instead."""
    reader = await _reader(request)
    if reader is None:
        return go(request, sign_in_first(request))
    wanted, realm_cache = MessageId(_number(request.path_params["message_id"])), request.realm_cache
    async with request.app.database.connection() as connection:
        found = await fetch.by_ids(realm_cache, connection, reader, [wanted], _VIEW)
        if not found:
            return await _missing(request, reader, _NO_MESSAGE)
        place = await _place_of(request, reader, found[0])
        asked = _range(request.query.get("show", ""), wanted, place)
        fetched = await fetch.page(realm_cache, connection, reader, asked)
    return await _conversation(request, place, fetched, marked=wanted)


async def topic(request: Request) -> Page:
    """Return the latest messages of a topic."""
    reader = await _reader(request)
    if reader is None:
        return go(request, sign_in_first(request))
    name = request.query.get("name", "")
    async with request.app.database.connection() as connection:
        channel = await _channel(request, connection, reader)
        if channel is None:
            return await _missing(request, reader, _NO_CHANNEL)
        place = await _topic_of(request, channel.channel_id, channel.name, name)
        asked = fetch.HistoryRequest(terms=place.terms, anchor="newest", before=AT_ONCE, view=_VIEW)
        fetched = await fetch.page(request.realm_cache, connection, reader, asked)
    return await _conversation(request, place, fetched)


async def channel(request: Request) -> Page:
    """Return the topics of a channel, the latest first."""
    reader = await _reader(request)
    if reader is None:
        return go(request, sign_in_first(request))
    number = request.query.get("page", "")
    first = (int(number) - 1 if re.fullmatch(r"[1-9][0-9]{0,5}", number) else 0) * TOPICS_AT_ONCE
    async with request.app.database.connection() as connection:
        found = await _channel(request, connection, reader)
        if found is None:
            return await _missing(request, reader, _NO_CHANNEL)
        is_in = await _is_in(connection, reader, found.channel_id)
        if (await _standing(request, reader)).reads_history(found, subscribed=is_in):
            heads = await conversations.topics_of(connection, reader.realm_id, found.channel_id)
        else:
            heads = await conversations.topics_given_to(
                connection, reader.realm_id, found.channel_id, reader.user_id
            )
    settings, own = await request.realm_cache.settings(), channel_page(found.channel_id)
    shown, page = heads[first : first + TOPICS_AT_ONCE], first // TOPICS_AT_ONCE + 1
    return await show(
        request,
        "channel.html",
        sign_in=_sign_in(request),
        channel=found,
        topics=[
            (
                head.name or settings.empty_topic_display_name,
                topic_page(found.channel_id, head.name),
            )
            for head in shown
        ],
        newer=f"{own}?page={page - 1}" if page > 1 else "",
        older=f"{own}?page={page + 1}" if first + TOPICS_AT_ONCE < len(heads) else "",
    )


async def all_channels(request: Request) -> Page:
    """Return the web-public channels, and those to which the caller is subscribed."""
    reader = await _reader(request)
    if reader is None:
        return go(request, sign_in_first(request))
    realm_id, standing = reader.realm_id, await _standing(request, reader)
    async with request.app.database.connection() as connection:
        own = await subscriptions.of_users(connection, realm_id, [reader.user_id])
        subscribed = {row.channel_id for row in own if row.active}
        web_public = await narrows.channels_that_are(connection, realm_id, "web-public")
        rows = await channels.by_ids(connection, realm_id, sorted(subscribed.union(web_public)))
    readable = [
        row
        for row in rows
        if not row.is_archived and standing.reads(row, subscribed=row.channel_id in subscribed)
    ]
    return await show(
        request,
        "channels.html",
        sign_in=_sign_in(request),
        channels=[
            (row.name, row.description, channel_page(row.channel_id))
            for row in sorted(readable, key=lambda row: fold_name(row.name))
        ],
    )


async def has_spectators(request: Request) -> bool:
    """Return whether visitors may read web-public channels."""
    settings = await request.realm_cache.settings()
    if not (request.app.settings.web_public_channels and settings.enable_spectator_access):
        return False
    return not (await request.realm_cache.realm()).deactivated


async def _reader(request: Request) -> Actor | None:
    """Return the signed-in caller, or a spectator where the organization permits them."""
    if request.caller is not None or not await has_spectators(request):
        return request.caller
    settings = await request.realm_cache.settings()
    now = request.app.clock.now()
    return spectator(request.realm_cache.realm_id, settings.user_settings_defaults, now)


async def _missing(request: Request, reader: Actor, sentence: str) -> Page:
    """Return the same page for what does not exist and for what the reader may not read.

    Visitors are asked to sign in in both cases: an account may have access.
    """
    if reader.is_spectator:
        return go(request, sign_in_first(request))
    return await show(request, "missing.html", error=NotFoundError(sentence))


async def _standing(request: Request, reader: Actor) -> Standing:
    realm_cache = request.realm_cache
    return Standing(reader.person, await realm_cache.groups(), await realm_cache.settings())


async def _is_in(connection: Connection, reader: Actor, channel_id: ChannelId) -> bool:
    own = await subscriptions.of_user_in(connection, reader.realm_id, reader.user_id, channel_id)
    return own is not None and own.active


async def _channel(request: Request, connection: Connection, reader: Actor) -> ChannelRow | None:
    """Return the channel of this page, if the reader may read its content."""
    channel_id = ChannelId(_number(request.path_params["channel_id"]))
    found = await channels.by_ids(connection, reader.realm_id, [channel_id])
    is_in = await _is_in(connection, reader, channel_id)
    standing = await _standing(request, reader)
    return found[0] if found and standing.reads(found[0], subscribed=is_in) else None


async def _place_of(request: Request, reader: Actor, found: MessageObject) -> _ConversationView:
    if isinstance(found.stream_id, int):
        assert isinstance(found.display_recipient, str), "a channel has a name"
        return await _topic_of(request, found.stream_id, found.display_recipient, found.subject)
    assert not isinstance(found.display_recipient, str), "direct messages have people"
    people = found.display_recipient
    names = [each.full_name for each in people if each.id != reader.user_id]
    title = _("Direct messages with yourself")
    if names:
        title = _("Direct messages with {names}", names=", ".join(names))
    return _ConversationView(title, (Term("dm", tuple(each.id for each in people)),))


async def _topic_of(
    request: Request, channel_id: int, channel: str, topic: str
) -> _ConversationView:
    shown = topic or (await request.realm_cache.settings()).empty_topic_display_name
    terms = (Term("channel", channel_id), Term("topic", topic))
    return _ConversationView(f"#{channel} > {shown}", terms, channel_id, channel, topic)


def _range(asked: str, wanted: MessageId, place: _ConversationView) -> fetch.HistoryRequest:
    before = {"earlier": AT_ONCE, "later": 0}.get(asked, AROUND)
    after = {"earlier": 0, "later": AT_ONCE}.get(asked, AROUND)
    return fetch.HistoryRequest(
        terms=place.terms,
        anchor=wanted,
        before=before,
        after=after,
        include_anchor=asked not in ("earlier", "later"),
        view=_VIEW,
    )


async def _conversation(
    request: Request,
    place: _ConversationView,
    fetched: fetch.Fetched,
    *,
    marked: MessageId | None = None,
) -> Page:
    shown, page = await _shown(fetched.messages), fetched.page
    earlier, later = "", ""
    if shown and not page.found_oldest:
        earlier = f"{shown[0].page}?{urlencode({'show': 'earlier'})}"
    if shown and not page.found_newest:
        later = f"{shown[-1].page}?{urlencode({'show': 'later'})}"
    return await show(
        request,
        "conversation.html",
        sign_in=_sign_in(request),
        title=place.title,
        channel=place.channel,
        channel_page="" if place.channel_id is None else channel_page(place.channel_id),
        messages=shown,
        marked=marked,
        earlier=earlier,
        later=later,
    )


async def _shown(messages: Sequence[MessageObject]) -> list[MessageView]:
    """Render the messages, yielding to other tasks: long ones take a few milliseconds each."""
    shown = []
    for each in messages:
        shown.append(
            MessageView(
                each.id,
                each.sender_full_name,
                datetime.fromtimestamp(each.timestamp, UTC),
                each.last_edit_timestamp is not msgspec.UNSET,
                for_page(each.content),
                message_page(each.id),
            )
        )
        await asyncio.sleep(0)
    return shown


def _sign_in(request: Request) -> str:
    """Return the sign-in page that leads back here; empty for a signed-in caller."""
    return sign_in_first(request) if request.caller is None else ""


def _number(text: str) -> int:
    """Return the id in the path. Raises NotFoundError."""
    if _ID.fullmatch(text) is None:
        raise NotFoundError(_("There is no such page."))
    return int(text)


PAGES = (
    PageRoute("GET", MESSAGE, Access.ANONYMOUS, message),
    PageRoute("GET", TOPIC, Access.ANONYMOUS, topic),
    PageRoute("GET", CHANNEL, Access.ANONYMOUS, channel),
    PageRoute("GET", CHANNELS, Access.ANONYMOUS, all_channels),
)
