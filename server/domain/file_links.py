"""Temporary links to a file, valid for a minute without signing in."""

import hashlib
from datetime import datetime
from typing import Final, NamedTuple

from itsdangerous import BadData, URLSafeSerializer

from server.domain import attachments
from server.domain.actor import SPECTATOR_ID
from storage.ids import RealmId, UserId

PATH: Final = attachments.PATH + "/temporary/{token}/{filename}"
PURPOSE: Final = "file links"
"""Purpose of the signing key (storage/server_keys.py)."""
VALID_SECONDS: Final = 60


class LinkHolder(NamedTuple):
    """The reader of a link: it serves what they may read at the time of use, and nothing else."""

    realm_id: RealmId
    user_id: UserId
    path_id: str

    @property
    def is_spectator(self) -> bool:
        return self.user_id == SPECTATOR_ID


def url_for(key: bytes, reader: LinkHolder, now: datetime) -> str:
    """Return the signed link, below the realm's URL."""
    expires = int(now.timestamp()) + VALID_SECONDS
    token = str(_serializer(key).dumps([*reader, expires]))
    return PATH.format(token=token, filename=reader.path_id.rpartition("/")[2])


def reader_of(key: bytes, token: str, now: datetime) -> LinkHolder | None:
    """Return the reader of a link; None if it is invalid or expired."""
    try:
        realm_id, user_id, path_id, expires = _serializer(key).loads(token)
    except (BadData, ValueError):
        return None
    if now.timestamp() > expires:
        return None
    return LinkHolder(RealmId(realm_id), UserId(user_id), path_id)


def _serializer(key: bytes) -> URLSafeSerializer:
    return URLSafeSerializer(key, salt="files", signer_kwargs={"digest_method": hashlib.sha256})
