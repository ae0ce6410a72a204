"""Reading history: pages around an anchor, narrowed, and single messages."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from server.actions.messages.people import recipient_of, sender_of
from server.directory import Directory
from server.domain.actor import Actor
from server.domain.channels import Standing
from server.domain.errors import BadNarrowError, BadRequestError
from server.domain.narrow import Term
from server.events.base import ClientView
from server.events.messages import ShownMessage, message_object
from storage import conversations, history, messages
from storage.channels import ChannelRow
from storage.database import Connection
from storage.history import NEWEST, OLDEST, Flag, Page, Scope, Window
from storage.ids import ChannelId, MessageId, UserId
from storage.messages import MessageRow
from storage.users import UserRow

MAX_MESSAGES: Final = 5_000
SHOWN_NEWEST: Final = 10**16
"""The number that stands for the newest message on the wire: clients keep ids below 2^53."""
MAX_ID_DIGITS: Final = 20
_FLAGS: Final[dict[str, Flag]] = {
    "starred": "starred",
    "mentioned": "mentioned",
    "alerted": "alerted",
    "unread": "unread",
}
NamedAnchor = Literal["newest", "oldest", "first_unread"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a client asks of history."""

    terms: Sequence[Term] = ()
    anchor: int | NamedAnchor = "newest"
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
    if wanted.before + wanted.after > MAX_MESSAGES:
        raise BadRequestError(f"Too many messages requested (maximum {MAX_MESSAGES}).")
    scope = await _scope(directory, connection, actor, wanted.terms)
    if scope is None:
        return Fetched(_shown(NEWEST), Page([], False, True, True), [])
    anchor = await _anchor(connection, actor, scope, wanted.anchor)
    window = Window(
        anchor=anchor,
        before=wanted.before,
        after=wanted.after,
        include_anchor=wanted.include_anchor,
    )
    page = await history.page(
        connection,
        actor.realm_id,
        actor.user_id,
        scope,
        window,
        rendered=wanted.view.apply_markdown,
    )
    return Fetched(_shown(anchor), page, await show(directory, page.rows, wanted.view))


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
    scope = await _scope(directory, connection, actor, terms)
    if scope is None:
        return []
    wanted = set(message_ids) if scope.ids is None else set(message_ids).intersection(scope.ids)
    everything = Window(anchor=OLDEST, before=0, after=len(wanted))
    page = await history.page(
        connection,
        actor.realm_id,
        actor.user_id,
        replace(scope, ids=sorted(wanted)),
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
    display_name = (await directory.settings()).empty_topic_display_name
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
            empty_topic_display_name=display_name,
            dm_group_id=row.conversation_id,
            recipients=tuple(recipient_of(people[u], domain) for u in row.user_ids or ()),
        )
        shown.append(_with_personal(row, message, view))
    return shown


def _with_personal(row: MessageRow, message: ShownMessage, view: ClientView) -> dict[str, Any]:
    shown = message_object(
        row.id,
        message,
        row.content,
        view,
        reactions=row.reactions,
        submessages=row.submessages,
    )
    shown["flags"] = row.flags
    if row.edit_history:
        shown["edit_history"] = row.edit_history
    if row.edited_at is not None:
        shown["last_edit_timestamp"] = int(row.edited_at.timestamp())
    if row.moved_at is not None:
        shown["last_moved_timestamp"] = int(row.moved_at.timestamp())
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


# -- from a narrow to a scope


async def _scope(
    directory: Directory, connection: Connection, actor: Actor, terms: Sequence[Term]
) -> Scope | None:
    """Where to look; None if no message can be there. Raises BadNarrowError."""
    look = _Look(directory, connection, actor)
    scope = Scope()
    for term in terms:
        narrowed = await _narrowed(look, scope, term)
        if narrowed is None:
            return None
        scope = narrowed
    topics = {str(term.operand) for term in terms if term.operator == "topic"}
    return await _with_topics(look, scope, topics) if topics else scope


@dataclass(frozen=True, slots=True)
class _Look:
    """Who narrows, and with what."""

    directory: Directory
    connection: Connection
    actor: Actor


