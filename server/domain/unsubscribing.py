"""Unsubscribe links of emails, which need no sign-in."""

import hashlib
from typing import Final, NamedTuple

from itsdangerous import BadData, URLSafeTimedSerializer

from server.domain.addresses import API_PREFIX, RealmAddress
from storage.ids import RealmId, UserId

PATH: Final = "/email_notifications/unsubscribe/{token}"
PURPOSE: Final = "unsubscribe"
"""Purpose of the signing key (storage/server_keys.py)."""
VALID_SECONDS: Final = 60 * 24 * 3600
"""Laws require a month at least."""


MISSED: Final = "missed messages"
DIGESTS: Final = "digests"
WELCOMES: Final = "welcomes"
SIGN_INS: Final = "sign-ins"
KINDS: Final = (MISSED, DIGESTS, WELCOMES, SIGN_INS)
"""Kinds of emails with unsubscribe links. The kind is part of the signature, so names are
stable."""


class Subscriber(NamedTuple):
    """The recipient of a kind of emails."""

    realm_id: RealmId
    user_id: UserId
    kind: str = MISSED


def token_for(key: bytes, subscriber: Subscriber) -> str:
    """Return the signed token of the subscriber."""
    said = [subscriber.realm_id, subscriber.user_id]
    return str(_serializer(key, subscriber.kind).dumps(said))


def link_for(key: bytes, subscriber: Subscriber, address: RealmAddress) -> str:
    """Return the subscriber's unsubscribe link, at their realm's URL."""
    return f"{address.url}{API_PREFIX}{PATH.format(token=token_for(key, subscriber))}"


def subscriber_of(
    key: bytes, token: str, *, valid_seconds: int = VALID_SECONDS
) -> Subscriber | None:
    """Return the subscriber of a token; None if it is invalid or expired."""
    for kind in KINDS:
        try:
            realm_id, user_id = _serializer(key, kind).loads(token, max_age=valid_seconds)
        except (BadData, ValueError):
            continue
        return Subscriber(RealmId(realm_id), UserId(user_id), kind)
    return None


def _serializer(key: bytes, kind: str) -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(key, salt=kind, signer_kwargs={"digest_method": hashlib.sha256})
