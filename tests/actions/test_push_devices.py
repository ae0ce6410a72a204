"""A client that is told of phones knows afterwards what a fresh register would say."""

import msgspec
import pytest

from server.actions.push_devices import (
    ASKED_AGAIN_AFTER,
    add_token,
    drop_devices,
    register_device,
    remove_token,
    settle_device,
)
from server.actions.push_status import PushStatus, keep_push_status
from server.jobs import PushRegistration
from storage import push_devices
from storage.push_devices import DeviceRow
from testkit.oracles.agreement import Witnesses
from testkit.realm_with_roles import Hall
from testkit.stage import NEWEST_CLIENT

pytestmark = pytest.mark.asyncio

ACCOUNT = -(2**63)


async def devices(hall: Hall) -> list[DeviceRow]:
    return await push_devices.of_user(hall.make.connection, hall.make.realm_id, hall.member.user_id)


async def register(hall: Hall) -> None:
    await hall.stage.write(
        register_device,
        hall.actor(hall.member),
        "apns",
        ACCOUNT,
        bytes(range(32)),
        registration="r",
        bouncer_key="k",
        now=hall.stage.clock.now(),
    )


async def settle(hall: Hall, bouncer_id: int | None, error_code: str | None = None) -> bool:
    [row] = await devices(hall)
    writer = hall.stage.writers.of(hall.make.realm_id)
    return await writer.write(
        lambda tx: settle_device(
            tx, hall.member.user_id, row.device_id, bouncer_id=bouncer_id, error_code=error_code
        )
    )


async def test_its_user_alone_hears_what_becomes_of_a_phone(hall: Hall, witnesses: Witnesses):
    async def change() -> None:
        await register(hall)
        assert await settle(hall, None, "REQUEST_EXPIRED")
        await register(hall)
        assert await settle(hall, 17)
        assert await settle(hall, 17)

    member, other = await witnesses.watch(change, [hall.member, hall.other], views=[NEWEST_CLIENT])
    told = [(each["status"], each.get("error_code")) for each in member.events]
    assert told == [
        ("pending", None),
        ("failed", "REQUEST_EXPIRED"),
        ("pending", None),
        ("active", None),
    ]
    assert {each["push_account_id"] for each in member.events} == {str(ACCOUNT)}
    assert other.events == []


async def test_a_registration_of_which_nothing_is_heard_gives_way_to_the_next(
    hall: Hall, witnesses: Witnesses
):
    async def change() -> None:
        await register(hall)
        [first] = await devices(hall)
        await register(hall)
        hall.stage.clock.advance(ASKED_AGAIN_AFTER)
        assert await devices(hall) == [first]
        await register(hall)
        [second] = await devices(hall)
        assert first.device_id != second.device_id
        writer = hall.stage.writers.of(hall.make.realm_id)
        is_there = await writer.write(
            lambda tx: settle_device(tx, hall.member.user_id, first.device_id, bouncer_id=16)
        )
        assert not is_there
        assert await settle(hall, 17)
        await register(hall)

    [member] = await witnesses.watch(change, [hall.member], views=[NEWEST_CLIENT])
    assert [each["status"] for each in member.events] == ["pending", "active"]
    asked = [msgspec.json.decode(job.event.job, type=PushRegistration) for job in hall.told("job")]
    assert len(asked) == 2
    [row] = await devices(hall)
    assert (row.bouncer_id, row.device_id) == (17, asked[1].device_id)


async def test_phones_with_tokens_come_and_go_without_a_word(hall: Hall, witnesses: Witnesses):
    async def change() -> None:
        actor, now = hall.actor(hall.member), hall.stage.clock.now()
        await hall.stage.write(add_token, actor, "fcm", "one", None, now=now)
        await hall.stage.write(add_token, actor, "fcm", "two", None, now=now)
        await hall.stage.write(remove_token, actor, "fcm", "one")
        assert await settle(hall, 1)

    for witness in await witnesses.watch(change, [hall.member]):
        assert witness.events == []
    [row] = await devices(hall)
    writer = hall.stage.writers.of(hall.make.realm_id)
    await writer.write(lambda tx: drop_devices(tx, hall.member.user_id, [row.device_id]))
    is_there = await writer.write(
        lambda tx: settle_device(tx, hall.member.user_id, row.device_id, bouncer_id=1)
    )
    assert not is_there


async def test_all_users_hear_whether_pushes_arrive_and_the_audit_log_keeps_it(
    hall: Hall, witnesses: Witnesses
):
    async def change() -> None:
        writer = hall.stage.writers.of(hall.make.realm_id)
        status = PushStatus(enabled=True, end_timestamp=1_800_000_000)
        for _ in range(2):
            await writer.write(lambda tx: keep_push_status(tx, status))

    for witness in await witnesses.watch(change, [hall.member, hall.guest]):
        told = {each["property"]: each["value"] for each in witness.events}
        assert told == {
            "push_notifications_enabled": True,
            "push_notifications_enabled_end_timestamp": 1_800_000_000,
        }
        assert len(witness.events) == 2
    rows = await hall.make.connection.tuples(
        "SELECT actor_id, action FROM audit_log WHERE realm_id = %(realm_id)s",
        realm_id=hall.make.realm_id,
    )
    assert rows == [(None, "realm_changed")]
