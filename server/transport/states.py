"""States of a connection."""

from enum import Enum


class State(Enum):
    OPEN = "open"
    CLOSING = "closing"
    """Input is ignored; the write buffer is still being sent."""
    LINGERING = "lingering"
    """As closing, and input is read and dropped until the client has the last response."""
    LOST = "lost"
