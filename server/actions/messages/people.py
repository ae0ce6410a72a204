"""People as messages show them."""

from server.directory import Directory
from server.domain.addresses import RealmAddress
from server.domain.avatars import GRAVATAR
from server.domain.shown_people import EVERYTHING, ShownPerson, Sight
from server.events.messages import Recipient, Sender
from storage.realms import RealmRow
from storage.users import UserRow


def shown_sender(
    directory: Directory, row: UserRow, realm: RealmRow, address: RealmAddress, sight: Sight
) -> Sender:
    """The sender as a viewer with this sight may see them.

    What most viewers see is kept for as long as these are the rows: a page has many senders.
    """
    if sight != EVERYTHING:
        return sender_of(sight.shown(row, address), realm)
    key = ("sender", row.user_id)
    kept = directory.recall(key)
    if kept is None or kept[0] is not row or kept[1] is not realm:
        kept = (row, realm, sender_of(EVERYTHING.shown(row, address), realm))
        directory.remember(key, kept)
    sender: Sender = kept[2]
    return sender


def sender_of(person: ShownPerson, realm: RealmRow) -> Sender:
    return Sender(
        id=person.user_id,
        email=person.email,
        full_name=person.full_name,
        realm=realm.subdomain,
        avatar_url=person.avatar.url,
        is_gravatar=person.avatar.source == GRAVATAR,
    )


def recipient_of(person: ShownPerson) -> Recipient:
    return Recipient(person.email, person.full_name, person.user_id)
