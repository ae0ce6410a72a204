"""Bodies of requests as they come: bounded each, and all together."""

from typing import Final

from server.domain.errors import BodyTooLargeError, ServerNotReadyError

BODIES_AT_ONCE: Final = 16
"""So many of the largest allowed are held, however many connections send one."""


class Room:
    """What a process holds of bodies that have not been read yet."""

    def __init__(self, max_body_bytes: int) -> None:
        self.max_body_bytes = max_body_bytes
        self.left = BODIES_AT_ONCE * max_body_bytes


class Body:
    """One request's body. What there is no room for is dropped, and told when it is asked for."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._chunks: list[bytes] = []
        self._held = 0
        self._is_crowded_out = False
        self.size = 0
        """How much has come, or has been announced if that is too much."""

    def add(self, chunk: bytes) -> None:
        self.size += len(chunk)
        self._is_crowded_out |= len(chunk) > self._room.left
        if self._is_crowded_out or self.is_too_large:
            self.give_up()
            return
        self._chunks.append(chunk)
        self._held += len(chunk)
        self._room.left -= len(chunk)

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
        if not self._chunks:
            return b""
        content = b"".join(self._chunks)
        self._chunks = [content]
        return content

    def give_up(self) -> None:
        """Hold nothing any more."""
        self._chunks.clear()
        self._room.left += self._held
        self._held = 0
