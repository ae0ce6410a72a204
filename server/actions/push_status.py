"""Whether push notifications work for a realm, as reported by the push service."""

from dataclasses import dataclass
from typing import Any, Final

import msgspec

from server.actions import audit
from server.actions.locked_realm import lock_realm
from server.domain.realm_settings import RealmSettings
from server.events.base import EVERYONE, NO_AUDIENCE
from server.events.log import Tick
from server.events.realm import RealmSettingChanged
from server.transactions import Tx
from storage import realms

ENABLED: Final = "push_notifications_enabled"
END: Final = "push_notifications_enabled_end_timestamp"


@dataclass(frozen=True, slots=True)
class PushStatus:
    """The status, and its expected end in seconds since 1970."""

    enabled: bool
    end_timestamp: int | None = None

    @property
    def settings(self) -> dict[str, Any]:
        return {ENABLED: self.enabled, END: self.end_timestamp}

    def is_kept_in(self, settings: RealmSettings) -> bool:
        """Return whether the realm's settings have this status already."""
        return all(getattr(settings, name) == value for name, value in self.settings.items())


async def keep_push_status(tx: Tx, status: PushStatus) -> None:
    """Store and publish the status, unless it is unchanged."""
    realm = await lock_realm(tx, alone=True)
    settings = RealmSettings.of(realm.settings)
    before = {name: getattr(settings, name) for name in status.settings}
    changed = {name: value for name, value in status.settings.items() if before[name] != value}
    if not changed:
        return
    connection = await tx.changing()
    new = RealmSettings.of(msgspec.structs.asdict(settings) | changed)
    await realms.update_settings(connection, tx.realm_id, new.stored())
    for name, value in changed.items():
        tx.append(RealmSettingChanged(property=name, value=value), EVERYONE)
    entry = tx.append(Tick(), NO_AUDIENCE)
    audit.record(
        tx,
        entry,
        None,
        "realm_changed",
        before={name: before[name] for name in changed},
        after=changed,
    )
    tx.at_position(entry, realms.changed(tx.realm_id))
