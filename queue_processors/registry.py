"""All queue processors."""

from collections.abc import Iterable
from typing import Any

from queue_processors import (
    account_emails,
    blob_removals,
    confirmation_emails,
    deferred_work,
    digest_emails,
    email_notifications,
    embed_links,
    greetings,
    imports,
    invitation_emails,
    message_buttons,
    message_fanout,
    outgoing_webhooks,
    push_notifications,
    push_registrations,
    reaction_pushes,
    slash_commands,
    thumbnails,
)
from queue_processors.processor import Processor
from queue_processors.shipper import UNREADABLE

AnyProcessor = Processor[Any, Any]

PROCESSORS: tuple[AnyProcessor, ...] = (
    account_emails.PROCESSOR,
    blob_removals.PROCESSOR,
    confirmation_emails.PROCESSOR,
    deferred_work.PROCESSOR,
    digest_emails.PROCESSOR,
    email_notifications.PROCESSOR,
    embed_links.PROCESSOR,
    greetings.PROCESSOR,
    imports.PROCESSOR,
    invitation_emails.PROCESSOR,
    message_buttons.PROCESSOR,
    message_fanout.processor(
        email_notifications.PROCESSOR.job,
        embed_links.PROCESSOR.job,
        outgoing_webhooks.PROCESSOR.job,
        push_notifications.PROCESSOR.job,
        thumbnails.PROCESSOR.job,
    ),
    outgoing_webhooks.PROCESSOR,
    push_notifications.PROCESSOR,
    push_registrations.PROCESSOR,
    reaction_pushes.PROCESSOR,
    slash_commands.PROCESSOR,
    thumbnails.PROCESSOR,
)


class UnknownProcessorError(Exception):
    """A queue name without a processor."""


def queue_names() -> list[str]:
    """Return the names of all queues of this release."""
    return [*(processor.queue for processor in PROCESSORS), UNREADABLE]


def named(names: Iterable[str]) -> tuple[AnyProcessor, ...]:
    """Return the processors of these queues; all of them if no name is given."""
    by_queue = {processor.queue: processor for processor in PROCESSORS}
    wanted = list(dict.fromkeys(names)) or list(by_queue)
    unknown = [name for name in wanted if name not in by_queue]
    if unknown:
        raise UnknownProcessorError(
            f"No such queue: {', '.join(unknown)}. There are: {', '.join(by_queue)}."
        )
    return tuple(by_queue[name] for name in wanted)
