"""What an event is, who gets it, and the transaction that collects it."""

from collections.abc import Collection, Sequence
from typing import Any, ClassVar

import msgspec

from server.domain.addresses import RealmAddress
from storage.database import Statement
from storage.ids import ChannelId, Position, QueueId, UserId

MAX_WIRE_EVENTS = 512
"""How many events on the wire one entry may become: larger work is split into entries."""


class ClientView(msgspec.Struct, frozen=True, kw_only=True):
    """How a client wants its events: what it asked for at register, and its capabilities."""

    apply_markdown: bool = False
    client_gravatar: bool = True
    slim_presence: bool = False
    archived_channels: bool = False
    bulk_message_deletion: bool = False
    empty_topic_name: bool = False
    include_deactivated_groups: bool = False
    individual_emoji_changes: bool = False
    linkifier_url_template: bool = False
    notification_settings_null: bool = False
    simplified_presence_events: bool = False
    stream_typing_notifications: bool = False
    user_avatar_url_field_optional: bool = False
    user_list_incomplete: bool = False
    user_settings_object: bool = False


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=False):
    """Something that happened in a realm, as the log keeps it.

    A subclass is declared once: its fields are the body in the log and, unless `wire` says
    otherwise, the event that clients get. `kind` names it in the log for ever.
    """

    kind: ClassVar[str] = ""
    wire_type: ClassVar[str] = ""
    """The `type` that clients filter by. Empty: never sent to clients."""
    varies_by: ClassVar[tuple[str, ...]] = ()
    """The fields of ClientView on which `wire` depends: one encoding for each combination."""
    has_flags: ClassVar[bool] = False
    """Whether each reader's own flags are added to what is sent."""

    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        """Return the events that a client with this view gets, without `id` and `flags`.

        At most MAX_WIRE_EVENTS; none if the client is not to get it.
        """
        del position, view
        return (self,)

    def without_secrets(self) -> "Event | None":
        """The event for the queue of a key that does not reach secrets; None: not sent to it.

        An event with a field of type `Secret` (server/domain/api_keys.py) has to override this.
        """
        return self

    def touches(self) -> Sequence[tuple[Any, ...]]:
        """Keys of cached rows that this event makes stale (server/realm_cache.py)."""
        return ()

    def membership(self) -> Sequence[tuple[UserId, ChannelId, bool]]:
        """Who has become, or ceased to be, a subscriber of what: (user, channel, joined)."""
        return ()

    def muting(self) -> tuple[UserId, UserId, bool] | None:
        """Who mutes whom from now on, or no longer: (user, the other, muted)."""
        return None

    def sent_by(self) -> UserId | None:
        """Whose message it is: who mutes them has read it. None: it is no message."""
        return None

    def shows(self) -> Sequence[UserId]:
        """People that it shows by more than their ids, to readers who may not all know them."""
        return ()

    def masked(self, strangers: Collection[UserId], address: RealmAddress) -> "Event":
        """The event for readers who may not know these people (server/domain/shown_people.py)."""
        del strangers, address
        return self

    def met(self) -> Sequence[UserId]:
        """Return people who know each other from this entry on, as they share a conversation."""
        return ()

    def ended_queues(self) -> Sequence[UserId]:
        """Return users whose event queues end here."""
        return ()

    def blanked(self) -> Sequence[Position]:
        """Earlier entries whose bodies are gone from now on."""
        return ()


class Audience(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who gets an entry, by description: the union of what is named, less `without`.

    It is evaluated against the realm as it was at the entry's position, so it never widens.
    """

    everyone: bool = False
    guests: bool = False
    """With `everyone`: guests too."""
    channel_id: ChannelId | None = None
    """Those who were subscribed to this channel at the entry's position."""
    public: bool = False
    """The channel was public then: queues that asked for all public channels get it too."""
    received_in: ChannelId | None = None
    received_at: Position | None = None
    """With `channel_id`: only those of them who received what was sent there at that position."""
    entered_at: Position | None = None
    """With these: and those who were in the channel at this position, when it came there."""
    users: tuple[UserId, ...] = ()
    mentioned_bots: tuple[UserId, ...] = ()
    """With `public`: bots that are mentioned there, unless they are guests."""
    without: tuple[UserId, ...] = ()
    flags: dict[UserId, tuple[str, ...]] = {}
    """Flags of single readers, for events that have flags."""
    all_flags: tuple[str, ...] = ()
    """Flags of every reader."""
    local_user_id: UserId | None = None
    local_queue_id: QueueId | None = None
    local_id: str | None = None
    """What the sending client called its message: for that queue of its user, and no other."""

    def encode(self) -> bytes:
        return b"" if self == NOBODY else msgspec.json.encode(self)


NOBODY = Audience()
EVERYONE = Audience(everyone=True, guests=True)
MEMBERS = Audience(everyone=True)
"""Everyone but guests."""

_audience_decoder = msgspec.json.Decoder(Audience)


def decode_audience(data: bytes) -> Audience:
    return _audience_decoder.decode(data) if data else NOBODY


def to_users(*user_ids: UserId) -> Audience:
    return Audience(users=tuple(user_ids))


class Entry:
    """One entry that a transaction will append. `position` exists after the commit."""

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


class LogEntry(msgspec.Struct, frozen=True):
    """An entry as it stands in the log."""

    position: Position
    kind: str
    audience: bytes
    body: bytes | None
    write_id: str = ""