async def _narrowed(look: _Look, scope: Scope, term: Term) -> Scope | None:
    """The scope with one more condition; None if nothing meets them all."""
    if term.operator == "channel":
        return await _with_channel(look, scope, term.operand)
    if term.operator == "dm":
        return await _with_dm(look, scope, term.operand)
    if term.operator == "sender":
        return await _with_sender(look, scope, term.operand)
    if term.operator == "id":
        return _with_id(scope, term.operand)
    return scope if term.operator == "topic" else _with_is(scope, str(term.operand))


async def _with_channel(look: _Look, scope: Scope, operand: object) -> Scope | None:
    channel_id = (await _channel(look.directory, look.actor, operand)).channel_id
    if scope.channel_id not in {None, channel_id} or scope.only_direct:
        return None
    return replace(scope, channel_id=channel_id)


async def _with_topics(look: _Look, scope: Scope, named: Iterable[str]) -> Scope | None:
    """The topics that have all of these names, in the channel or in any."""
    display_name = (await look.directory.settings()).empty_topic_display_name
    names = ["" if name in ("(no topic)", display_name) else name for name in named]
    if len({name.lower() for name in names}) > 1 or scope.only_direct:
        return None
    ids = await conversations.topic_ids_named(
        look.connection, look.directory.realm_id, names[0], scope.channel_id
    )
    return replace(scope, conversation_ids=ids, channel_id=None) if ids else None


async def _with_dm(look: _Look, scope: Scope, operand: object) -> Scope | None:
    people = {row.user_id for row in await _users(look.directory, operand)}
    everybody = sorted(people | {look.actor.user_id})
    group = await conversations.dm_group_of(look.connection, look.directory.realm_id, everybody)
    if group is None or scope.channel_id is not None:
        return None
    return replace(scope, conversation_ids=[group], only_direct=True)


async def _with_sender(look: _Look, scope: Scope, operand: object) -> Scope | None:
    [sender] = await _users(look.directory, operand, only=1)
    if scope.sender_id not in {None, sender.user_id}:
        return None
    return replace(scope, sender_id=sender.user_id)


def _with_id(scope: Scope, operand: object) -> Scope | None:
    text = str(operand)
    if not text.isascii() or not text.isdigit() or len(text) > MAX_ID_DIGITS:
        raise BadNarrowError("Invalid message ID")
    wanted = MessageId(min(int(text), NEWEST))
    if scope.ids is not None and wanted not in scope.ids:
        return None
    return replace(scope, ids=[wanted])


def _with_is(scope: Scope, operand: str) -> Scope | None:
    if operand in ("dm", "private"):
        return None if scope.channel_id is not None else replace(scope, only_direct=True)
    return replace(scope, flags=[*scope.flags, _FLAGS[operand]])


async def _channel(directory: Directory, actor: Actor, operand: object) -> ChannelRow:
    """The channel that the operand names, if the actor may know of it."""
    if isinstance(operand, int):
        channel = await directory.channel(ChannelId(operand))
    else:
        channel = await directory.channel_by_name(str(operand))
    if channel is not None:
        standing = Standing(actor.person, await directory.groups(), await directory.settings())
        subscription = await directory.subscription(actor.user_id, channel.channel_id)
        is_subscribed = subscription is not None and subscription.active
        if standing.sees(channel, subscribed=is_subscribed):
            return channel
    raise BadNarrowError(f"unknown channel {operand}")


async def _users(directory: Directory, operand: object, only: int | None = None) -> list[UserRow]:
    """The users that the operand names by ids or emails."""
    if isinstance(operand, str):
        emails = [e.strip() for e in operand.split(",") if e.strip()]
        found = [await directory.user_by_email(email) for email in emails]
    else:
        ids = operand if isinstance(operand, tuple) else (operand,)
        found = [await directory.user(UserId(each)) for each in ids if isinstance(each, int)]
    rows = [row for row in found if row is not None]
    if len(rows) < len(found) or (only is not None and len(rows) != only):
        raise BadNarrowError(f"unknown user in {operand}")
    return rows
