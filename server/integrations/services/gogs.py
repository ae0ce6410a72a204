"""Gogs, Gitea and Forgejo: three hosts of repositories with nearly the same events."""

from collections.abc import Callable
from typing import Final

from server.integrations.base import (
    BRANCHES,
    IGNORE_PRIVATE,
    PULL_REQUEST_TOPICS,
    Category,
    Delivery,
    Ignored,
    Integration,
    Outcome,
    Unknown,
)
from server.integrations.markdown import paragraphs
from server.integrations.services._gogs_family import FORGEJO, GITEA, GOGS, Readers
from server.integrations.signatures import Signature


def _integration(display_name: str, readers: Readers, steps: str) -> Integration:
    """Declare one of the hosts."""
    headers = (f"X-{display_name}-Event", "X-Gogs-Event")
    return Integration(
        name=display_name.lower(),
        display_name=display_name,
        category=Category.VERSION_CONTROL,
        read=_reader(readers, headers),
        setup=paragraphs(
            f"In the repository (or organization), open *Settings*, *Webhooks*, {steps}.",
            "Paste `{url}` as the URL, and choose `application/json` as the content type.",
            "Choose the events to post, and save. *Test Delivery* sends a push.",
        ),
        events=tuple(readers),
        headers=tuple(dict.fromkeys(headers)),
        options=(BRANCHES, IGNORE_PRIVATE, PULL_REQUEST_TOPICS),
        delivery_id=f"X-{display_name}-Delivery",
        has_unique_bodies=True,
        signatures=(Signature(header=f"X-{display_name}-Signature"),),
        signing_step="Set the secret as *Secret* of the webhook.",
    )


def _reader(readers: Readers, headers: tuple[str, str]) -> Callable[[Delivery], Outcome]:
    def read(delivery: Delivery) -> Outcome:
        event = delivery.header(headers[0]) or delivery.header(headers[1])
        reader = readers.get(event)
        if reader is None:
            return Unknown(event)
        if delivery.flag(IGNORE_PRIVATE) and delivery.payload["repository"]["private"].flag():
            return Ignored(event, "The repository is private.")
        return reader(delivery, event)

    return read


INTEGRATIONS: Final = (
    _integration("Gogs", GOGS, "*Add a new webhook*, *Gogs*"),
    _integration("Gitea", GITEA, "*Add Webhook*, *Gitea*"),
    _integration("Forgejo", FORGEJO, "*Add webhook*, *Forgejo*"),
)
