"""Persistent storage of bots, private to each."""

from collections.abc import Mapping, Sequence
from typing import Final

from server.domain.actor import Actor
from server.domain.errors import BadRequestError, InvalidParameterError, UserDeactivatedError
from server.transactions import Tx
from storage import bot_storage, users

MAX_CHARACTERS: Final = 10_000_000
"""Maximum per bot, keys included."""
MAX_KEY_LENGTH: Final = 500
NO_SUCH_KEY: Final = "Key does not exist."


async def put(tx: Tx, actor: Actor, values: Mapping[str, str]) -> None:
    """Insert or replace all of these values, or none. Raises a DomainError."""
    for key, value in values.items():
        if len(key) > MAX_KEY_LENGTH:
            raise InvalidParameterError("storage", f"Keys have at most {MAX_KEY_LENGTH} characters")
        if "\0" in key or "\0" in value:
            raise InvalidParameterError("storage", "storage must not contain null characters")
    await _lock(tx, actor)
    connection = await tx.changing()
    others = await bot_storage.size(connection, tx.realm_id, actor.user_id, but=list(values))
    excess = others + sum(len(k) + len(v) for k, v in values.items()) - MAX_CHARACTERS
    if excess > 0:
        raise BadRequestError(
            f"Request exceeds storage limit by {excess} characters."
            f" The limit is {MAX_CHARACTERS} characters."
        )
    await bot_storage.put(connection, tx.realm_id, actor.user_id, values)


async def remove(tx: Tx, actor: Actor, keys: Sequence[str] | None) -> None:
    """Delete these keys, all or none; all keys with None.

    Raises BadRequestError.
    """
    await _lock(tx, actor)
    connection = await tx.changing()
    if keys is not None:
        found = await bot_storage.of_user(connection, tx.realm_id, actor.user_id, keys)
        check_all_found(keys, found)
    await bot_storage.delete(connection, tx.realm_id, actor.user_id, keys)


def check_all_found(keys: Sequence[str], found: Mapping[str, str]) -> None:
    """Raise BadRequestError if one of the keys does not exist."""
    if set(keys) - found.keys():
        raise BadRequestError(NO_SUCH_KEY)


async def _lock(tx: Tx, actor: Actor) -> None:
    [row] = await tx.lock(users.locking(tx.realm_id, [actor.user_id]))
    if not row.is_active:
        raise UserDeactivatedError("Account is deactivated")
