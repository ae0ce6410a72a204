"""Whether organizations get push notifications is kept as the service says."""

from datetime import timedelta

import pytest

from queue_processors.processor import RetryLaterError
from queue_processors.push_keeper import PushKeeper
from queue_processors.push_registrations import handle as register_devices
from server.actions.push_devices import register_device
from server.app import App
from server.domain.actor import Actor
from server.jobs import PushRegistration
from server.push.service import NeedsOperatorError, TryLaterError
from storage import push_devices
from storage.realms import by_id
from storage.users import UserRow
from testkit.clients.server import Server, ServerFactory
from testkit.factories import Make
from testkit.services.push_bouncer import SERVER_ID, SERVER_KEY, FakeBouncer

pytestmark = pytest.mark.asyncio


def settings_for(bouncer: FakeBouncer) -> dict[str, str]:
    return {
        "push_bouncer_url": bouncer.url,
        "push_server_id": SERVER_ID,
        "push_server_key": SERVER_KEY,
    }


async def register(app: App, make: Make, row: UserRow, account_id: int) -> None:
    """Ask for a device to be taken."""
    await app.writers.of(make.realm_id).write(
        lambda tx: register_device(
            tx,
            Actor(make.realm_id, row, "app"),
            "fcm",
            account_id,
            bytes(range(32)),
            registration="",
            bouncer_key="",
            now=app.clock.now(),
        )
    )


async def is_enabled(make: Make) -> bool:
    row = await by_id(make.connection, make.realm_id)
    assert row is not None
    return bool(row.settings.get("push_notifications_enabled", False))


async def test_the_service_says_whether(
    make: Make, serving_with: ServerFactory, bouncer: FakeBouncer, server: Server
):
    async with serving_with(**settings_for(bouncer)) as pushing:
        keeper = PushKeeper(pushing.app)
        await keeper.settle()
        assert await is_enabled(make)
        position = await make.position()
        await keeper.settle()
        assert await make.position() == position

        bouncer.answers = [(503, "", {})]
        with pytest.raises(TryLaterError):
            await keeper.settle()
        assert await is_enabled(make)

        bouncer.servers = {}
        with pytest.raises(NeedsOperatorError):
            await keeper.settle()
        assert not await is_enabled(make)
        bouncer.servers = {SERVER_ID: SERVER_KEY}
        await keeper.settle()
        assert await is_enabled(make)

    await PushKeeper(server.app).settle()
    assert not await is_enabled(make)


async def test_an_organization_that_the_bouncer_does_not_know_is_introduced(
    make: Make, serving_with: ServerFactory, bouncer: FakeBouncer
):
    bouncer.knows_all_realms = False
    ada = await make.user()
    async with serving_with(**settings_for(bouncer)) as pushing:
        app = pushing.app
        await register(app, make, ada, 5)
        [row] = await push_devices.of_user(make.connection, make.realm_id, ada.user_id)
        job = PushRegistration(
            realm_id=make.realm_id,
            user_id=ada.user_id,
            device_id=row.device_id,
            registration=bouncer.registration("t"),
            bouncer_key=bouncer.public_key,
        )
        with pytest.raises(RetryLaterError):
            await register_devices(app, job)
        await register_devices(app, job)
    [row] = await push_devices.of_user(make.connection, make.realm_id, ada.user_id)
    assert row.status == "active"


async def test_a_phone_of_which_no_bouncer_says_anything_for_a_day_has_failed(
    make: Make, server: Server
):
    ada = await make.user()

    async def statuses() -> dict[int | None, str]:
        rows = await push_devices.of_user(make.connection, make.realm_id, ada.user_id)
        return {row.account_id: row.error_code or row.status for row in rows}

    async def age(account_id: int, since: timedelta) -> None:
        await make.connection.execute(
            "UPDATE push_devices SET created_at = created_at - %(since)s"
            " WHERE realm_id = %(realm_id)s AND account_id = %(account_id)s",
            realm_id=make.realm_id,
            account_id=account_id,
            since=since,
        )

    for account_id in (1, 2, 3):
        await register(server.app, make, ada, account_id)
    await make.connection.execute(
        "UPDATE push_devices SET bouncer_id = 7 WHERE realm_id = %(r)s AND account_id = 2",
        r=make.realm_id,
    )
    await age(1, timedelta(hours=25))
    await age(2, timedelta(hours=25))
    await age(3, timedelta(hours=23))
    await PushKeeper(server.app).expire()
    assert await statuses() == {1: "REQUEST_EXPIRED", 2: "active", 3: "pending"}
    await register(server.app, make, ada, 1)
    assert (await statuses())[1] == "pending"
