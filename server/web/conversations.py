"""Pages that show messages: one with its conversation, a topic, a channel, all channels.

Mails link to them. They show what the signed-in caller may read, and to visitors what is public to
the web where the organization permits spectators.
"""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlencode

import msgspec

from server.api.endpoint import Access
from server.api.visits import PageRoute, Visit
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
"""How many messages are shown before and after the one that a link leads to."""
AT_ONCE: Final = 30
TOPICS_AT_ONCE: Final = 100
_ID: Final = re.compile(r"[0-9]{1,18}")
_VIEW: Final = ClientView(apply_markdown=True, client_gravatar=False, empty_topic_name=True)
_NO_MESSAGE: Final = "There is no such message, or you may not read it."
_NO_CHANNEL: Final = "There is no such channel, or you may not read it."


class ShownMessage(NamedTuple):
    """A message as the template shows it."""

    message_id: int
    sender: str
    sent_at: datetime
    edited: bool
    html: "Markup"
    page: str


@dataclass(frozen=True, slots=True)
class _Place:
    """The conversation of a message."""

    title: str
    terms: tuple[Term, ...]
    channel_id: int | None = None
    channel: str = ""
    topic: str = ""


async def message(visit: Visit) -> Page:
    """A message among its neighbours; `show` asks for those `earlier` or `later` instead."""
    reader = await _reader(visit)
    if reader is None:
        return go(visit, sign_in_first(visit))
    wanted, realm_cache = MessageId(_number(visit.place["message_id"])), visit.realm_cache
    async with visit.app.database.connection() as connection:
        found = await fetch.by_ids(realm_cache, connection, reader, [wanted], _VIEW)
        if not found:
            return await _missing(visit, reader, _NO_MESSAGE)
        place = await _place_of(visit, reader, found[0])
        asked = _range(visit.query.get("show", ""), wanted, place)
        fetched = await fetch.page(realm_cache, connection, reader, asked)
    return await _conversation(visit, place, fetched, marked=wanted)


async def topic(visit: Visit) -> Page:
    """The latest messages of a topic."""
    reader = await _reader(visit)
    if reader is None:
        return go(visit, sign_in_first(visit))
    name = visit.query.get("name", "")
    async with visit.app.database.connection() as connection:
        channel = await _channel(visit, connection, reader)
        if channel is None:
            return await _missing(visit, reader, _NO_CHANNEL)
        place = await _topic_of(visit, channel.channel_id, channel.name, name)
        asked = fetch.Wanted(terms=place.terms, anchor="newest", before=AT_ONCE, view=_VIEW)
        fetched = await fetch.page(visit.realm_cache, connection, reader, asked)
    return await _conversation(visit, place, fetched)


async def channel(visit: Visit) -> Page:
    """The topics of a channel, the latest first."""
    reader = await _reader(visit)
    if reader is None:
        return go(visit, sign_in_first(visit))
    number = visit.query.get("page", "")
    first = (int(number) - 1 if re.fullmatch(r"[1-9][0-9]{0,5}", number) else 0) * TOPICS_AT_ONCE
    async with visit.app.database.connection() as connection:
        found = await _channel(visit, connection, reader)
        if found is None:
            return await _missing(visit, reader, _NO_CHANNEL)
        is_in = await _is_in(connection, reader, found.channel_id)
        if (await _standing(visit, reader)).reads_history(found, subscribed=is_in):
            heads = await conversations.topics_of(connection, reader.realm_id, found.channel_id)
        else:
            heads = await conversations.topics_given_to(
                connection, reader.realm_id, found.channel_id, reader.user_id
            )
    settings, own = await visit.realm_cache.settings(), channel_page(found.channel_id)
    shown, page = heads[first : first + TOPICS_AT_ONCE], first // TOPICS_AT_ONCE + 1
    return await show(
        visit,
        "channel.html",
        sign_in=_sign_in(visit),
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


async def all_channels(visit: Visit) -> Page:
    """The channels that are public to the web, and those to which the caller is subscribed."""
    reader = await _reader(visit)
    if reader is None:
        return go(visit, sign_in_first(visit))
    realm_id, standing = reader.realm_id, await _standing(visit, reader)
    async with visit.app.database.connection() as connection:
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
        visit,
        "channels.html",
        sign_in=_sign_in(visit),
        channels=[
            (row.name, row.description, channel_page(row.channel_id))
            for row in sorted(readable, key=lambda row: fold_name(row.name))
        ],
    )


