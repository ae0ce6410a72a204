"""Senders in the form of messages."""

from server.domain.addresses import RealmAddress
from server.domain.shown_people import EVERYTHING, PeopleVisibility
from server.events.messages import Sender
from server.realm_cache import RealmCache
from storage.realms import RealmRow
from storage.users import UserRow


def shown_sender(
    realm_cache: RealmCache,
    row: UserRow,
    realm: RealmRow,
    address: RealmAddress,
    sight: PeopleVisibility,
) -> Sender:
    """Return the sender for a viewer with this sight.

    The form that most viewers get is cached with its rows: a page has many senders.
    """
    if sight != EVERYTHING:
        return Sender.of(sight.shown(row, address), realm.subdomain)
    key = ("sender", row.user_id)
    kept = realm_cache.recall(key)
    if kept is None or kept[0] is not row or kept[1] is not realm:
        kept = (row, realm, Sender.of(EVERYTHING.shown(row, address), realm.subdomain))
        realm_cache.remember(key, kept)
    sender: Sender = kept[2]
    return sender
