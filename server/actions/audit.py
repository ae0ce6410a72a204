"""Every change of settings leaves a row that says who made it, and what was before."""

from collections.abc import Mapping
from typing import Any

from server.events.base import Entry, Tx
from storage import audit_log
from storage.ids import UserId


def record(
    tx: Tx,
    entry: Entry,
    actor_id: UserId | None,
    action: str,
    *,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    subject_id: int | None = None,
) -> None:
    """Keep, at the entry's position, that the actor has done this; None: an operator."""
    tx.at_position(
        entry,
        audit_log.insert(
            tx.realm_id,
            actor_id=actor_id,
            action=action,
            subject_id=subject_id,
            before=before,
            after=after,
        ),
    )
