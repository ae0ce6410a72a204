"""Reading history: pages around an anchor, narrowed, and single messages."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from server.actions.messages.edit_history import last_moved, shown_history
from server.actions.messages.narrowing import Look, among, narrowed
from server.actions.messages.people import recipient_of, sender_of
from server.directory import Directory
from server.domain.actor import Actor
from server.domain.errors import BadRequestError, MissingParameterError
from server.domain.narrow import Term
from server.domain.realm_settings import RealmSettings
from server.events.base import ClientView
from server.events.messages import ShownMessage, message_object
from storage import history, messages
from storage.channels import ChannelRow
from storage.database import Connection
from storage.history import NEWEST, OLDEST, Page, PageOfIds, Scope, Window
from storage.ids import ChannelId, MessageId, UserId
from storage.messages import MessageRow
from storage.users import UserRow

MAX_MESSAGES: Final = 5_000
SHOWN_NEWEST: Final = 10**16
"""The number that stands for the newest message on the wire: clients keep ids below 2^53."""
NamedAnchor = Literal["newest", "oldest", "first_unread"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a client asks of history."""

    terms: Sequence[Term] = ()
    anchor: int | NamedAnchor | None = "newest"
    """None: where the narrow says it is near."""
    before: int = 0
    after: int = 0
    include_anchor: bool = True
    view: ClientView


@dataclass(frozen=True, slots=True)
class Fetched:
    anchor: int
    page: Page
    messages: list[dict[str, Any]]


async def fetch(
    directory: Directory, connection: Connection, actor: Actor, wanted: Wanted
) -> Fetched:
    """A page of what the actor may read. Raises BadNarrowError, BadRequestError."""
    located = await _locate(directory, connection, actor, wanted)
    if located is None:
        return Fetched(_shown(NEWEST), Page([], False, True, True), [])
    scope, window = located
    page = await history.page(
        connection,
        actor.realm_id,
        actor.user_id,
        scope,
        window,
        rendered=wanted.view.apply_markdown,
    )
    return Fetched(_shown(window.anchor), page, await show(directory, page.rows, wanted.view))


async def find(
    directory: Directory, connection: Connection, actor: Actor, wanted: Wanted
) -> PageOfIds:
    """Which messages `fetch` would give. Raises BadNarrowError, BadRequestError."""
    located = await _locate(directory, connection, actor, wanted)
    if located is None:
        return PageOfIds([], False, True, True)
    return await history.page_of_ids(connection, actor.realm_id, actor.user_id, *located)


async def _locate(
    directory: Directory, connection: Connection, actor: Actor, wanted: Wanted
) -> tuple[Scope, Window] | None:
    """Where to look; None if no message can be there."""
    if wanted.before + wanted.after > MAX_MESSAGES:
        raise BadRequestError(f"Too many messages requested (maximum {MAX_MESSAGES}).")
    where = await narrowed(Look(directory, connection, actor), wanted.terms)
    if where.scope is None:
        return None
    asked = where.near if wanted.anchor is None else wanted.anchor
    if asked is None:
        raise MissingParameterError("anchor")
    window = Window(
        anchor=await _anchor(connection, actor, where.scope, asked),
        before=wanted.before,
        after=wanted.after,
        include_anchor=wanted.include_anchor,
    )
    return where.scope, window


async def fetch_by_ids(
    directory: Directory,
    connection: Connection,
    actor: Actor,
    message_ids: Sequence[MessageId],
    view: ClientView,
    terms: Sequence[Term] = (),
) -> list[dict[str, Any]]:
    """Those of the messages that the actor may read and that meet the terms, by id."""
    if len(message_ids) > MAX_MESSAGES:
        raise BadRequestError(f"Too many messages requested (maximum {MAX_MESSAGES}).")
    if terms:
        message_ids = await _narrowed_ids(directory, connection, actor, message_ids, terms)
    rows = await messages.for_reader(
        connection, actor.realm_id, actor.user_id, message_ids, rendered=view.apply_markdown
    )
    return await show(directory, rows, view)


