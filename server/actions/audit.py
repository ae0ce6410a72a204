"""Every change of settings leaves a row that says who made it, and what was before."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from server.events.base import Entry
from server.transactions import Tx
from storage import audit_log
from storage.audit_log import Change
from storage.ids import UserId

Subject = TypeVar("Subject", bound=int)

Differences = Mapping[str, tuple[Any, Any]]
"""Of what is not the same: what it was, and what it is."""


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> Differences:
    """By name, in the order of the new ones; what is new was None."""
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
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    subject_id: int | None = None,
) -> None:
    """Keep, at the entry's position, that the actor has done this.

    None: an operator, or the server by itself.
    """
    change = Change(subject_id=subject_id, before=before, after=after)
    _keep(tx, entry, actor_id, action, [change])


def record_each(
    tx: Tx,
    entry: Entry,
    actor_id: UserId | None,
    action: str,
    changed: Mapping[Subject, Differences],
) -> None:
    """The same of several subjects, a row for each."""
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
    after: Mapping[Subject, Mapping[str, Any]],
) -> None:
    """The same where nothing was before: what has become of each subject."""
    changes = [
        Change(subject_id=subject_id, before={}, after=each) for subject_id, each in after.items()
    ]
    _keep(tx, entry, actor_id, action, changes)


def _keep(
    tx: Tx, entry: Entry, actor_id: UserId | None, action: str, changes: Sequence[Change]
) -> None:
    kept = audit_log.insert(tx.realm_id, actor_id=actor_id, action=action, changes=changes)
    tx.at_position(entry, kept)
