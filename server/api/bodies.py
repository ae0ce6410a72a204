"""Bodies of requests as they come: bounded each, and all together."""

from typing import Final

from server.domain.errors import BodyTooLargeError, ServerNotReadyError

BODIES_AT_ONCE: Final = 16
"""So many of the largest allowed are held, however many connections send one."""


class Room:
    """What a process holds of bodies that have not been read yet.

    Where there is no more, the body that has been coming for longest gives way: whoever sends
    slowly keeps nobody else from being heard.
    """

    def __init__(self, max_body_bytes: int) -> None:
        self.max_body_bytes = max_body_bytes
        self.left = BODIES_AT_ONCE * max_body_bytes
        self._coming: dict[Body, None] = {}
        """Bodies of which something is held and more is to come, those that began first first."""

    def take(self, body: "Body", size: int) -> bool:
        """Whether the body may hold so much more."""
        while size > self.left:
            oldest = next(iter(self._coming), None)
            if oldest is None or oldest is body:
                return False
            oldest.crowd_out()
        self.left -= size
        self._coming[body] = None
        return True

    def is_whole(self, body: "Body") -> None:
        """Nothing more of it is to come: it keeps its place until it has been answered."""
        self._coming.pop(body, None)

    def give_back(self, body: "Body", size: int) -> None:
        """It holds so much less, and gets no more."""
        self._coming.pop(body, None)
        self.left += size


class Body:
    """One request's body. What there is no room for is dropped, and told when it is asked for."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._content = bytearray()
        """One for all of it: many small pieces would take many times their size."""
        self._is_crowded_out = False
        self.size = 0
        """How much has come, or has been announced if that is too much."""

    def add(self, chunk: bytes) -> None:
        """A piece of it has come."""
        self.size += len(chunk)
        if self.is_too_large:
            self.give_up()
        elif self._is_crowded_out or not self._room.take(self, len(chunk)):
            self.crowd_out()
        else:
            self._content += chunk

    def end(self) -> None:
        """That was all of it."""
        self._room.is_whole(self)

    @property
    def is_too_large(self) -> bool:
        return self.size > self._room.max_body_bytes

    def check(self) -> None:
        """Raise a DomainError unless all of it is there."""
        if self.is_too_large:
            raise BodyTooLargeError("The request is too large.")
        if self._is_crowded_out:
            raise ServerNotReadyError("Too much is being sent at once. Try again shortly.")

    def content(self) -> bytes:
        return bytes(self._content)

    def crowd_out(self) -> None:
        """Others have the room."""
        self._is_crowded_out = True
        self.give_up()

    def give_up(self) -> None:
        """Hold nothing any more."""
        held, self._content = len(self._content), bytearray()
        self._room.give_back(self, held)
