"""A user gets another address: the recipients of the event."""

import pytest

from server.actions.confirmations import LinkExpiredError
from server.actions.credential_changes import Proof
from server.actions.email_changes import ask_for_new_address, change_address
from server.domain import user_settings
from server.domain.sessions import digest_of
from storage import confirmations, users

pytestmark = pytest.mark.asyncio

VISIBILITIES = (
    user_settings.EVERYONE,
    user_settings.MEMBERS,
    user_settings.MODERATORS,
    user_settings.ADMINISTRATORS,
    user_settings.NOBODY,
)


async def ask(hall, user, email="new@example.org", token="t") -> bytes:
    """Request an address for a user; the digest of the token."""
    await hall.stage.write(ask_for_new_address, hall.actor(user), email, Proof(None))
    connection = hall.make.connection
    [confirmation_id] = await connection.values(
        "SELECT confirmation_id FROM confirmations WHERE realm_id = %(r)s AND user_id = %(u)s",
        r=hall.make.realm_id,
        u=user.user_id,
    )
    digest = digest_of(token)
    await confirmations.add_token(connection, hall.make.realm_id, confirmation_id, digest)
    return digest


@pytest.mark.parametrize("visibility", VISIBILITIES)
async def test_the_new_address_is_sent_to_all_who_knew_the_old(hall, witnesses, visibility):
    await hall.make.connection.execute(
        """
        UPDATE users SET settings = settings || jsonb_build_object(
                   'email_address_visibility', %(visibility)s::int)
         WHERE realm_id = %(r)s AND user_id = %(u)s
        """,
        visibility=visibility,
        r=hall.make.realm_id,
        u=hall.member.user_id,
    )
    digest = await ask(hall, hall.member)

    async def change():
        writer = hall.stage.writers.of(hall.make.realm_id)
        await writer.write(lambda tx: change_address(tx, digest, confirmed=True))

    [row] = await users.by_ids(hall.make.connection, hall.make.realm_id, [hall.member.user_id])
    watching = [row, *(each for each in hall.everyone if each.user_id != row.user_id)]
    found = await witnesses.watch(change, watching)
    told = {w.user.user_id for w in found if "new@example.org" in str(w.events)}
    assert hall.member.user_id in told
    if visibility == user_settings.NOBODY:
        assert told == {hall.member.user_id}
    assert (hall.guest.user_id in told) == (visibility == user_settings.EVERYONE)


async def test_a_token_is_good_once(hall):
    digest = await ask(hall, hall.member)
    writer = hall.stage.writers.of(hall.make.realm_id)
    await writer.write(lambda tx: change_address(tx, digest, confirmed=True))
    with pytest.raises(LinkExpiredError):
        await writer.write(lambda tx: change_address(tx, digest, confirmed=True))
