"""People as messages show them."""

from server.domain.addresses import RealmAddress
from server.domain.avatars import GRAVATAR, avatar_of
from server.domain.profiles import public_email
from server.events.messages import Recipient, Sender
from storage.realms import RealmRow
from storage.users import UserRow


def sender_of(row: UserRow, realm: RealmRow, address: RealmAddress) -> Sender:
    avatar = avatar_of(row, address)
    return Sender(
        id=row.user_id,
        email=public_email(row, address.domain),
        full_name=row.full_name,
        realm=realm.subdomain,
        avatar_url=avatar.url,
        is_gravatar=avatar.source == GRAVATAR,
    )


def recipient_of(row: UserRow, address: RealmAddress) -> Recipient:
    return Recipient(public_email(row, address.domain), row.full_name, row.user_id)