async def _narrowed_ids(
    directory: Directory,
    connection: Connection,
    actor: Actor,
    message_ids: Sequence[MessageId],
    terms: Sequence[Term],
) -> list[MessageId]:
    where = await narrowed(Look(directory, connection, actor), terms)
    if where.scope is None:
        return []
    everything = Window(anchor=OLDEST, before=0, after=len(message_ids))
    page = await history.page(
        connection,
        actor.realm_id,
        actor.user_id,
        among(where.scope, message_ids),
        everything,
        rendered=False,
    )
    return [row.id for row in page.rows]


async def fetch_one(
    directory: Directory,
    connection: Connection,
    actor: Actor,
    message_id: MessageId,
    view: ClientView,
) -> tuple[dict[str, Any], str]:
    """The message as the actor sees it, and its Markdown. Raises BadRequestError."""
    shown = await fetch_by_ids(directory, connection, actor, [message_id], view)
    raw = await messages.for_reader(
        connection, actor.realm_id, actor.user_id, [message_id], rendered=False
    )
    if not shown or not raw:
        raise BadRequestError("Invalid message(s)")
    return shown[0], raw[0].content


async def show(
    directory: Directory, rows: Sequence[MessageRow], view: ClientView
) -> list[dict[str, Any]]:
    """The messages as a client with this view gets them, each with its reader's flags."""
    realm = await directory.realm()
    domain = directory.address_of(realm).domain
    settings = await directory.settings()
    people = await _people(directory, rows)
    channels = await _channels(directory, rows)
    senders = {u: sender_of(row, realm, domain) for u, row in people.items()}
    shown = []
    for row in rows:
        message = ShownMessage(
            sender=senders[row.sender_id],
            client=row.client,
            timestamp=int(row.sent_at.timestamp()),
            is_me_message=bool(row.traits & messages.IS_ME_MESSAGE),
            channel_id=row.channel_id,
            channel_name=channels[row.channel_id].name if row.channel_id is not None else "",
            topic=row.topic or "",
            empty_topic_display_name=settings.empty_topic_display_name,
            dm_group_id=row.conversation_id,
            recipients=tuple(recipient_of(people[u], domain) for u in row.user_ids or ()),
        )
        shown.append(_with_personal(row, message, view, settings))
    return shown


def _with_personal(
    row: MessageRow, message: ShownMessage, view: ClientView, settings: RealmSettings
) -> dict[str, Any]:
    shown = message_object(
        row.id,
        message,
        row.content,
        view,
        reactions=row.reactions,
        submessages=row.submessages,
    )
    shown["flags"] = row.flags
    if row.edited_at is not None:
        shown["last_edit_timestamp"] = int(row.edited_at.timestamp())
    if row.edit_history:
        moved_at = last_moved(row.edit_history)
        if moved_at is not None:
            shown["last_moved_timestamp"] = moved_at
        history = shown_history(row.edit_history, settings, view)
        if history:
            shown["edit_history"] = history
    return shown


async def _people(directory: Directory, rows: Sequence[MessageRow]) -> dict[UserId, UserRow]:
    wanted = {row.sender_id for row in rows}
    for row in rows:
        wanted.update(row.user_ids or ())
    return await directory.users(sorted(wanted))


async def _channels(
    directory: Directory, rows: Sequence[MessageRow]
) -> dict[ChannelId, ChannelRow]:
    wanted = {row.channel_id for row in rows if row.channel_id is not None}
    found = {channel_id: await directory.channel(channel_id) for channel_id in wanted}
    return {channel_id: row for channel_id, row in found.items() if row is not None}


async def _anchor(
    connection: Connection, actor: Actor, scope: Scope, anchor: int | NamedAnchor
) -> MessageId:
    if anchor == "newest":
        return NEWEST
    if anchor == "oldest":
        return OLDEST
    if anchor == "first_unread":
        first = await history.first_unread(connection, actor.realm_id, actor.user_id, scope)
        return NEWEST if first is None else first
    return NEWEST if anchor >= SHOWN_NEWEST else MessageId(max(anchor, OLDEST))


def _shown(anchor: MessageId) -> int:
    return SHOWN_NEWEST if anchor == NEWEST else anchor
