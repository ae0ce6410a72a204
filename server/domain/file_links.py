"""Links by which whoever has one reads a file for a minute, without signing in."""

import hashlib
from datetime import datetime
from typing import Final, NamedTuple

from itsdangerous import BadData, URLSafeSerializer

from server.domain import attachments
from server.domain.actor import SPECTATOR_ID
from storage.ids import RealmId, UserId

PATH: Final = attachments.PATH + "/temporary/{token}/{filename}"
PURPOSE: Final = "file links"
"""The name of the key that signs them (storage/server_keys.py)."""
VALID_SECONDS: Final = 60


class Reader(NamedTuple):
    """For whom a link is made: it shows what they may read when it is used, and nothing else."""

    realm_id: RealmId
    user_id: UserId
    path_id: str

    @property
    def is_spectator(self) -> bool:
        return self.user_id == SPECTATOR_ID


def url_for(key: bytes, reader: Reader, now: datetime) -> str:
    """Return the link, below the organization's address; no user without the key can make it."""
    expires = int(now.timestamp()) + VALID_SECONDS
    token = str(_serializer(key).dumps([*reader, expires]))
    return PATH.format(token=token, filename=reader.path_id.rpartition("/")[2])


def reader_of(key: bytes, token: str, now: datetime) -> Reader | None:
    """For whom it was made; None if no user made it, or too long ago."""
    try:
        realm_id, user_id, path_id, expires = _serializer(key).loads(token)
    except (BadData, ValueError):
        return None
    if now.timestamp() > expires:
        return None
    return Reader(RealmId(realm_id), UserId(user_id), path_id)


def _serializer(key: bytes) -> URLSafeSerializer:
    return URLSafeSerializer(key, salt="files", signer_kwargs={"digest_method": hashlib.sha256})
