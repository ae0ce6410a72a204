"""People as messages show them."""

from server.domain import profiles
from server.events.messages import Recipient, Sender
from storage.realms import RealmRow
from storage.users import UserRow


def sender_of(row: UserRow, realm: RealmRow, domain: str) -> Sender:
    email = profiles.public_email(row, domain)
    return Sender(
        id=row.user_id,
        email=email,
        full_name=row.full_name,
        realm=realm.subdomain,
        avatar_url=profiles.avatar_url(email, row.avatar_version),
        is_gravatar=row.avatar_source == "G",
    )


def recipient_of(row: UserRow, domain: str) -> Recipient:
    return Recipient(profiles.public_email(row, domain), row.full_name, row.user_id)
