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
from storage.ids import UserId

logger = structlog.get_logger(__name__)

PURPOSE: Final = "pictures of directories"
"""The name of the signing key (storage/server_keys.py)."""
RECIPE: Final[Recipe] = "avatar"


async def follow_picture(
    app: App, realm_cache: RealmCache, user_id: UserId, picture: bytes
) -> None:
    """Give the user this picture, unless they have it; none changes nothing.

    The key of the blob signs the picture, which is known again by it. What is no usable picture is
    logged.
    """
    row = await realm_cache.user(user_id)
    if not picture or row is None:
        return
    if len(picture) > MAX_PICTURE_MIB * MIB:
        logger.warning("directory.picture_refused", user_id=user_id, reason="it is too large")
        return
    async with app.database.connection() as connection:
        secret = await server_keys.key_for(connection, PURPOSE)
    realm_id = realm_cache.realm_id

    def key_with(salt: str) -> str:
        content = f"{salt} {user_id} ".encode() + picture
        return signed_key(RECIPE, realm_id, salt, hmac.digest(secret, content, "sha256"))

    current = row.avatar_key or ""
    if current.startswith(f"{key_with(salt_in(current))}."):
        return
    base = key_with(secrets.token_urlsafe(SALT_LENGTH)[:SALT_LENGTH])
    try:
        keys = await keep_made(app.pictures, app.blobs, RECIPE, realm_id, _once(picture), base=base)
        writer = app.writers.of(realm_id)
        key, version = keys["small"], row.avatar_version + 1
        await writer.write(lambda tx: show_as_directory_does(tx, user_id, key, version=version))
    except (DomainError, OSError) as error:  # the store's, too: people sign in without pictures
        logger.warning("directory.picture_refused", user_id=user_id, reason=str(error))


async def _once(content: bytes) -> AsyncIterator[bytes]:
    yield content
