"""Links by which whoever gets an email may stop that kind of email, without signing in."""

import hashlib
from typing import Final, NamedTuple

from itsdangerous import BadData, URLSafeTimedSerializer

from server.domain.addresses import API_PREFIX, RealmAddress
from storage.ids import RealmId, UserId

PATH: Final = "/email_notifications/unsubscribe/{token}"
PURPOSE: Final = "unsubscribe"
"""The name of the key that signs them (storage/server_keys.py)."""
VALID_SECONDS: Final = 60 * 24 * 3600
"""Laws ask for a month at least."""


MISSED: Final = "missed messages"
DIGESTS: Final = "digests"
WELCOMES: Final = "welcomes"
SIGN_INS: Final = "sign-ins"
KINDS: Final = (MISSED, DIGESTS, WELCOMES, SIGN_INS)
"""Of emails that can be stopped. A kind is signed with the rest, so its name stays."""


class Subscriber(NamedTuple):
    """Who gets emails of some kind."""

    realm_id: RealmId
    user_id: UserId
    kind: str = MISSED


def token_for(key: bytes, subscriber: Subscriber) -> str:
    """Return what names the subscriber in a link; no user without the key can make it."""
    said = [subscriber.realm_id, subscriber.user_id]
    return str(_serializer(key, subscriber.kind).dumps(said))


def link_for(key: bytes, subscriber: Subscriber, address: RealmAddress) -> str:
    """Return where the subscriber stops the emails, at their organization's address."""
    return f"{address.url}{API_PREFIX}{PATH.format(token=token_for(key, subscriber))}"


def subscriber_of(
    key: bytes, token: str, *, valid_seconds: int = VALID_SECONDS
) -> Subscriber | None:
    """Whom the token names; None if it is no token, or too old."""
    for kind in KINDS:
        try:
            realm_id, user_id = _serializer(key, kind).loads(token, max_age=valid_seconds)
        except (BadData, ValueError):
            continue
        return Subscriber(RealmId(realm_id), UserId(user_id), kind)
    return None


def _serializer(key: bytes, kind: str) -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(key, salt=kind, signer_kwargs={"digest_method": hashlib.sha256})
