"""Buffers for request bodies, with a limit for each and for all of a process."""

from typing import Final

from server.domain.errors import BodyTooLargeError, ServerNotReadyError
from server.i18n import _

BODIES_AT_ONCE: Final = 16
"""Buffer space of a process, in bodies of the maximum size."""


class BodyBudget:
    """The buffer space that all request bodies of a process share.

    When it is used up, the incomplete body that began first is evicted: slow clients cannot block
    others.
    """

    def __init__(self, max_body_bytes: int) -> None:
        self.max_body_bytes = max_body_bytes
        self.left = BODIES_AT_ONCE * max_body_bytes
        self._incomplete: dict[Body, None] = {}
        """Incomplete bodies with buffered data, the oldest first."""

    def take(self, body: "Body", size: int) -> bool:
        """Reserve space for `size` more bytes of the body; False if there is none."""
        while size > self.left:
            oldest = next(iter(self._incomplete), None)
            if oldest is None or oldest is body:
                return False
            oldest.evict()
        self.left -= size
        self._incomplete[body] = None
        return True

    def mark_complete(self, body: "Body") -> None:
        """Exempt a complete body from eviction; it is kept until its request is answered."""
        self._incomplete.pop(body, None)

    def give_back(self, body: "Body", size: int) -> None:
        """Release `size` bytes of a body that receives no more."""
        self._incomplete.pop(body, None)
        self.left += size


class Body:
    """A request's body. Without space for it, it is dropped, and `check` raises."""

    def __init__(self, budget: BodyBudget) -> None:
        self._budget = budget
        self._content = bytearray()
        """A single buffer: many small chunks would take many times their size."""
        self._is_evicted = False
        self.size = 0
        """Bytes received, or the announced length if that is too large."""

    def add(self, chunk: bytes) -> None:
        """Append a chunk."""
        self.size += len(chunk)
        if self.is_too_large:
            self.give_up()
        elif self._is_evicted or not self._budget.take(self, len(chunk)):
            self.evict()
        else:
            self._content += chunk

    def end(self) -> None:
        """Mark the body as complete."""
        self._budget.mark_complete(self)

    @property
    def is_too_large(self) -> bool:
        return self.size > self._budget.max_body_bytes

    def check(self) -> None:
        """Raise a DomainError if it is too large or was evicted."""
        if self.is_too_large:
            raise BodyTooLargeError(_("The request is too large."))
        if self._is_evicted:
            raise ServerNotReadyError(_("Too much is being sent at once. Try again shortly."))

    def content(self) -> bytes:
        return bytes(self._content)

    def evict(self) -> None:
        """Evict the body in favour of others."""
        self._is_evicted = True
        self.give_up()

    def give_up(self) -> None:
        """Release the buffer."""
        held, self._content = len(self._content), bytearray()
        self._budget.give_back(self, held)
