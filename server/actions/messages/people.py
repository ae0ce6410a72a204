"""People as messages show them."""

from server.directory import Directory
from server.domain.addresses import RealmAddress
from server.domain.avatars import GRAVATAR, avatar_of
from server.domain.profiles import public_email
from server.events.messages import Recipient, Sender
from storage.realms import RealmRow
from storage.users import UserRow


def known_sender(
    directory: Directory, row: UserRow, realm: RealmRow, address: RealmAddress
) -> Sender:
    """The same as `sender_of`, kept for as long as these are their rows: a page has many."""
    key = ("sender", row.user_id)
    kept = directory.recall(key)
    if kept is None or kept[0] is not row or kept[1] is not realm:
        kept = (row, realm, sender_of(row, realm, address))
        directory.remember(key, kept)
    sender: Sender = kept[2]
    return sender


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
