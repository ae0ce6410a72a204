"""The pictures of people and organizations: given, kept by a service, or made here."""

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, Protocol

from server.domain.addresses import RealmAddress
from server.domain.emoji import PICTURES_PATH, picture_url
from server.domain.profiles import Addressed, hidden_email, public_email
from server.domain.realm_settings import RealmSettings
from storage.ids import UserId
from storage.realms import RealmRow

Source = Literal["G", "J", "U"]
GRAVATAR: Final = "G"
"""A picture at gravatar.com, found by the hash of an address."""
MADE: Final = "J"
"""A pattern that this server makes of a number (server/domain/identicons.py)."""
UPLOADED: Final = "U"

FIRST_VERSION: Final = 1
"""Of every user's picture; each change adds one."""
IDENTICONS: Final = "identicon"
MEDIUM: Final = "-medium"
"""What large pictures have before the end of their names; clients write it there themselves."""


class Pictured(Addressed, Protocol):
    """What is to be known of a user to say which picture is theirs."""

    @property
    def avatar_key(self) -> str | None:
        """Of the picture that they have given themselves."""
        ...

    @property
    def avatar_version(self) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Avatar:
    """Somebody's picture, in the two sizes that clients know."""

    source: Source
    version: int
    url: str
    medium_url: str


def avatar_of(row: Pictured, address: RealmAddress) -> Avatar:
    """Return the user's picture for all who know them: by the address that every user knows."""
    if row.avatar_key is None:
        email = public_email(row, address.domain)
        return _given_to(row.user_id, email, row.avatar_version, address)
    return Avatar(
        source=UPLOADED,
        version=row.avatar_version,
        url=picture_url(row.avatar_key),
        medium_url=picture_url(medium_key(row.avatar_key)),
    )


def avatar_of_unknown(user_id: UserId, address: RealmAddress) -> Avatar:
    """Return the same for those who may not know the user: it says nothing."""
    email = hidden_email(user_id, address.domain)
    return _given_to(user_id, email, FIRST_VERSION, address)


def _given_to(user_id: UserId, email: str, version: int, address: RealmAddress) -> Avatar:
    """Return the picture of a user who has not chosen one."""
    if address.gravatars:
        return Avatar(
            source=GRAVATAR,
            version=version,
            url=gravatar_url(email, version),
            medium_url=gravatar_url(email, version, medium=True),
        )
    return Avatar(
        source=MADE,
        version=version,
        url=_identicon_url(str(user_id)),
        medium_url=_identicon_url(f"{user_id}{MEDIUM}"),
    )


def gravatar_url(email: str, version: int, *, medium: bool = False) -> str:
    """Return the picture that belongs to this address at a service that keeps such pictures.

    Clients work out the same from the address.
    """
    size = "&s=500" if medium else ""
    return f"{_gravatar(email.strip().lower())}&version={version}{size}"


def medium_key(avatar_key: str) -> str:
    """Return where the large picture is kept that belongs to the small one under this key."""
    return avatar_key.removesuffix(".png") + MEDIUM + ".png"


def icon_url(realm: RealmRow, address: RealmAddress) -> str:
    """Return the organization's square picture."""
    return realm_picture_url(realm, RealmSettings.of(realm.settings).icon_key, address)


def realm_picture_url(realm: RealmRow, blob_key: str | None, address: RealmAddress) -> str:
    """Where a picture of the organization is to be had; the one that it was given, without one."""
    if blob_key is not None:
        return picture_url(blob_key)
    if address.gravatars:
        return _gravatar(realm.subdomain or realm.uuid)
    return _identicon_url(f"realm-{realm.realm_id}")


def _identicon_url(seed: str) -> str:
    return f"{PICTURES_PATH}/{IDENTICONS}/{seed}.png"


@lru_cache(maxsize=10_000)
def _gravatar(name: str) -> str:
    digest = hashlib.md5(name.encode(), usedforsecurity=False).hexdigest()
    return f"https://secure.gravatar.com/avatar/{digest}?d=identicon"
