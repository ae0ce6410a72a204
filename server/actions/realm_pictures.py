"""Change the realm's icon and logos, as an administrator."""

from typing import Any, Literal

import msgspec

from server.actions import audit
from server.actions.locked_realm import lock_as_administrator
from server.domain.actor import Actor
from server.domain.avatars import ICON_SIZES, icon_key_in, realm_picture_url
from server.domain.realm_settings import RealmSettings
from server.events.base import EVERYONE
from server.events.realm import RealmSettingsChanged
from server.jobs import BlobRemoval, enqueue
from server.transactions import Tx
from storage import realms

Place = Literal["icon", "logo", "night_logo"]


async def change_picture(tx: Tx, actor: Actor, place: Place, blob_key: str | None) -> str:
    """Set or remove a picture; return its URL. Raises a DomainError.

    The new picture is in the store already, an icon in all its sizes; the previous one is deleted.
    """
    realm = await lock_as_administrator(tx, actor)
    old = RealmSettings.of(realm.settings)
    url = realm_picture_url(realm, blob_key, (await tx.realm_cache()).address_of(realm))
    old_key = getattr(old, f"{place}_key")
    if blob_key == old_key:
        return url
    source = "U" if blob_key is not None else getattr(RealmSettings(), f"{place}_source")
    values: dict[str, Any] = {f"{place}_key": blob_key, f"{place}_source": source}
    if place == "icon":
        values["icon_sizes"] = () if blob_key is None else tuple(ICON_SIZES)
    new = msgspec.structs.replace(old, **values)
    await realms.update_settings(await tx.changing(), tx.realm_id, new.stored())
    data = {f"{place}_source": source, f"{place}_url": url}
    entry = tx.append(RealmSettingsChanged(property=place, data=data), EVERYONE)
    tx.at_position(entry, realms.changed(tx.realm_id))
    audit.record(
        tx,
        entry,
        actor.user_id,
        f"realm_{place}_changed",
        before={f"{place}_source": getattr(old, f"{place}_source")},
        after={f"{place}_source": source},
    )
    if old_key is not None:
        larger = old.icon_sizes if place == "icon" else ()
        keys = (old_key, *(icon_key_in(size, old_key) for size in larger))
        enqueue(tx, BlobRemoval(realm_id=tx.realm_id, keys=keys))
    return url
