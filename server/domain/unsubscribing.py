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


class Subscriber(NamedTuple):
    """Who gets emails about what they have missed."""

    realm_id: RealmId
    user_id: UserId


def token_for(key: bytes, subscriber: Subscriber) -> str:
    """What names the subscriber in a link; nobody without the key can make it."""
    return str(_serializer(key).dumps(list(subscriber)))


def link_for(key: bytes, subscriber: Subscriber, address: RealmAddress) -> str:
    """Where the subscriber stops the emails, at their organization's address."""
    return f"{address.url}{API_PREFIX}{PATH.format(token=token_for(key, subscriber))}"


def subscriber_of(
    key: bytes, token: str, *, valid_seconds: int = VALID_SECONDS
) -> Subscriber | None:
    """Whom the token names; None if it is no token, or too old."""
    try:
        realm_id, user_id = _serializer(key).loads(token, max_age=valid_seconds)
    except (BadData, ValueError):
        return None
    return Subscriber(RealmId(realm_id), UserId(user_id))


def _serializer(key: bytes) -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(
        key, salt="missed messages", signer_kwargs={"digest_method": hashlib.sha256}
    )
