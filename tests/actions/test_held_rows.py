"""A row locked by another transaction is waited for: it is not taken to be gone."""

import asyncio

import pytest

from server.actions.invitations import resend, revoke
from server.events.base import NO_AUDIENCE
from server.events.log import Tick
from storage import invitations
from storage.invitations import InvitationTerms

pytestmark = pytest.mark.asyncio

PATIENCE_SECONDS = 60


async def after(hall, table, column, row_id, *write, **facts):
    """Do this while another transaction holds the row, which lets go once it waits."""
    async with hall.stage.database.transaction() as holder:
        found = await holder.execute(
            f"UPDATE {table} SET {column} = {column} WHERE {column} = %(row_id)s",
            row_id=row_id,
        )
        assert found == 1
        held = asyncio.create_task(hall.stage.write(*write, **facts))
        # Writes come one after another: with this one, the other has been tried together with it.
        await asyncio.wait_for(hall.stage.write(_tick, hall.actor(hall.member)), PATIENCE_SECONDS)
    await held


async def _tick(tx, _actor):
    return tx.append(Tick(), NO_AUDIENCE)


@pytest.mark.parametrize(
    ("action", "facts", "state"),
    [(revoke, {"is_link": False}, "revoked"), (resend, {"per_day": 10}, "open")],
)
async def test_an_invitation_that_is_just_being_mailed(hall, make, action, facts, state):
    terms = InvitationTerms(
        inviter_id=hall.admin.user_id,
        role=hall.member.role,
        channel_ids=[],
        group_ids=[],
        includes_defaults=False,
        welcome_text=None,
        tells_inviter=False,
        ends_at=None,
    )
    now = hall.stage.clock.now()
    [made] = await invitations.insert(
        make.connection, make.realm_id, terms, ["ada@example.com"], now=now
    )
    actor = hall.actor(hall.admin)
    await after(hall, "invitations", "invitation_id", made, action, actor, made, now=now, **facts)
    row = await invitations.by_id(make.connection, make.realm_id, made)
    assert row is not None
    assert (row.state, row.mails) == (state, 2 if action is resend else 1)
