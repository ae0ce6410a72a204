"""How far a connection has come."""

from enum import Enum


class State(Enum):
    OPEN = "open"
    CLOSING = "closing"
    """What comes counts for nothing; what was written is still on its way."""
    LINGERING = "lingering"
    """As closing, and what comes is read until the client has heard it."""
    LOST = "lost"
