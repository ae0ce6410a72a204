"""What an event queue listens to."""

from typing import Any

import msgspec

from server.events.base import ClientView


class QueueParams(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a client asked for at register; kept with the queue's row."""

    event_types: tuple[str, ...] | None = None
    """None: all."""
    narrow: tuple[tuple[str, str], ...] = ()
    all_public_channels: bool = False
    view: ClientView = ClientView()


def queue_params(stored: dict[str, Any]) -> QueueParams:
    return msgspec.convert(stored, QueueParams)
