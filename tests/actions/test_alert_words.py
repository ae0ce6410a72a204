"""Alert words: events lead where register does."""

import pytest

from server.actions.alert_words import add_alert_words, remove_alert_words
from testkit.factories import Make
from testkit.oracles.agreement import Witnesses
from testkit.stage import Stage

pytestmark = pytest.mark.asyncio


async def test_changes_are_told_to_their_owner_alone(
    stage: Stage, make: Make, witnesses: Witnesses
):
    alice, bob = await make.actor(), await make.actor()

    async def change():
        await stage.write(add_alert_words, alice, ["lunch", "a b"])
        await stage.write(remove_alert_words, alice, ["LUNCH"])

    seen = await witnesses.watch(change, [alice.row, bob.row])
    told = [[event["alert_words"] for event in witness.events] for witness in seen]
    assert told == [[["a b", "lunch"], ["a b"]]] * 2 + [[]] * 2


async def test_the_words_of_a_realm_are_read_once_until_they_change(stage: Stage, make: Make):
    actor = await make.actor()
    realm_cache = stage.realm_caches.of(make.realm_id)
    before = await realm_cache.alert_words()
    assert await realm_cache.alert_words() is before
    await stage.run(add_alert_words, actor, ["lunch"])
    assert (await realm_cache.alert_words()).owners_in("lunch") == {actor.user_id}
