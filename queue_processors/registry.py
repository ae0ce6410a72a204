"""All queue processors."""

from collections.abc import Iterable
from typing import Any

from queue_processors import (
    blob_removals,
    deferred_work,
    email_notifications,
    embed_links,
    message_fanout,
    outgoing_webhooks,
    push_notifications,
    push_registrations,
)
from queue_processors.processor import BatchProcessor, Processor
from queue_processors.shipper import UNREADABLE

AnyProcessor = Processor[Any, Any] | BatchProcessor[Any, Any]

PROCESSORS: tuple[AnyProcessor, ...] = (
    blob_removals.PROCESSOR,
    deferred_work.PROCESSOR,
    email_notifications.PROCESSOR,
    embed_links.PROCESSOR,
    message_fanout.processor(
        email_notifications.PROCESSOR.job,
        embed_links.PROCESSOR.job,
        outgoing_webhooks.PROCESSOR.job,
        push_notifications.PROCESSOR.job,
    ),
    outgoing_webhooks.PROCESSOR,
    push_notifications.PROCESSOR,
    push_registrations.PROCESSOR,
)


class UnknownProcessorError(Exception):
    """A processor was asked for by a name that none has."""


def queue_names() -> list[str]:
    """All queues that this release knows."""
    return [*(processor.queue for processor in PROCESSORS), UNREADABLE]


def named(names: Iterable[str]) -> tuple[AnyProcessor, ...]:
    """The processors of these queues; all of them if no name is given."""
    by_queue = {processor.queue: processor for processor in PROCESSORS}
    wanted = list(dict.fromkeys(names)) or list(by_queue)
    unknown = [name for name in wanted if name not in by_queue]
    if unknown:
        raise UnknownProcessorError(
            f"No such queue: {', '.join(unknown)}. There are: {', '.join(by_queue)}."
        )
    return tuple(by_queue[name] for name in wanted)
