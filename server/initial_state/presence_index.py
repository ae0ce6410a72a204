"""Presence index: a realm's presences in memory, by the order of their updates.

A client asks once a minute for what is newer than what it has. So users are kept in the order of
their updates, each with its encoded form, and a response joins a few of these. The index holds what
Postgres has up to an update; later ones are added by any reader in any order.
"""

import math
from collections.abc import Collection, Iterable
from typing import Final

import msgspec

from server.domain.presence import NOTHING_YET, Presence, presence_of
from server.domain.profiles import hidden_email
from storage.ids import UserId
from storage.presences import PresenceRow


class PresenceEntry:
    """A user's presence with its encoded forms."""

    # Fields that every response reads are copied here: thousands of look-ups elsewhere add up.
    __slots__ = ("_legacy", "idle_timestamp", "modern", "presence", "update_id", "user_id")

    def __init__(self, presence: Presence, update_id: int) -> None:
        self.presence = presence
        self.user_id = presence.user_id
        self.idle_timestamp = presence.idle_timestamp
        self.update_id = update_id
        self.modern: bytes = b'"%d":{"active_timestamp":%d,"idle_timestamp":%d}' % (
            presence.user_id,
            presence.active_timestamp,
            presence.idle_timestamp,
        )
        """Member of an object by user id."""
        self._legacy = b""

    def legacy(self) -> bytes:
        """Return the member of an object by address."""
        if not self._legacy:
            self._legacy = b"%b:%b" % (
                msgspec.json.encode(self.presence.email),
                msgspec.json.encode(self.presence.legacy_with_aggregate()),
            )
        return self._legacy


class PresenceIndex:
    """The presences of a realm's active users, up to an update."""

    def __init__(self, domain: str, rows: Iterable[PresenceRow] = ()) -> None:
        self.domain = domain
        """Domain of the realm's URL."""
        self.last_update_id: int = NOTHING_YET
        self._entries: dict[UserId, PresenceEntry] = {}
        """In the order of update numbers."""
        self.take(rows)

    def take(self, rows: Iterable[PresenceRow]) -> None:
        """Add rows with numbers above the last one, in the order of the numbers.

        Concurrent readers may have added the same rows, or more.
        """
        for row in rows:
            known = self._entries.get(row.user_id)
            if known is None or known.update_id < row.update_id:
                self._entries.pop(row.user_id, None)
                self._entries[row.user_id] = PresenceEntry(
                    presence_of(row, self.domain), row.update_id
                )
                self.last_update_id = max(self.last_update_id, row.update_id)

    def of(self, user_id: UserId) -> Presence | None:
        entry = self._entries.get(user_id)
        return None if entry is None else entry.presence

    def since(self, update_id: int) -> list[PresenceEntry]:
        """Return users updated after the update with this number, latest first."""
        found = []
        for entry in reversed(self._entries.values()):
            if entry.update_id <= update_id:
                break
            found.append(entry)
        return found

    def seen_since(
        self, timestamp: float, newer: dict[UserId, PresenceEntry] | None = None
    ) -> list[PresenceEntry]:
        """Return users seen at that time or later; those in `newer` in that version."""
        entries = self._entries | newer if newer else self._entries
        second = math.ceil(timestamp)  # a thousand comparisons with a fraction take twice as long
        return [e for e in entries.values() if e.idle_timestamp >= second]


NO_PRESENCES: Final = msgspec.Raw(b"{}")


def as_known(
    entries: Iterable[PresenceEntry], known: Collection[UserId], domain: str, *, only_known: bool
) -> list[PresenceEntry]:
    """Return the entries for a guest who knows these people: others are removed or masked."""
    found = []
    for entry in entries:
        if entry.user_id in known:
            found.append(entry)
        elif not only_known:
            email = hidden_email(entry.user_id, domain)
            presence = msgspec.structs.replace(entry.presence, email=email)
            found.append(PresenceEntry(presence, entry.update_id))
    return found


def as_object(
    entries: Iterable[PresenceEntry], *, slim: bool, before: bytes = b"", behind: bytes = b""
) -> bytes:
    """Return all of them as one JSON object, in the modern form or the legacy one.

    It may be large, and is copied once, with the text around it.
    """
    pieces = [entry.modern for entry in entries] if slim else [entry.legacy() for entry in entries]
    if not pieces:
        return b"%b{}%b" % (before, behind)
    pieces[0] = b"%b{%b" % (before, pieces[0])
    pieces[-1] = b"%b}%b" % (pieces[-1], behind)
    return b",".join(pieces)
