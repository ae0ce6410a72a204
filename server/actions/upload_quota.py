"""Upload quota of a realm, which the operator sets."""

import msgspec

from server.actions import audit
from server.actions.locked_realm import lock_realm
from server.domain.realm_settings import RealmSettings
from server.events.base import EVERYONE
from server.events.realm import RealmSettingChanged
from server.transactions import Tx
from storage import realms

NAME = "upload_quota_mib"


async def change_upload_quota(tx: Tx, mib: int | None) -> bool:
    """Set the quota in MiB; None: unlimited.

    Existing files stay. Return whether it has changed.
    """
    realm = await lock_realm(tx, alone=True)
    settings = RealmSettings.of(realm.settings)
    before = settings.upload_quota_mib
    if before == mib:
        return False
    changed = msgspec.structs.replace(settings, upload_quota_mib=mib)
    await realms.update_settings(await tx.changing(), tx.realm_id, changed.stored())
    entry = tx.append(RealmSettingChanged(property=NAME, value=mib), EVERYONE)
    tx.at_position(entry, realms.changed(tx.realm_id))
    audit.record(tx, entry, None, "realm_changed", before={NAME: before}, after={NAME: mib})
    return True
