"""Show people with the pictures that a directory has."""

import hmac
import secrets
from collections.abc import AsyncIterator
from typing import Final

import structlog

from server.actions.directory_people import show_as_directory_does
from server.app import App
from server.domain.attachments import MAX_PICTURE_MIB, MIB
from server.domain.errors import DomainError
from server.pictures.keeping import keep_made
from server.pictures.wire import Recipe
from server.realm_cache import RealmCache
from storage import server_keys
from storage.blobs import SALT_LENGTH, salt_in, signed_key
from storage.ids import RealmId, UserId
from storage.users import UserRow

logger = structlog.get_logger(__name__)

PURPOSE: Final = "pictures of directories"
"""The name of the signing key (storage/server_keys.py)."""
RECIPE: Final[Recipe] = "avatar"


class DirectoryPictures:
    """Compares people's pictures with those of a directory, and replaces them.

    The key of a blob signs the directory's picture, which is known again by it.
    """

    def __init__(self, app: App, realm_id: RealmId, secret: bytes) -> None:
        self._app = app
        self._realm_id = realm_id
        self._secret = secret

    @classmethod
    async def of(cls, app: App, realm_id: RealmId) -> "DirectoryPictures":
        """Return those of a realm."""
        async with app.database.connection() as connection:
            return cls(app, realm_id, await server_keys.key_for(connection, PURPOSE))

    def differs(self, row: UserRow, picture: bytes) -> bool:
        """Return whether the user has another picture; an empty one never differs."""
        current = row.avatar_key or ""
        return bool(picture) and not current.startswith(
            f"{self._key(row.user_id, picture, salt_in(current))}."
        )

    async def follow(self, row: UserRow, picture: bytes) -> str | None:
        """Give the user this picture, unless they have it; an empty one changes nothing.

        Returns why not, if it is no usable picture.
        """
        if not picture:
            return None
        if len(picture) > MAX_PICTURE_MIB * MIB:
            return "it is too large"
        if not self.differs(row, picture):
            return None
        app, user_id = self._app, row.user_id
        base = self._key(user_id, picture, secrets.token_urlsafe(SALT_LENGTH)[:SALT_LENGTH])
        try:
            keys = await keep_made(
                app.pictures, app.blobs, RECIPE, self._realm_id, _once(picture), base=base
            )
            writer = app.writers.of(self._realm_id)
            key, version = keys["small"], row.avatar_version + 1
            await writer.write(lambda tx: show_as_directory_does(tx, user_id, key, version=version))
        except (DomainError, OSError) as error:  # the store's, too: people go on without pictures
            return str(error)
        return None

    def _key(self, user_id: UserId, picture: bytes, salt: str) -> str:
        content = f"{salt} {user_id} ".encode() + picture
        return signed_key(
            RECIPE, self._realm_id, salt, hmac.digest(self._secret, content, "sha256")
        )


async def follow_picture(
    app: App, realm_cache: RealmCache, user_id: UserId, picture: bytes
) -> None:
    """Give a user who signs in this picture; what is no usable one is logged."""
    row = await realm_cache.user(user_id)
    if not picture or row is None:
        return
    pictures = await DirectoryPictures.of(app, realm_cache.realm_id)
    if reason := await pictures.follow(row, picture):
        logger.warning("directory.picture_refused", user_id=user_id, reason=reason)


async def _once(content: bytes) -> AsyncIterator[bytes]:
    yield content
