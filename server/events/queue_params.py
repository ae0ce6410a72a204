"""Parameters of an event queue."""

from functools import lru_cache
from typing import Any

import msgspec

from server.events.base import ClientView


class QueueParams(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The parameters of register, stored with the queue's row."""

    event_types: tuple[str, ...] | None = None
    """None: all."""
    narrow: tuple[tuple[str, str | int | tuple[int, ...]], ...] = ()
    all_public_channels: bool = False
    view: ClientView = ClientView()
    knows_secrets: bool = msgspec.field(default=True, name="knows_keys")
    """False if registered with a key without access to secrets, so that its events come without."""
    knows_all_users: bool | None = msgspec.field(default=None, name="knows_everybody")
    """Whether the guest may know all users; False: only their contacts.

    None: the user is no guest, or the queue was registered by an older release. It is fixed for the
    life of the queue: if a guest's rights change, their queues end.
    """


def queue_params(stored: dict[str, Any]) -> QueueParams:
    """Return the decoded parameters, shared by all queues with the same ones."""
    return _known(msgspec.convert(stored, QueueParams))


@lru_cache(maxsize=1_000)
def _known(params: QueueParams) -> QueueParams:
    return params
