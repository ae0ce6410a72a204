"""Identifiers of organizations and users at push services and on devices."""

from typing import Final
from uuid import UUID, uuid5

from server.domain.addresses import RealmAddress
from server.domain.user_settings import UserSettings
from server.push.payloads import Addressee
from server.push.service import PushRecipient
from storage.ids import UserId
from storage.realms import RealmRow
from storage.users import UserRow

_PERSON: Final = "user:{user_id}"


def recipient_of(realm: RealmRow, user_id: UserId) -> PushRecipient:
    """Return the user's permanent identifiers at a bouncer."""
    user_uuid = uuid5(UUID(realm.uuid), _PERSON.format(user_id=user_id))
    return PushRecipient(realm.uuid, str(user_uuid), user_id)


def addressee_of(realm: RealmRow, address: RealmAddress, row: UserRow) -> Addressee:
    """Return the user's identifiers on their devices."""
    return Addressee(
        user_id=row.user_id,
        language=UserSettings.of(row.settings).default_language,
        realm_id=realm.realm_id,
        realm_uuid=realm.uuid,
        realm_name=realm.name,
        realm_url=address.url,
        host=address.host,
    )
