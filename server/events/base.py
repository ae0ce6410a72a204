"""What an event is, who gets it, and the transaction that collects it."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import msgspec

from server.directory import Directory
from server.domain.addresses import RealmAddress
from server.domain.errors import DomainError
from storage.database import Connection, DatabaseUnavailableError, Locking, Statement
from storage.ids import ChannelId, Position, QueueId, RealmId, UserId

Row = TypeVar("Row")
Result = TypeVar("Result", covariant=True)

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
        """The events that a client with this view gets, without `id` and `flags`.

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
        """Keys of cached rows that this event makes stale (server/directory.py)."""
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
        """People who know each other from this entry on, as they share a conversation."""
        return ()

    def ended_queues(self) -> Sequence[UserId]:
        """Users whose event queues end here."""
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


class Clocked(Protocol[Result]):
    """A statement that decides and writes after the clock, all by itself."""

    @property
    def result(self) -> Result:
        """What it gave; exists after the commit."""
        ...


class ClockedWrite(Protocol[Result]):
    """A plpgsql function that verifies, writes and appends its own entries, or writes nothing."""

    @property
    def statement(self) -> Statement: ...

    def result(self, rows: Sequence[tuple[Any, ...]]) -> Result:
        """Its result. Raises StaleDecisionError if what it rests on has changed."""
        ...

    def recovered(self, entries: Sequence[LogEntry]) -> Result:
        """The same result from its entries, after a COMMIT whose answer was lost."""
        ...


class Turned(msgspec.Struct, frozen=True):
    """What came of a turn of the clock that was one statement."""

    epoch: int
    entries: list[LogEntry]
    rows: Sequence[tuple[Any, ...]]
    """What the writes gave, for `results`."""


class Turn(msgspec.Struct, frozen=True):
    """A turn of the clock, a transaction in one statement, and how to read what it gives."""

    statement: Statement
    read: Callable[[Sequence[tuple[Any, ...]]], Turned]


class StaleDecisionError(Exception):
    """A row that the decision rests on has changed: decide again."""


class SharedWrite(ABC, Generic[Result]):
    """A clocked write that shares one statement with all others of its class in its batch."""

    is_named_alone: ClassVar[bool] = False
    """Whether each has a `write_id` of its own in the log, or all have the same."""

    @classmethod
    @abstractmethod
    def together(cls, writes: Sequence[Self], realm_id: RealmId, write_id: str) -> Statement:
        """What does them all."""

    @classmethod
    @abstractmethod
    def results(
        cls, writes: Sequence[Self], rows: Sequence[tuple[Any, ...]]
    ) -> Sequence[Result | StaleDecisionError | DomainError]:
        """The result of each, as if they had run one after another, or what refused it."""

    @classmethod
    @abstractmethod
    def recovered(cls, writes: Sequence[Self], entries: Sequence[LogEntry]) -> Sequence[Result]:
        """The same results from their entries, after a COMMIT whose answer was lost."""

    @classmethod
    def turn(cls, writes: Sequence[Self], realm_id: RealmId) -> Turn | None:
        """What does them all with the clock's turn around it, where one statement does."""
        del writes, realm_id
        return None


class KeepsChangingError(DatabaseUnavailableError):
    """What the decision rests on was never twice the same: trying again later may help."""


class Tx(Protocol):
    """The transaction of one write, as actions see it (server/writer/).

    Rows are read and locked at once; what carries a position is collected and written
    after the clock has been locked, in the order given here.
    """

    @property
    def realm_id(self) -> RealmId: ...

    @property
    def exact(self) -> bool:
        """Whether to decide on rows read and locked now, rather than on cached state."""
        ...

    @property
    def write_id(self) -> str:
        """The write's name in the log."""
        ...

    def must_be_exact(self) -> None:
        """Leave the batch, unless the write is exact already: it runs again, alone and exact."""
        ...

    def reading(self) -> AbstractAsyncContextManager[Connection]:
        """The connection of the transaction, as a block."""
        ...

    async def connection(self) -> Connection:
        """The connection of the transaction, for storage functions that read."""
        ...

    async def changing(self) -> Connection:
        """The same, for storage functions that change or lock decided rows.

        After it nothing may be refused cheaply: a refusal rolls the whole batch back.
        """
        ...

    async def lock(self, locking: Locking[Row]) -> list[Row]:
        """The rows, locked until commit, in the order of the query."""
        ...

    async def directory(self) -> Directory:
        """The realm's rows: cached, or read and locked where the write has to be exact."""
        ...

    def append(self, event: Event, audience: Audience) -> Entry:
        """Let the event take the next position, for this audience."""
        ...

    def at_position(self, entry: Entry, statement: Statement) -> None:
        """Run the statement when current_position() is the entry's."""
        ...

    def clocked(self, write: ClockedWrite[Result] | SharedWrite[Result]) -> Clocked[Result]:
        """Run a self-verifying function after the clock."""
        ...
