"""Audit log: each change of settings is recorded with its actor and the old values."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from server.events.base import Audience, Entry, Event
from server.transactions import Tx
from storage import audit_log
from storage.audit_log import Change
from storage.ids import UserId

Subject = TypeVar("Subject", bound=int)

Values = Mapping[str, Any]

Differences = Mapping[str, tuple[Any, Any]]
"""Changed fields with old and new value."""


def differences(old: Values, new: Values) -> Differences:
    """Return the differences by name, in the order of the new values; added ones were None."""
    pairs = {name: (old.get(name), now) for name, now in new.items()}
    return {name: (was, now) for name, (was, now) in pairs.items() if was != now}


def before(changes: Differences) -> dict[str, Any]:
    return {name: was for name, (was, _) in changes.items()}


def after(changes: Differences) -> dict[str, Any]:
    return {name: now for name, (_, now) in changes.items()}


def record(
    tx: Tx,
    entry: Entry,
    actor_id: UserId | None,
    action: str,
    *,
    before: Values,
    after: Values,
    subject_id: int | None = None,
) -> None:
    """Record the actor's change at the entry's position.

    None: an operator, or the server itself.
    """
    change = Change(subject_id=subject_id, before=before, after=after)
    _keep(tx, entry, actor_id, action, [change])


def append_recorded(
    tx: Tx,
    actor_id: UserId | None,
    action: str,
    event: Event,
    audience: Audience,
    *,
    before: Values,
    after: Values,
    subject_id: int | None = None,
) -> Entry:
    """Append the event of a change, and record the change with it; return the entry."""
    entry = tx.append(event, audience)
    record(tx, entry, actor_id, action, before=before, after=after, subject_id=subject_id)
    return entry


def record_each(
    tx: Tx,
    entry: Entry,
    actor_id: UserId | None,
    action: str,
    changed: Mapping[Subject, Differences],
) -> None:
    """Record changes of several subjects, a row for each."""
    changes = [
        Change(subject_id=subject_id, before=before(each), after=after(each))
        for subject_id, each in changed.items()
    ]
    _keep(tx, entry, actor_id, action, changes)


def record_outcomes(
    tx: Tx,
    entry: Entry,
    actor_id: UserId | None,
    action: str,
    after: Mapping[Subject, Values],
) -> None:
    """Record new values without old ones, for each subject."""
    changes = [
        Change(subject_id=subject_id, before={}, after=each) for subject_id, each in after.items()
    ]
    _keep(tx, entry, actor_id, action, changes)


def record_removal(
    tx: Tx, entry: Entry, actor_id: UserId | None, action: str, subject_id: int, before: Values
) -> None:
    """Record the values of a subject that has been removed."""
    record(tx, entry, actor_id, action, before=before, after={}, subject_id=subject_id)


def _keep(
    tx: Tx, entry: Entry, actor_id: UserId | None, action: str, changes: Sequence[Change]
) -> None:
    kept = audit_log.insert(tx.realm_id, actor_id=actor_id, action=action, changes=changes)
    tx.at_position(entry, kept)
