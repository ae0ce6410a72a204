"""A client that hears of devices knows afterwards what a fresh register would say."""

import pytest

from server.actions.client_devices import (
    PushKey,
    TokenRegistration,
    add_device,
    end_push_registrations,
    forget_tokens,
    register_push,
    remove_device,
    settle_token,
    token_id_of,
)
from server.transactions import Tx
from storage.ids import PushDeviceId
from testkit.oracles.agreement import Witnesses
from testkit.realm_with_roles import Hall
from testkit.stage import NEWEST_CLIENT

pytestmark = pytest.mark.asyncio

ONE, TWO = token_id_of("one"), token_id_of("two")


async def register(hall: Hall, device_id: PushDeviceId, key_id: int, token_id: bytes) -> None:
    key, token = PushKey(key_id, bytes(32)), TokenRegistration("fcm", token_id, "r", "k")
    actor, now = hall.actor(hall.member), hall.stage.clock.now()
    await hall.stage.write(register_push, actor, device_id, key, token, now=now)


async def settle(
    hall: Hall, device_id: PushDeviceId, token_id: bytes, error_code: str | None = None
) -> bool:
    writer = hall.stage.writers.of(hall.make.realm_id)
    return await writer.write(
        lambda tx: settle_token(tx, hall.member.user_id, device_id, token_id, error_code)
    )


async def test_its_user_alone_hears_what_becomes_of_a_device(hall: Hall, witnesses: Witnesses):
    user_id = hall.member.user_id

    async def end(tx: Tx) -> None:
        assert await end_push_registrations(tx, [user_id]) == 1

    async def change() -> None:
        actor, now = hall.actor(hall.member), hall.stage.clock.now()
        writer = hall.stage.writers.of(hall.make.realm_id)
        device_id = await hall.stage.write(add_device, actor, now=now)
        await register(hall, device_id, 1, ONE)
        assert await settle(hall, device_id, ONE, "BAD_REQUEST")
        await register(hall, device_id, 1, TWO)
        assert not await settle(hall, device_id, ONE)
        assert await settle(hall, device_id, TWO)
        assert not await settle(hall, device_id, TWO)
        await writer.write(lambda tx: forget_tokens(tx, user_id, {device_id: ONE}))
        await writer.write(lambda tx: forget_tokens(tx, user_id, {device_id: TWO}))
        await writer.write(end)
        await hall.stage.write(remove_device, actor, device_id)
        assert not await settle(hall, device_id, TWO)

    member, other = await witnesses.watch(change, [hall.member, hall.other], views=[NEWEST_CLIENT])
    assert [each["op"] for each in member.events] == ["add", *["update"] * 6, "remove"]
    assert other.events == []
    assert member.events[5]["push_token_id"] is None
