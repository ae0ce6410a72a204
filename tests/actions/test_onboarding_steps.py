"""What clients explain once: marked for oneself, and told to oneself alone."""

import pytest

from server.actions.onboarding_steps import mark_seen
from server.domain.access import GUEST
from server.domain.errors import BadRequestError, DomainError
from server.domain.onboarding_steps import NEVER_DUE, NOTICES
from storage import audit_log, onboarding_steps

pytestmark = pytest.mark.asyncio


def names(event):
    assert {step["type"] for step in event["onboarding_steps"]} <= {"one_time_notice"}
    return [step["name"] for step in event["onboarding_steps"]]


async def test_only_oneself_hears_of_it(stage, make, witnesses):
    newcomer, other = await make.user(role=GUEST), await make.user()
    actor = await make.actor(newcomer)

    async def change():
        await stage.write(mark_seen, actor, NOTICES[2])
        await stage.write(mark_seen, actor, NOTICES[0])

    mine, _, theirs, _ = await witnesses.watch(change, [newcomer, other])

    assert [names(event) for event in mine.events] == [
        [*NOTICES[:2], *NOTICES[3:]],
        [NOTICES[1], *NOTICES[3:]],
    ]
    assert theirs.events == []
    rows = await audit_log.newest(make.connection, make.realm_id, limit=10)
    assert [(row.actor_id, row.subject_id) for row in rows] == [(newcomer.user_id,) * 2] * 2


async def test_a_second_time_changes_nothing(stage, make):
    actor = await make.actor()
    for step in (NOTICES[0], NEVER_DUE[0]):
        await stage.write(mark_seen, actor, step)
        await stage.run(mark_seen, actor, step)
        assert stage.happened == []
    seen = await onboarding_steps.seen_by(make.connection, make.realm_id, actor.user_id)
    assert seen == {NOTICES[0], NEVER_DUE[0]}
    other = await make.actor()
    assert not await onboarding_steps.seen_by(make.connection, make.realm_id, other.user_id)


@pytest.mark.parametrize("step", ["", "intro", NOTICES[0].upper(), f"{NOTICES[0]} ", "\0"])
async def test_what_is_no_step_is_refused(stage, make, step):
    with pytest.raises(BadRequestError, match="Unknown onboarding_step"):
        await stage.write(mark_seen, await make.actor(), step)
    assert stage.happened == []


async def test_a_deactivated_user_changes_nothing(stage, make):
    with pytest.raises(DomainError) as refusal:
        await stage.write(mark_seen, await make.actor(is_active=False), NOTICES[0])
    assert refusal.value.code == "USER_DEACTIVATED"
