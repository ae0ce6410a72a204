"""Avatars and realm pictures: uploaded, from a service, or generated."""

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
from storage.users import DefaultAvatar

Source = Literal["G", "J", "U"]
GRAVATAR: Final = "G"
"""An avatar at gravatar.com, found by the hash of an address."""
MADE: Final = "J"
"""A pattern that this server generates from a number (server/domain/identicons.py)."""
UPLOADED: Final = "U"

FIRST_VERSION: Final = 1
"""Version of each user's first avatar; each change adds one."""
IDENTICONS: Final = "identicon"
MEDIUM: Final = "-medium"
"""Suffix of large avatars' names; clients append it themselves."""
ICON_SIZES: Final = {192: "-medium", 512: "-large"}
"""Larger sizes of a realm's icon, for home screens, and the suffixes of their names."""


class AvatarOwner(Addressed, Protocol):
    """The fields of a user that determine their avatar."""

    @property
    def avatar_key(self) -> str | None:
        """Key of the uploaded avatar."""
        ...

    @property
    def avatar_version(self) -> int: ...

    @property
    def email_confirmed(self) -> bool:
        """Whether the address is known to be the user's."""
        ...

    @property
    def avatar_source(self) -> DefaultAvatar:
        """Source of the avatar without an uploaded one."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Avatar:
    """A user's avatar, in the two sizes that clients know."""

    source: Source
    version: int
    url: str
    medium_url: str


def avatar_of(row: AvatarOwner, address: RealmAddress) -> Avatar:
    """Return the user's avatar for viewers who know the user, by the public address."""
    if row.avatar_key is None:
        email = public_email(row, address.domain)
        wanted = row.email_confirmed and row.avatar_source == GRAVATAR
        return _given_to(
            row.user_id, email, row.avatar_version, gravatars=address.gravatars and wanted
        )
    return Avatar(
        source=UPLOADED,
        version=row.avatar_version,
        url=picture_url(row.avatar_key),
        medium_url=picture_url(medium_key(row.avatar_key)),
    )


def avatar_of_unknown(user_id: UserId, address: RealmAddress) -> Avatar:
    """Return the avatar for viewers who may not know the user: it reveals nothing."""
    email = hidden_email(user_id, address.domain)
    return _given_to(user_id, email, FIRST_VERSION, gravatars=address.gravatars)


def _given_to(user_id: UserId, email: str, version: int, *, gravatars: bool) -> Avatar:
    """Return the default avatar of a user."""
    if gravatars:
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
    """Return the URL of the address's picture at gravatar.com.

    Clients derive the same from the address.
    """
    size = "&s=500" if medium else ""
    return f"{_gravatar(email.strip().lower())}&version={version}{size}"


def medium_key(avatar_key: str) -> str:
    """Return the key of the large avatar for the key of the small one."""
    return avatar_key.removesuffix(".png") + MEDIUM + ".png"


def icon_key_in(size: int, icon_key: str) -> str:
    """Return the key of the realm's icon in a larger size, for that of the small one."""
    return f"{icon_key.removesuffix('.png')}{ICON_SIZES[size]}.png"


def icon_url(realm: RealmRow, address: RealmAddress) -> str:
    """Return the URL of the realm's icon."""
    return realm_picture_url(realm, RealmSettings.of(realm.settings).icon_key, address)


def realm_picture_url(realm: RealmRow, blob_key: str | None, address: RealmAddress) -> str:
    """Return the URL of an uploaded realm picture, or of the default."""
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
