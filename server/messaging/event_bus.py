"""Quick news between the serving processes of what has happened in a realm."""

from typing import Protocol

from msgspec import Struct

from storage.ids import Position, RealmId

MAX_EPHEMERAL_BYTES = 7_900  # a NOTIFY payload ends below 8,000 bytes, ours has a short prefix


class Hint(Struct, frozen=True, array_like=True):
    """Positions of a realm that are committed: a reason to look, never the truth itself.

    `entries` are the serialised log entries from `first` to `last`, one a position, where the bus
    carries them; it is empty where the reader is to fetch them from the log.
    """

    realm_id: RealmId
    epoch: int
    first: Position
    last: Position
    entries: tuple[bytes, ...] = ()


class BusListener(Protocol):
    """What a process does with the news. All three are called on the event loop; none may block."""

    def on_hint(self, hint: Hint) -> None:
        """Some other process has committed. Hints may be repeated, late, merged or out of order."""
        ...

    def on_ephemeral(self, realm_id: RealmId, body: bytes) -> None:
        """Some other process has said something that no log keeps."""
        ...

    def on_gap(self) -> None:
        """Deliveries may be missing up to this call and not after it: compare all clocks now."""
        ...


class EventBus(Protocol):
    """Carries hints and ephemeral events to the other serving processes.

    The event log is the truth; the bus only makes it quick. Whatever a bus loses, repeats or
    reorders costs its readers milliseconds. What it promises:

    - Deliveries arrive for followed realms only, and only from *other* processes: what a process
      publishes does not come back to it, it notifies its own queues itself.
    - A connection that is lost is made again, with growing delays, for ever. Each time that it
      stands again, with all follows in force, `on_gap` of the listener is called.
    - Nothing here waits for, or fails because of, a broker that is away.
    """

    carries_entries: bool
    """Whether hints arrive with their entries; if not, there is no use in adding them."""

    @property
    def is_connected(self) -> bool:
        """Whether the others can be heard now."""
        ...

    def publish(self, hint: Hint) -> None:
        """Publish to the other processes, at most once, without waiting for the network.

        Call it after the commit. Hints that wait to be sent may be merged into one that covers
        them all. The entries are optional cargo: a bus may leave them out.
        """
        ...

    def publish_ephemeral(self, realm_id: RealmId, body: bytes) -> None:
        """Publish something that is lost on processes that are not listening.

        `body` is UTF-8 text without NUL (JSON), at most MAX_EPHEMERAL_BYTES, else ValueError.
        Does not wait for the network. At most once; in order among themselves, and after the hints
        published before, as long as the connection holds.
        """
        ...

    async def follow(self, realm_id: RealmId) -> None:
        """Receive what concerns the realm from now on; following twice is following once.

        When it returns, whatever is published afterwards arrives (or is lost as anything may be);
        while the broker is away it returns at once, and the follow is in force at the next on_gap.
        """
        ...

    def unfollow(self, realm_id: RealmId) -> None:
        """Receive nothing of the realm from now on. Stragglers are dropped here."""
        ...


def check_ephemeral(body: bytes) -> None:
    """Refuse what one of the buses could not carry, on every bus alike."""
    if len(body) > MAX_EPHEMERAL_BYTES:
        raise ValueError(f"an ephemeral event of {len(body)} bytes is over the limit")
    if "\0" in body.decode():
        raise ValueError("an ephemeral event with a NUL")
