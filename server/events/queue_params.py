"""What an event queue listens to."""

from functools import lru_cache
from typing import Any

import msgspec

from server.events.base import ClientView


class QueueParams(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a client asked for at register; kept with the queue's row."""

    event_types: tuple[str, ...] | None = None
    """None: all."""
    narrow: tuple[tuple[str, str | int | tuple[int, ...]], ...] = ()
    all_public_channels: bool = False
    view: ClientView = ClientView()
    knows_secrets: bool = msgspec.field(default=True, name="knows_keys")
    """False: registered with a key that does not reach secrets, so its events come without."""
    knows_everybody: bool | None = None
    """Whether its user is an unrestricted guest; False: one who may know only their contacts.

    None: the user is no guest, or the queue was registered by an older release. It holds as long
    as the queue does: where a guest's rights become others, their queues end.
    """


def queue_params(stored: dict[str, Any]) -> QueueParams:
    """What is stored, once for all queues that listen alike: there are few kinds of clients."""
    return _known(msgspec.convert(stored, QueueParams))


@lru_cache(maxsize=1_000)
def _known(params: QueueParams) -> QueueParams:
    return params
