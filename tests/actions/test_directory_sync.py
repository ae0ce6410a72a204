"""What a synchronization with a directory would do."""

import pytest

from server.actions.directory_sync import plan_sync
from storage import directory_ids
from testkit.factories import JOINED

pytestmark = pytest.mark.asyncio


async def test_an_account_that_is_made_during_the_listing_is_not_gone(server, make):
    ada, bob = await make.user(), await make.user()
    ids = {ada.user_id: "ada"}
    for user_id, directory_id in {**ids, bob.user_id: "bob"}.items():
        await directory_ids.insert(make.connection, make.realm_id, user_id, directory_id)
    graph = await server.app.realm_caches.of(make.realm_id).groups()
    plan = await plan_sync(make.connection, make.realm_id, graph, ids, {}, maximum=25, now=JOINED)
    assert [row.user_id for row in plan.closures] == [ada.user_id]
    assert (plan.accounts, plan.may_close) == (1, 3)