async def has_spectators(visit: Visit) -> bool:
    """Whether visitors may read here what is public to the web."""
    settings = await visit.realm_cache.settings()
    if not (visit.app.settings.web_public_channels and settings.enable_spectator_access):
        return False
    return not (await visit.realm_cache.realm()).deactivated


async def _reader(visit: Visit) -> Actor | None:
    """The signed-in caller, or a spectator where the organization permits them."""
    if visit.caller is not None or not await has_spectators(visit):
        return visit.caller
    settings = await visit.realm_cache.settings()
    now = visit.app.clock.now()
    return spectator(visit.realm_cache.realm_id, settings.user_settings_defaults, now)


async def _missing(visit: Visit, reader: Actor, sentence: str) -> Page:
    """The same page for what does not exist and for what the reader may not read.

    Visitors are asked to sign in, in either case: an account may be able to read it.
    """
    if reader.is_spectator:
        return go(visit, sign_in_first(visit))
    return await show(visit, "missing.html", error=NotFoundError(sentence))


async def _standing(visit: Visit, reader: Actor) -> Standing:
    realm_cache = visit.realm_cache
    return Standing(reader.person, await realm_cache.groups(), await realm_cache.settings())


async def _is_in(connection: Connection, reader: Actor, channel_id: ChannelId) -> bool:
    own = await subscriptions.of_user_in(connection, reader.realm_id, reader.user_id, channel_id)
    return own is not None and own.active


async def _channel(visit: Visit, connection: Connection, reader: Actor) -> ChannelRow | None:
    """The channel of this page, if the reader may read its content."""
    channel_id = ChannelId(_number(visit.place["channel_id"]))
    found = await channels.by_ids(connection, reader.realm_id, [channel_id])
    is_in = await _is_in(connection, reader, channel_id)
    standing = await _standing(visit, reader)
    return found[0] if found and standing.reads(found[0], subscribed=is_in) else None


async def _place_of(visit: Visit, reader: Actor, found: MessageObject) -> _Place:
    if isinstance(found.stream_id, int):
        assert isinstance(found.display_recipient, str), "a channel has a name"
        return await _topic_of(visit, found.stream_id, found.display_recipient, found.subject)
    assert not isinstance(found.display_recipient, str), "direct messages have people"
    people = found.display_recipient
    names = [each.full_name for each in people if each.id != reader.user_id]
    title = f"Direct messages with {', '.join(names)}" if names else "Direct messages with yourself"
    return _Place(title, (Term("dm", tuple(each.id for each in people)),))


async def _topic_of(visit: Visit, channel_id: int, channel: str, topic: str) -> _Place:
    shown = topic or (await visit.realm_cache.settings()).empty_topic_display_name
    terms = (Term("channel", channel_id), Term("topic", topic))
    return _Place(f"#{channel} > {shown}", terms, channel_id, channel, topic)


def _range(asked: str, wanted: MessageId, place: _Place) -> fetch.Wanted:
    before = {"earlier": AT_ONCE, "later": 0}.get(asked, AROUND)
    after = {"earlier": 0, "later": AT_ONCE}.get(asked, AROUND)
    return fetch.Wanted(
        terms=place.terms,
        anchor=wanted,
        before=before,
        after=after,
        include_anchor=asked not in ("earlier", "later"),
        view=_VIEW,
    )


async def _conversation(
    visit: Visit,
    place: _Place,
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
        visit,
        "conversation.html",
        sign_in=_sign_in(visit),
        title=place.title,
        channel=place.channel,
        channel_page="" if place.channel_id is None else channel_page(place.channel_id),
        messages=shown,
        marked=marked,
        earlier=earlier,
        later=later,
    )


async def _shown(messages: Sequence[MessageObject]) -> list[ShownMessage]:
    """The messages with their HTML, in turns: long ones take a few milliseconds each."""
    shown = []
    for each in messages:
        shown.append(
            ShownMessage(
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


def _sign_in(visit: Visit) -> str:
    """Where visitors sign in to come back here; empty for the signed-in caller."""
    return sign_in_first(visit) if visit.caller is None else ""


def _number(text: str) -> int:
    """The id in the path. Raises NotFoundError."""
    if _ID.fullmatch(text) is None:
        raise NotFoundError("There is no such page.")
    return int(text)


PAGES = (
    PageRoute("GET", MESSAGE, Access.ANONYMOUS, message),
    PageRoute("GET", TOPIC, Access.ANONYMOUS, topic),
    PageRoute("GET", CHANNEL, Access.ANONYMOUS, channel),
    PageRoute("GET", CHANNELS, Access.ANONYMOUS, all_channels),
)
