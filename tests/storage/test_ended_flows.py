"""A flow ends once."""

import pytest

from storage import ended_flows
from testkit.factories import Make, new_realm

pytestmark = pytest.mark.asyncio


async def test_a_flow_ends_once_and_is_forgotten_when_it_would_be_too_old(make_here: Make):
    connection, realm_id = make_here.connection, make_here.realm_id
    other = await new_realm(connection)

    async def end(digest, seconds=600, realm_id=realm_id):
        return await ended_flows.end(connection, realm_id, digest, seconds=seconds)

    assert await end(b"one", seconds=0)
    assert await end(b"two")
    assert not await end(b"two")
    assert await end(b"two", realm_id=other.realm_id)
    kept = await connection.values(
        "SELECT flow_digest FROM ended_flows WHERE realm_id = %(r)s", r=realm_id
    )
    assert [bytes(each) for each in kept] == [b"two"]
