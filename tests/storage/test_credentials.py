"""With what people sign in."""

from hashlib import sha256

import pytest

from storage import credentials
from storage.database import Connection
from testkit.factories import Make, new_realm

pytestmark = pytest.mark.asyncio


async def test_credentials_are_found_in_any_letters(make_here: Make):
    connection, realm_id = make_here.connection, make_here.realm_id
    cook = await make_here.user(email="Cook@example.com")

    found = await credentials.by_email(connection, realm_id, "cOOK@example.com")

    assert found is not None
    assert (found.user_id, found.api_key, found.password_hash) == (cook.user_id, cook.api_key, None)
    assert await credentials.by_email(connection, realm_id, "nobody@example.com") is None


async def test_a_password_is_rehashed_only_if_it_is_still_the_same(make_here: Make):
    connection, realm_id = make_here.connection, make_here.realm_id
    user_id = (await make_here.user()).user_id
    await credentials.update_password(connection, realm_id, user_id, "old")

    async def update(old, hashed):
        return await credentials.update_password_hash(
            connection, realm_id, user_id, old=old, new=hashed
        )

    assert await update("old", "new")
    assert not await update("old", "newer")


async def test_a_key_opens_its_account(make_here: Make):
    connection, realm_id = make_here.connection, make_here.realm_id
    cook = await make_here.user()
    await credentials.update_api_keys(connection, realm_id, {cook.user_id: "another key"})
    other = await new_realm(connection)

    async def opened(key, realm_id=realm_id):
        digest = sha256(key.encode()).digest()
        return await credentials.user_of_key(connection, realm_id, digest)

    assert await opened("another key") == cook.user_id
    assert await opened(cook.api_key) is None
    assert await opened("another key", other.realm_id) is None


async def test_one_realm_does_not_let_in_the_people_of_another(connection: Connection):
    one, other = await new_realm(connection), await new_realm(connection)
    cook = await one.user()

    assert await credentials.by_email(connection, other.realm_id, cook.email) is None
