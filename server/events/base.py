"""Events, their audiences, and the log entries that hold them."""

from collections.abc import Collection, Sequence
from typing import Any, ClassVar, Final

import msgspec
from typing_extensions import override

from server.domain.addresses import RealmAddress
from storage.database import Statement
from storage.ids import ChannelId, Position, QueueId, UserId

MAX_WIRE_EVENTS = 512
"""Maximum number of wire events per entry: larger work is split into entries."""


class ClientView(msgspec.Struct, frozen=True, kw_only=True):
    """How a client wants its events: its register parameters, and its capabilities."""

    apply_markdown: bool = False
    client_gravatar: bool = True
    slim_presence: bool = False
    archived_channels: bool = False
    bulk_message_deletion: bool = False
    empty_topic_name: bool = False
    include_deactivated_groups: bool = False
    individual_emoji_changes: bool = False
    linkifier_url_template: bool = False
    message_buttons: bool = False
    notification_settings_null: bool = False
    pins: bool = False
    reaction_notifications: bool = False
    simplified_presence_events: bool = False
    slash_commands: bool = False
    stream_typing_notifications: bool = False
    topic_descriptions: bool = False
    user_avatar_url_field_optional: bool = False
    user_list_incomplete: bool = False
    user_settings_object: bool = False


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=False):
    """Something that happened in a realm, in the form of the log.

    A subclass is declared once: its fields are the body in the log and, unless `wire` is
    overridden, the event that clients get. `kind` names it in the log for ever.
    """

    kind: ClassVar[str] = ""
    wire_type: ClassVar[str] = ""
    """The `type` that clients filter by. Empty: never sent to clients."""
    varies_by: ClassVar[tuple[str, ...]] = ()
    """The fields of ClientView on which `wire` depends: one encoding for each combination."""
    wires: ClassVar[tuple[type, ...]] = ()
    """Types of the events that `wire` returns. Empty: it returns the event itself."""
    has_flags: ClassVar[bool] = False
    """Whether each reader's own flags are added to the wire event."""

    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        """Return the events that a client with this view gets, without `id` and `flags`.

        At most MAX_WIRE_EVENTS; none if the client is not to get it.
        """
        del position, view
        return (self,)

    def without_secrets(self) -> "Event | None":
        """Return the event for the queue of a key without access to secrets; None: not delivered.

        An event with a field of type `Secret` (server/domain/api_keys.py) has to override this.
        """
        return self

    def touches(self) -> Sequence[tuple[Any, ...]]:
        """Return the keys of cached rows that this event invalidates (server/realm_cache/)."""
        return ()

    def membership(self) -> Sequence[tuple[UserId, ChannelId, bool]]:
        """Return changes of subscribers: (user, channel, joined)."""
        return ()

    def muting(self) -> tuple[UserId, UserId, bool] | None:
        """Return a change of muting: (user, the other, muted)."""
        return None

    def sent_by(self) -> UserId | None:
        """Return the sender of a message: users who mute them have read it. None: no message."""
        return None

    def shows(self) -> Sequence[UserId]:
        """Return people shown by more than their ids, to readers who may not all know them."""
        return ()

    def masked(self, strangers: Collection[UserId], address: RealmAddress) -> "Event":
        """Return the event with these people masked (server/domain/shown_people.py)."""
        del strangers, address
        return self

    def met(self) -> Sequence[UserId]:
        """Return people who know each other from this entry on, as they share a conversation."""
        return ()

    def ended_queues(self) -> Sequence[UserId]:
        """Return users with event queues that end here."""
        return ()

    def blanked(self) -> Sequence[Position]:
        """Return earlier entries that are blanked by this one."""
        return ()

    def reserves(self) -> int:
        """Return how many positions below its own the entry uses, too."""
        return 0


class Audience(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The recipients of an entry, by description: the union of all fields, less `without`.

    It is evaluated against the realm as of the entry's position, so it never widens.
    """

    everyone: bool = False
    guests: bool = False
    """With `everyone`: guests too."""
    channel_id: ChannelId | None = None
    """The subscribers of this channel at the entry's position."""
    public: bool = False
    """The channel was public then: queues that registered for all public channels get it too."""
    received_in: ChannelId | None = None
    received_at: Position | None = None
    """With `channel_id`: only subscribers who received what was sent there at that position."""
    entered_at: Position | None = None
    """With these: also subscribers at this position, when the message was moved there."""
    users: tuple[UserId, ...] = ()
    mentioned_bots: tuple[UserId, ...] = ()
    """With `public`: mentioned bots, unless they are guests."""
    without: tuple[UserId, ...] = ()
    flags: dict[UserId, tuple[str, ...]] = {}
    """Flags of single readers, for events that have flags."""
    all_flags: tuple[str, ...] = ()
    """Flags of every reader."""
    local_user_id: UserId | None = None
    local_queue_id: QueueId | None = None
    local_id: str | None = None
    """The sending client's own id of the message, delivered only to that queue of its user."""
    traceparent: str = ""
    """The span of the write, if its request is traced (server/telemetry/traces.py)."""

    def encode(self) -> bytes:
        return b"" if self == NO_AUDIENCE else msgspec.json.encode(self)


NO_AUDIENCE = Audience()
EVERYONE = Audience(everyone=True, guests=True)
MEMBERS = Audience(everyone=True)
"""All users but guests."""

_audience_decoder = msgspec.json.Decoder(Audience)


def decode_audience(data: bytes) -> Audience:
    return _audience_decoder.decode(data) if data else NO_AUDIENCE


def traceparent_in(data: bytes) -> str:
    """Return the span of the write from an encoded audience; empty if there is none."""
    return decode_audience(data).traceparent if b'"traceparent"' in data else ""


def to_users(*user_ids: UserId) -> Audience:
    return Audience(users=tuple(user_ids))


class Entry:
    """An entry to be appended by a transaction. `position` is set after the commit."""

    __slots__ = ("_position", "audience", "event", "statements")

    def __init__(self, event: Event, audience: Audience) -> None:
        self.event = event
        self.audience = audience
        self.statements: list[Statement] = []
        self._position: Position | None = None

    @property
    def position(self) -> Position:
        assert self._position is not None, "an entry has its position after the commit"
        return self._position

    def took_place(self, position: Position) -> None:
        self._position = position


class PositionsReserved(Event, frozen=True, kw_only=True):
    """Positions below the entry's own that have no entries: messages get them later."""

    kind: ClassVar[str] = "positions_reserved"

    count: int

    @override
    def reserves(self) -> int:
        return self.count


_decode_reserved: Final = msgspec.json.Decoder(PositionsReserved).decode


class LogEntry(msgspec.Struct, frozen=True):
    """An entry as stored in the log."""

    position: Position
    kind: str
    audience: bytes
    body: bytes | None
    write_id: str = ""

    @property
    def first(self) -> Position:
        """The first of the positions that it uses, which is its own for most."""
        if self.kind != PositionsReserved.kind:
            return self.position
        assert self.body is not None, "such entries are never blanked"
        return Position(self.position - _decode_reserved(self.body).count)
